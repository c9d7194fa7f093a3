"""Lists as long as a client likes: twice as long is twice the work, not four times.

The work is counted, not timed: how often two texts are compared, or a function is called.
"""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from winkube.api.kinds import KINDS
from winkube.api.schema import load_schema
from winkube.api.strategic import strategic_merge
from winkube.api.validation.pod.scheduling import check_spreading
from winkube.api.validation.problems import Problems
from winkube.api.warnings.pod import MOST
from winkube.api.warnings.rules import warnings_on_create
from winkube.base.types import JsonObject

SCHEMA = load_schema()
POD = next(kind for kind in KINDS.all() if kind.gvk == ("", "v1", "Pod"))
MANY = 1_000


class Text(str):
    """Counts with how many others it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Text.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def comparisons(work: Callable[[], object]) -> int:
    Text.compared = 0
    work()
    return Text.compared


def calls(work: Callable[[], object]) -> int:
    count = 0

    def see(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def pod(**spec: Any) -> JsonObject:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}], **spec}}


def merge(patch_env: list[Any], **more: Any) -> JsonObject:
    env = [{"name": Text(f"e{n}"), "value": "x"} for n in range(MANY)]
    patch = {"spec": {"containers": [{"name": "c", "env": patch_env, **more}]}}
    old = pod(containers=[{"name": "c", "env": env}])
    return strategic_merge(SCHEMA, POD, old, patch)


def named(count: int) -> list[JsonObject]:
    return [{"name": Text(f"e{n}")} for n in range(count)]


@pytest.mark.parametrize(
    "work",
    [
        lambda: merge([{"name": Text(f"e{n}"), "value": "y"} for n in range(MANY)]),
        lambda: merge([{"name": Text(f"e{n}"), "$patch": "delete"} for n in range(MANY)]),
        lambda: merge([], **{"$setElementOrder/env": named(MANY)[::-1]}),
        lambda: merge([{"name": Text(f"new{n}")} for n in range(MANY)]),
        lambda: check_spreading(
            [{"maxSkew": 1, "topologyKey": Text(f"k{n}")} for n in range(MANY)], "x", Problems()
        ),
    ],
    ids=["changes", "deletions", "order", "additions", "spreading"],
)
def test_texts_are_not_compared_each_with_each(work: Callable[[], object]) -> None:
    assert comparisons(work) < 50 * MANY


def volume(paths: list[str]) -> JsonObject:
    items = [{"key": "k", "path": path} for path in paths]
    return pod(volumes=[{"name": "v", "configMap": {"name": "m", "items": items}}])


def ports(**varied: Callable[[int], object]) -> JsonObject:
    made = [
        {"containerPort": 1, "hostPort": 1, **{key: make(n) for key, make in varied.items()}}
        for n in range(MANY)
    ]
    return pod(containers=[{"name": "c", "ports": made}])


@pytest.mark.parametrize(
    "obj",
    [
        volume([f"path-{n}" for n in range(MANY)]),
        volume([f"a/{n}" for n in range(MANY)]),
        ports(hostPort=lambda n: n + 1),
        ports(hostIP=lambda n: f"10.0.{n >> 8}.{n & 255}"),
    ],
    ids=["paths", "siblings", "host ports", "addresses"],
)
def test_things_that_do_not_meet_are_not_held_against_each_other(obj: JsonObject) -> None:
    found: list[str] = []
    assert calls(lambda: found.extend(warnings_on_create(POD, obj))) < 50 * MANY
    assert not [text for text in found if "overlapping" in text or "port definition" in text]


@pytest.mark.parametrize(
    "obj",
    [volume(["same"] * MANY), ports(hostPort=lambda n: 0), ports(hostIP=lambda n: "")],
    ids=["paths", "ports", "host ports"],
)
def test_things_that_all_meet_are_not_all_told(obj: JsonObject) -> None:
    assert len(list(warnings_on_create(POD, obj))) == MOST
