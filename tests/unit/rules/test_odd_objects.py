import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from winkube.rules.engine import check
from winkube.rules.target import parse_targets

PAIRS = sorted((Path(__file__).parents[2] / "data" / "rules").glob("*/bad.yaml"))
ODD: tuple[Any, ...] = (None, 5, "x", "", [], {}, [None], {"a": None}, {"a": [{}]}, True, [[1]])
TARGETS = parse_targets(["1.19,1.37"], ["ws2019,ws2022"], ["overlay"])


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    children = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, below in children:
        yield from places(below, (*at, key))


def changed(document: Any, at: tuple[Any, ...], new: Any) -> Any:
    document = copy.deepcopy(document)
    above = document
    for step in at[:-1]:
        above = above[step]
    above[at[-1]] = copy.deepcopy(new)
    return document


@pytest.mark.parametrize("path", PAIRS, ids=lambda path: path.parent.name)
def test_no_rule_breaks_on_an_object_of_an_odd_shape(path: Path) -> None:
    chance = random.Random(path.parent.name)
    documents = [each for each in yaml.safe_load_all(path.read_text()) if each]
    spots = [(n, at) for n, each in enumerate(documents) for at in places(each) if at]
    for number, at in chance.sample(spots, min(len(spots), 6)):
        for odd in chance.sample(ODD, 3):
            odd_one = changed(documents[number], at, odd)
            others = documents[:number] + documents[number + 1 :]
            if isinstance(odd_one.get("kind"), str):
                list(check([*others, odd_one], *TARGETS))
