"""Checks that compare: how often something occurs, and two fields that should be the same."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from winkube.base.types import JsonObject
from winkube.rules.context import Context
from winkube.rules.model import Hit
from winkube.rules.paths import Pattern, find, first, parse_pattern


@dataclass(frozen=True, slots=True)
class Often:
    pattern: Pattern
    over: int


@dataclass(frozen=True, slots=True)
class Pair:
    each: Pattern
    left: tuple[str, ...]
    right: tuple[str, ...]


def parse_often(params: Mapping[str, Any]) -> Often:
    return Often(parse_pattern(params["field"]), int(params["over"]))


def too_often(found: JsonObject, params: Often, context: Context) -> Iterator[Hit]:
    """Each place of a field that occurs more often than allowed, from the first surplus one on."""
    places = [path for path, _ in find(found, params.pattern)]
    yield from (Hit(path, f"{len(places)} of them") for path in places[params.over :])


def parse_pair(params: Mapping[str, Any]) -> Pair:
    return Pair(
        parse_pattern(params.get("each", "")),
        tuple(str(step) for step in parse_pattern(params["left"])),
        tuple(str(step) for step in parse_pattern(params["right"])),
    )


def unequal(found: JsonObject, params: Pair, context: Context) -> Iterator[Hit]:
    """Two fields that are both there and differ."""
    for base, value in find(found, params.each):
        left, right = first(value, *params.left), first(value, *params.right)
        if left is not None and right is not None and str(left) != str(right):
            yield Hit((*base, *params.left), f"{left}, not {right}")
