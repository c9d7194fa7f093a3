"""Read-only views of a Deployment and its ReplicaSets, with the numbers rollouts are made of."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from winkube.api.meta import is_deleting
from winkube.base.types import JsonObject
from winkube.controllers.annotation import MAX_INT64, noted_number

REVISION: Final = "deployment.kubernetes.io/revision"
REVISION_HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS: Final = "deployment.kubernetes.io/max-replicas"
ROLLBACK_TO: Final = "deprecated.deployment.rollback.to"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
HASH_LABEL: Final = "pod-template-hash"
NO_DEADLINE: Final = 2**31 - 1


def replicas_of(replica_set: JsonObject) -> int:
    return int(replica_set["spec"].get("replicas", 1))


def status_count(replica_set: JsonObject, field_: str) -> int:
    return int((replica_set.get("status") or {}).get(field_) or 0)


def total(replica_sets: Iterable[JsonObject]) -> int:
    return sum(replicas_of(each) for each in replica_sets)


def total_status(replica_sets: Iterable[JsonObject], field_: str) -> int:
    return sum(status_count(each, field_) for each in replica_sets)


def revision_of(obj: JsonObject) -> int:
    return noted_number(obj, REVISION, most=MAX_INT64) or 0


def by_age(replica_sets: Iterable[JsonObject]) -> list[JsonObject]:
    """Oldest first."""
    return sorted(
        replica_sets,
        key=lambda each: (
            each["metadata"].get("creationTimestamp") or "",
            each["metadata"]["name"],
        ),
    )


def int_or_percent(value: int | str | None, whole: int, *, round_up: bool) -> int:
    if value is None:
        return 0
    text = str(value)
    if not text.endswith("%"):
        return int(text)
    exact = int(text[:-1]) * whole / 100
    return math.ceil(exact) if round_up else math.floor(exact)


@dataclass(frozen=True, slots=True)
class Rollout:
    """A deployment with its sets: ``new`` has the current template, ``old`` are the others."""

    deployment: JsonObject
    new: JsonObject | None = None
    old: tuple[JsonObject, ...] = field(default=())

    @property
    def spec(self) -> JsonObject:
        spec: JsonObject = self.deployment["spec"]
        return spec

    @property
    def replicas(self) -> int:
        return int(self.spec.get("replicas", 1))

    @property
    def paused(self) -> bool:
        return bool(self.spec.get("paused"))

    @property
    def deleting(self) -> bool:
        return is_deleting(self.deployment)

    @property
    def rolling(self) -> bool:
        strategy: JsonObject = self.spec.get("strategy") or {}
        return str(strategy.get("type") or "RollingUpdate") == "RollingUpdate"

    @property
    def all(self) -> tuple[JsonObject, ...]:
        return self.old if self.new is None else (*self.old, self.new)

    @property
    def max_surge(self) -> int:
        return self._bounds()[0]

    @property
    def max_unavailable(self) -> int:
        return min(self._bounds()[1], self.replicas) if self.replicas else 0

    @property
    def progress_deadline(self) -> int:
        return int(self.spec.get("progressDeadlineSeconds") or NO_DEADLINE)

    @property
    def has_deadline(self) -> bool:
        """Without one nobody waits for progress, and none is told."""
        return self.progress_deadline != NO_DEADLINE

    def _bounds(self) -> tuple[int, int]:
        """Surge rounds up, unavailable down, and not both may be nothing."""
        if not self.rolling:
            return 0, 0
        given = (self.spec.get("strategy") or {}).get("rollingUpdate") or {}
        surge = int_or_percent(given.get("maxSurge", "25%"), self.replicas, round_up=True)
        unavailable = int_or_percent(
            given.get("maxUnavailable", "25%"), self.replicas, round_up=False
        )
        return (surge, unavailable) if surge or unavailable else (0, 1)
