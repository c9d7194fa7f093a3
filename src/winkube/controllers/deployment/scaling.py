"""How many replicas each set of a deployment gets: the pure arithmetic of rollouts.

Every function returns the sets to change with their new sizes; no entry means no change.
Follows kubernetes: pkg/controller/deployment (rolling.go, recreate.go, sync.go, util).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from winkube.api.meta import annotations_of, name_of
from winkube.base.types import JsonObject
from winkube.controllers.annotation import MAX_INT32, noted_number
from winkube.controllers.deployment.view import (
    DESIRED,
    MAX_REPLICAS,
    Rollout,
    by_age,
    replicas_of,
    status_count,
    total,
    total_status,
)


@dataclass(frozen=True, slots=True)
class Resize:
    replica_set: JsonObject
    replicas: int


def new_set_size(rollout: Rollout, current: int) -> int:
    """The size the new set may grow to now, given what it has."""
    if not rollout.rolling:
        return rollout.replicas
    allowed = rollout.replicas + rollout.max_surge
    have = total(rollout.all)
    if have >= allowed:
        return current
    return current + min(allowed - have, rollout.replicas - current)


def plan_new_set(rollout: Rollout) -> list[Resize]:
    if rollout.new is None:
        return []
    current = replicas_of(rollout.new)
    wanted = rollout.replicas
    if current < wanted:
        wanted = new_set_size(rollout, current)
    return [Resize(rollout.new, wanted)] if wanted != current else []


def plan_old_sets(rollout: Rollout) -> list[Resize]:
    """Give up old pods as far as availability allows: broken ones first, then the oldest sets."""
    if rollout.new is None or not total(rollout.old):
        return []
    minimum = rollout.replicas - rollout.max_unavailable
    new_unavailable = replicas_of(rollout.new) - status_count(rollout.new, "availableReplicas")
    budget = total(rollout.all) - minimum - new_unavailable
    if budget <= 0:
        return []
    sizes = _drop_unhealthy(rollout.old, budget)
    spare = total_status(rollout.all, "availableReplicas") - minimum
    for replica_set in by_age(rollout.old):
        if spare <= 0:
            break
        size = sizes.get(name_of(replica_set), replicas_of(replica_set))
        drop = min(size, spare)
        if drop > 0:
            sizes[name_of(replica_set)] = size - drop
            spare -= drop
    return _resizes(rollout.old, sizes)


def _drop_unhealthy(old: Iterable[JsonObject], budget: int) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for replica_set in by_age(old):
        if budget <= 0:
            break
        size = replicas_of(replica_set)
        unhealthy = size - status_count(replica_set, "availableReplicas")
        drop = min(budget, unhealthy)
        if size and drop > 0:
            sizes[name_of(replica_set)] = size - drop
            budget -= drop
    return sizes


def plan_recreate_down(rollout: Rollout) -> list[Resize]:
    return [Resize(each, 0) for each in rollout.old if replicas_of(each)]


def is_scaling(rollout: Rollout) -> bool:
    """The deployment's size changed since its sets were last sized."""
    for replica_set in rollout.all:
        desired = annotations_of(replica_set).get(DESIRED)
        if replicas_of(replica_set) and desired is not None and desired != str(rollout.replicas):
            return True
    return False


def is_saturated(rollout: Rollout) -> bool:
    if rollout.new is None:
        return False
    return (
        replicas_of(rollout.new) == rollout.replicas
        and annotations_of(rollout.new).get(DESIRED) == str(rollout.replicas)
        and status_count(rollout.new, "availableReplicas") == rollout.replicas
    )


def plan_scale(rollout: Rollout) -> list[Resize]:
    """Follow a change of size, also in the middle of a rollout or while paused."""
    active = [each for each in rollout.all if replicas_of(each)]
    if len(active) <= 1:
        single = active[0] if active else _latest(rollout)
        if single is None:
            return []
        return [Resize(single, rollout.replicas)] if replicas_of(single) != rollout.replicas else []
    if is_saturated(rollout):
        return plan_recreate_down(rollout)
    return _proportional(rollout, active) if rollout.rolling else []


def _latest(rollout: Rollout) -> JsonObject | None:
    if rollout.new is not None:
        return rollout.new
    ordered = by_age(rollout.old)
    return ordered[-1] if ordered else None


def _proportional(rollout: Rollout, active: list[JsonObject]) -> list[Resize]:
    """Spread the change over the active sets by their size; the largest takes the rest."""
    allowed = rollout.replicas + rollout.max_surge if rollout.replicas else 0
    change = allowed - total(active)
    ordered = by_age(active)
    if change > 0:
        ordered.reverse()
    ordered.sort(key=replicas_of, reverse=True)
    sizes: dict[str, int] = {}
    added = 0
    for replica_set in ordered:
        size, share = replicas_of(replica_set), 0
        if change:
            share = _share(rollout, replica_set, change - added)
        sizes[name_of(replica_set)] = size + share
        added += share
    first = name_of(ordered[0])
    sizes[first] = max(0, sizes[first] + change - added)
    return _resizes(active, sizes)


def _share(rollout: Rollout, replica_set: JsonObject, allowed: int) -> int:
    size = replicas_of(replica_set)
    if not size or not allowed:
        return 0
    if not rollout.replicas:
        return -size
    # Somebody may have changed or removed the note.
    noted = noted_number(replica_set, MAX_REPLICAS, most=MAX_INT32)
    before = noted or status_count(rollout.deployment, "replicas")
    if not before:
        return 0
    exact = size * (rollout.replicas + rollout.max_surge) / before
    fraction = int(exact + 0.5) - size
    return min(fraction, allowed) if allowed > 0 else max(fraction, allowed)


def _resizes(replica_sets: Iterable[JsonObject], sizes: Mapping[str, int]) -> list[Resize]:
    found = [(each, sizes.get(name_of(each), replicas_of(each))) for each in replica_sets]
    return [Resize(each, size) for each, size in found if size != replicas_of(each)]
