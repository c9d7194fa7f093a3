"""What the status of a workload may say (upstream: pkg/apis/apps/validation)."""

from typing import Final

from winkube.api.validation.common import check_nonnegative
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_DEPLOYMENT: Final = (
    "observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
    "unavailableReplicas", "terminatingReplicas", "collisionCount",
)  # fmt: skip
_REPLICA_SET: Final = (
    "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas",
    "observedGeneration", "terminatingReplicas",
)  # fmt: skip
_STATEFUL_SET: Final = (
    "replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas",
    "observedGeneration", "collisionCount",
)  # fmt: skip
_DAEMON_SET: Final = (
    "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady",
    "observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable",
    "collisionCount",
)  # fmt: skip


def validate_deployment_status(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    status = _counted(new, _DEPLOYMENT, problems)
    _check_parts(status, ("updatedReplicas", "readyReplicas", "availableReplicas"), problems)
    _check_available(status, "readyReplicas", problems)
    _check_collisions(new, old, problems)


def validate_replica_set_status(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    status = _counted(new, _REPLICA_SET, problems)
    _check_parts(status, ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"), problems)
    _check_available(status, "readyReplicas", problems)


def validate_stateful_set_status(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    status = _counted(new, _STATEFUL_SET, problems)
    parts = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    _check_parts(status, parts, problems)
    _check_available(status, "status.readyReplicas", problems)
    _check_collisions(new, old, problems)


def validate_daemon_set_status(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    _counted(new, _DAEMON_SET, problems)
    _check_collisions(new, old, problems)


def _counted(obj: JsonObject, counts: tuple[str, ...], problems: Problems) -> JsonObject:
    status: JsonObject = obj.get("status") or {}
    for field in counts:
        check_nonnegative(status.get(field), f"status.{field}", problems)
    return status


def _check_parts(status: JsonObject, fields: tuple[str, ...], problems: Problems) -> None:
    whole = status.get("replicas") or 0
    for field in fields:
        count = status.get(field) or 0
        if count > whole:
            text = "cannot be greater than status.replicas"
            problems.invalid(f"status.{field}", count, text)


def _check_available(status: JsonObject, ready: str, problems: Problems) -> None:
    available = status.get("availableReplicas") or 0
    if available > (status.get("readyReplicas") or 0):
        problems.invalid("status.availableReplicas", available, f"cannot be greater than {ready}")


def _check_collisions(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    after, before = ((obj.get("status") or {}).get("collisionCount") for obj in (new, old))
    if before is not None and (after or 0) < before:
        problems.invalid("status.collisionCount", after or 0, "cannot be decremented")
