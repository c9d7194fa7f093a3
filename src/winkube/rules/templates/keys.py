"""Checks of the keys of a map: names of resources, annotations with a prefix."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from winkube.base.types import JsonObject
from winkube.rules.context import Context
from winkube.rules.model import Hit
from winkube.rules.paths import Pattern, find, parse_pattern


@dataclass(frozen=True, slots=True)
class Keys:
    maps: tuple[Pattern, ...]
    key: re.Pattern[str]


def parse_keys(params: Mapping[str, Any]) -> Keys:
    maps = tuple(parse_pattern(text) for text in params["maps"])
    return Keys(maps, re.compile(params["key"]))


def forbid_key(found: JsonObject, params: Keys, context: Context) -> Iterator[Hit]:
    for pattern in params.maps:
        for path, value in find(found, pattern):
            for key in value if isinstance(value, dict) else ():
                if isinstance(key, str) and params.key.search(key):
                    yield Hit((*path, key))
