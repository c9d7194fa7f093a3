"""Revisions: which number a ReplicaSet carries, what it inherits, which sets are history."""

from typing import Final

from winkube.api.meta import annotations_of, is_deleting
from winkube.base.types import JsonObject
from winkube.controllers.deployment.view import (
    DESIRED,
    LAST_APPLIED,
    MAX_REPLICAS,
    REVISION,
    REVISION_HISTORY,
    ROLLBACK_TO,
    Rollout,
    by_age,
    replicas_of,
    revision_of,
    status_count,
)

HISTORY_LENGTH: Final = 2000
NOT_INHERITED: Final = frozenset(
    {LAST_APPLIED, REVISION, REVISION_HISTORY, DESIRED, MAX_REPLICAS, ROLLBACK_TO}
)


def next_revision(rollout: Rollout) -> int:
    return max((revision_of(each) for each in rollout.old), default=0) + 1


def inherited(deployment: JsonObject) -> dict[str, str]:
    found = annotations_of(deployment)
    return {key: value for key, value in found.items() if key not in NOT_INHERITED}


def size_annotations(rollout: Rollout) -> dict[str, str]:
    """What later tells a change of size from a rollout."""
    return {
        DESIRED: str(rollout.replicas),
        MAX_REPLICAS: str(rollout.replicas + rollout.max_surge),
    }


def new_set_annotations(rollout: Rollout) -> dict[str, str]:
    revision = str(next_revision(rollout))
    return {**inherited(rollout.deployment), REVISION: revision, **size_annotations(rollout)}


def plan_annotations(rollout: Rollout, replica_set: JsonObject) -> dict[str, str]:
    """The annotations an existing new set should have; a raised revision leaves its trace."""
    have = annotations_of(replica_set)
    wanted = {**have, **inherited(rollout.deployment)}
    revision, old = next_revision(rollout), revision_of(replica_set)
    if old < revision:
        wanted[REVISION] = str(revision)
        if old:
            history = [entry for entry in have.get(REVISION_HISTORY, "").split(",") if entry]
            wanted[REVISION_HISTORY] = _shortened([*history, str(old)])
    return wanted


def _shortened(history: list[str]) -> str:
    """The latest revisions, as many as have room: who goes back and forth does so for ever."""
    while len(text := ",".join(history)) > HISTORY_LENGTH:
        history = history[1:]
    return text


def plan_cleanup(rollout: Rollout) -> list[JsonObject]:
    """The old sets beyond the history limit: idle ones, lowest revision first."""
    limit = rollout.spec.get("revisionHistoryLimit", 10)
    if limit is None or limit >= 2**31 - 1:
        return []
    alive = [each for each in rollout.old if not is_deleting(each)]
    surplus = len(alive) - int(limit)
    if surplus <= 0:
        return []
    ordered = sorted(by_age(alive), key=revision_of)
    return [each for each in ordered[:surplus] if _idle(each)]


def _idle(replica_set: JsonObject) -> bool:
    generation = replica_set["metadata"].get("generation", 0)
    return (
        replicas_of(replica_set) == 0
        and status_count(replica_set, "replicas") == 0
        and generation <= status_count(replica_set, "observedGeneration")
    )


def find_revision(rollout: Rollout, revision: int) -> JsonObject | None:
    """The set to roll back to; revision 0 is the one before the current."""
    numbered = sorted(rollout.all, key=revision_of)
    if revision == 0:
        return numbered[-2] if len(numbered) > 1 else None
    return next((each for each in numbered if revision_of(each) == revision), None)
