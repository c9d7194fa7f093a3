from collections.abc import Iterator
from copy import deepcopy
from itertools import cycle
from pathlib import Path
from typing import Any

import yaml

from winkube.rules.engine import Engine, Ruleset
from winkube.rules.target import parse_targets

MANIFESTS = sorted((Path(__file__).parents[2] / "data" / "rules").glob("*/bad.yaml"))
ODD: list[Any] = [None, "", 0, [], {}, True, "x", [None], {"a": None}, -1, 1.5]


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*at, key))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from places(below, (*at, index))


def test_no_rule_stumbles_over_a_field_of_another_type() -> None:
    rules = Ruleset(parse_targets(["1.5", "1.19", "1.37"], ["ws2019"], ["overlay"]))
    odd = cycle(ODD)
    for path in MANIFESTS:
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            for place in places(document):
                changed = deepcopy(document)
                below = changed
                for step in place[:-1]:
                    below = below[step]
                below[place[-1]] = next(odd)
                engine: Engine[None] = Engine(rules)
                list(engine.feed(changed, None))
                list(engine.finish())
