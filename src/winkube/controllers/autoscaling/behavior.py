"""From what the metrics ask for to what is done: stabilization, rates, bounds.

The rules are upstream's (pkg/controller/podautoscaler/horizontal.go). A History belongs to one
autoscaler and lives as long as the controller; it is the only thing here that changes.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from winkube.base.types import JsonObject

IN_RANGE: Final = ("DesiredWithinRange", "the desired count is within the acceptable range")
TOO_MANY: Final = (
    "TooManyReplicas",
    "the desired replica count is more than the maximum replica count",
)
TOO_FEW: Final = (
    "TooFewReplicas",
    "the desired replica count is less than the minimum replica count",
)
UP_LIMIT: Final = (
    "ScaleUpLimit",
    "the desired replica count is increasing faster than the maximum scale rate",
)
DOWN_LIMIT: Final = (
    "ScaleDownLimit",
    "the desired replica count is decreasing faster than the maximum scale rate",
)
READY: Final = ("ReadyForNewScale", "recommended size matches current size")
UP_STABILIZED: Final = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
)
DOWN_STABILIZED: Final = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent "
    "recommendation",
)
_PLAIN_FACTOR: Final = 2
_PLAIN_MINIMUM: Final = 4

Words = tuple[str, str]  # reason, message


@dataclass(slots=True)
class History:
    """(value, when) of past recommendations, and by how much the size was changed when."""

    recommendations: list[tuple[int, float]] = field(default_factory=list)
    ups: list[tuple[int, float]] = field(default_factory=list)
    downs: list[tuple[int, float]] = field(default_factory=list)

    def begin(self, replicas: int, now: float) -> None:
        if not self.recommendations:
            self.recommendations.append((replicas, now))

    def note_scale(self, behavior: JsonObject | None, old: int, new: int, now: float) -> None:
        if behavior is None:
            return  # nobody would read it
        events, rules = (self.ups, "scaleUp") if new > old else (self.downs, "scaleDown")
        policies = (behavior.get(rules) or {}).get("policies") or ()
        longest = max((policy["periodSeconds"] for policy in policies), default=0)
        events[:] = [event for event in events if event[1] >= now - longest]
        events.append((abs(new - old), now))


@dataclass(frozen=True, slots=True)
class Wish:
    """A size now, the one the metrics ask for, and the bounds."""

    current: int
    desired: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Outcome:
    replicas: int
    able: Words
    limited: bool
    limit: Words


def normalize(
    wish: Wish, behavior: JsonObject | None, history: History, now: float, window: float
) -> Outcome:
    """The size to go to. ``window`` (s) stabilizes scale-downs that say nothing about it."""
    if behavior is None:
        stable = _stabilize_plainly(wish, history, now, window)
        replicas, limit = _bound_plainly(wish, stable)
        able = READY if stable == wish.desired else DOWN_STABILIZED
        return Outcome(replicas, able, replicas != stable, limit)
    stable = _stabilize(wish, behavior, history, now, window)
    able = READY
    if stable != wish.desired:
        able = UP_STABILIZED if wish.desired >= wish.current else DOWN_STABILIZED
    stabilized = Wish(wish.current, stable, wish.low, wish.high)
    replicas, limit = _bound(stabilized, behavior, history, now)
    return Outcome(replicas, able, replicas != stable, limit)


def _stabilize_plainly(wish: Wish, history: History, now: float, window: float) -> int:
    recent = [entry for entry in history.recommendations if entry[1] >= now - window]
    history.recommendations[:] = [*recent, (wish.desired, now)]
    return max(value for value, _ in history.recommendations)


def _bound_plainly(wish: Wish, desired: int) -> tuple[int, Words]:
    limit = max(_PLAIN_FACTOR * wish.current, _PLAIN_MINIMUM)
    if desired < wish.low:
        return wish.low, TOO_FEW
    if desired > min(limit, wish.high):
        return min(limit, wish.high), UP_LIMIT if wish.high > limit else TOO_MANY
    return desired, IN_RANGE


def _stabilize(
    wish: Wish, behavior: JsonObject, history: History, now: float, window: float
) -> int:
    up_since = now - _window(behavior.get("scaleUp"), 0.0)
    down_since = now - _window(behavior.get("scaleDown"), window)
    low = high = wish.desired
    kept = []
    for value, at in history.recommendations:
        if at > up_since:
            low = min(low, value)
        if at > down_since:
            high = max(high, value)
        if at >= min(up_since, down_since):
            kept.append((value, at))
    history.recommendations[:] = [*kept, (wish.desired, now)]
    return min(max(wish.current, low), high)


def _window(rules: JsonObject | None, default: float) -> float:
    seconds = (rules or {}).get("stabilizationWindowSeconds")
    return default if seconds is None else float(seconds)


def _bound(wish: Wish, behavior: JsonObject, history: History, now: float) -> tuple[int, Words]:
    if wish.desired > wish.current:
        rate = _rate_limit(wish.current, behavior.get("scaleUp") or {}, history, now, up=True)
        limit = max(rate, wish.current)
        if wish.desired > min(limit, wish.high):
            return min(limit, wish.high), UP_LIMIT if wish.high > limit else TOO_MANY
    elif wish.desired < wish.current:
        rate = _rate_limit(wish.current, behavior.get("scaleDown") or {}, history, now, up=False)
        limit = min(rate, wish.current)
        if wish.desired < max(limit, wish.low):
            return max(limit, wish.low), DOWN_LIMIT if wish.low < limit else TOO_FEW
    return wish.desired, IN_RANGE


def _rate_limit(
    current: int, rules: Mapping[str, object], history: History, now: float, *, up: bool
) -> int:
    """The furthest the policies let the size go in this direction."""
    choice, policies = rules.get("selectPolicy"), rules.get("policies") or ()
    if choice == "Disabled":
        return current
    assert isinstance(policies, Sequence)
    proposals = []
    for policy in policies:
        since = now - policy["periodSeconds"]
        start = current - _changed(history.ups, since) + _changed(history.downs, since)
        proposals.append(_proposal(start, policy, up=up))
    # The greatest change is the highest size on the way up and the lowest on the way down.
    select: Callable[[list[int]], int] = max if up is (choice != "Min") else min
    return select(proposals) if proposals else current


def _proposal(start: int, policy: JsonObject, *, up: bool) -> int:
    value = policy["value"] if up else -policy["value"]
    if policy["type"] == "Pods":
        return int(start + value)
    size = start * (1 + value / 100)
    # Rounded up on the way up: a small size would otherwise never grow.
    return math.ceil(size) if up else int(size)


def _changed(events: Sequence[tuple[int, float]], since: float) -> int:
    return sum(change for change, at in events if at > since)
