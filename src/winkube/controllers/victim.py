"""Which pods an owner gives up first when it has too many.

Both orders begin with how far a pod has come: placed, running, ready. A ReplicaSet then looks at
what a pod is said to be worth and at how crowded its node is; among pods that are about equally old
chance decides, so that not always the youngest go (kubernetes: controller_utils.go).
"""

import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from winkube.api.meta import annotations_of, uid_of
from winkube.base.clock import parse_rfc3339
from winkube.base.types import JsonObject
from winkube.controllers.pods import is_ready, node_of, phase_of, ready_since

DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_PHASE_ORDER: Final = {"Pending": 0, "Unknown": 1, "Running": 2}
_NANO: Final = 1e9
_LARGEST: Final = 2**31


def least_advanced_first(pods: Iterable[JsonObject]) -> list[JsonObject]:
    """As Jobs do: the less has come of a pod, the sooner it goes."""
    return sorted(
        pods, key=lambda pod: (*_progress(pod), -_ready_at(pod), *_restarts(pod), -_created(pod))
    )


def worst_first(
    pods: Iterable[JsonObject], crowd: Callable[[str], int], now: float
) -> list[JsonObject]:
    """As ReplicaSets do; ``crowd`` is how many pods of the same kind a node has."""
    found = [_standing(pod, crowd(node_of(pod)), now) for pod in pods]
    return [each.pod for each in sorted(found, key=functools.cmp_to_key(_compare))]


@dataclass(frozen=True, slots=True)
class _Age:
    """A time, and how long ago in powers of two; 0 is a time nobody knows."""

    at: float
    rank: int


@dataclass(frozen=True, slots=True)
class _Standing:
    pod: JsonObject
    uid: str
    place: tuple[Any, ...]
    ready: _Age
    restarts: tuple[int, int]
    created: _Age


def _standing(pod: JsonObject, crowd: int, now: float) -> _Standing:
    return _Standing(
        pod,
        uid_of(pod),
        (*_progress(pod), deletion_cost(pod), -crowd),
        _age(_ready_at(pod), now),
        _restarts(pod),
        _age(_created(pod), now),
    )


def _compare(one: _Standing, other: _Standing) -> int:
    if one.place != other.place:
        return -1 if one.place < other.place else 1
    if one.ready.at != other.ready.at:
        return _by_age(one, one.ready, other, other.ready)
    if one.restarts != other.restarts:
        return -1 if one.restarts < other.restarts else 1
    if one.created.at != other.created.at:
        return _by_age(one, one.created, other, other.created)
    return 0


def _by_age(one: _Standing, first: _Age, other: _Standing, second: _Age) -> int:
    if not first.at or not second.at:
        return -1 if not first.at else 1
    return first.rank - second.rank or (-1 if one.uid < other.uid else 1)


def _age(at: float, now: float) -> _Age:
    return _Age(at, int(math.log2((now - at) * _NANO)) if now > at else -1)


def _progress(pod: JsonObject) -> tuple[bool, int, bool]:
    return bool(node_of(pod)), _PHASE_ORDER.get(phase_of(pod), 0), is_ready(pod)


def deletion_cost(pod: JsonObject) -> int:
    """What the annotation says, if it is a number as Go writes it."""
    text = annotations_of(pod).get(DELETION_COST, "0")
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and (text == "0" or text[0] in "-123456789")
    cost = int(text) if plain else 0
    return cost if -_LARGEST <= cost < _LARGEST else 0


def _ready_at(pod: JsonObject) -> float:
    return ready_since(pod) or 0.0


def _created(pod: JsonObject) -> float:
    stamp = pod["metadata"].get("creationTimestamp")
    return parse_rfc3339(stamp) if stamp else 0.0


def _restarts(pod: JsonObject) -> tuple[int, int]:
    """The most of a container, then of a sidecar; as negatives, for more is worse."""
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    sidecars = {
        each.get("name")
        for each in spec.get("initContainers") or ()
        if each.get("restartPolicy") == "Always"
    }
    regular = status.get("containerStatuses") or ()
    beside = [
        each for each in status.get("initContainerStatuses") or () if each.get("name") in sidecars
    ]
    most, aside = (
        max((int(each.get("restartCount") or 0) for each in some), default=0)
        for some in (regular, beside)
    )
    return -most, -aside
