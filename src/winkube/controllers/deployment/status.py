"""The status of a deployment: counts, availability, and whether the rollout makes progress."""

from winkube.api.meta import find_condition, name_of
from winkube.base.clock import parse_rfc3339, to_rfc3339
from winkube.base.types import JsonObject
from winkube.controllers.deployment.view import (
    Rollout,
    status_count,
    total,
    total_status,
)

Conditions = list[JsonObject]


def plan_status(rollout: Rollout, now: float) -> JsonObject:
    """Counts and conditions, without the progress of the rollout."""
    old = rollout.deployment.get("status") or {}
    available = total_status(rollout.all, "availableReplicas")
    counts = {
        "observedGeneration": rollout.deployment["metadata"].get("generation", 0),
        "replicas": total_status(rollout.all, "replicas"),
        "updatedReplicas": status_count(rollout.new, "replicas") if rollout.new else 0,
        "readyReplicas": total_status(rollout.all, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, total(rollout.all) - available),
        "collisionCount": old.get("collisionCount"),
    }
    status: JsonObject = {key: value for key, value in counts.items() if value}
    conditions = [dict(entry) for entry in old.get("conditions") or ()]
    enough = available >= rollout.replicas - rollout.max_unavailable
    set_condition(conditions, to_available_condition(enough=enough), now)
    status["conditions"] = conditions
    return status


def to_available_condition(*, enough: bool) -> JsonObject:
    return {
        "type": "Available",
        "status": "True" if enough else "False",
        "reason": "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        "message": "Deployment has minimum availability."
        if enough
        else "Deployment does not have minimum availability.",
    }


def to_progress_condition(status: str, reason: str, message: str) -> JsonObject:
    return {"type": "Progressing", "status": status, "reason": reason, "message": message}


def set_condition(conditions: Conditions, fresh: JsonObject, now: float) -> None:
    """Replace by type; the same status and reason keeps the old entry, as upstream does."""
    old = find_condition(conditions, fresh["type"])
    stamp = to_rfc3339(now)
    if old is None:
        conditions.append({**fresh, "lastUpdateTime": stamp, "lastTransitionTime": stamp})
        return
    if (old["status"], old.get("reason")) == (fresh["status"], fresh.get("reason")):
        return
    moved = old.get("lastTransitionTime", stamp) if old["status"] == fresh["status"] else stamp
    conditions.remove(old)
    conditions.append({**fresh, "lastUpdateTime": stamp, "lastTransitionTime": moved})


def plan_rollout_status(rollout: Rollout, now: float) -> JsonObject:
    """The status with the progress of the rollout and the failures of its sets."""
    status = plan_status(rollout, now)
    conditions: Conditions = status["conditions"]
    current = find_condition(conditions, "Progressing")
    done = (
        status.get("replicas", 0) == status.get("updatedReplicas", 0)
        and current is not None
        and current.get("reason") == "NewReplicaSetAvailable"
    )
    if not rollout.has_deadline:
        conditions[:] = [entry for entry in conditions if entry["type"] != "Progressing"]
    elif not done:
        _progress(rollout, status, now)
    _copy_failures(rollout, conditions)
    return status


def _progress(rollout: Rollout, status: JsonObject, now: float) -> None:
    conditions: Conditions = status["conditions"]
    who = f'Deployment "{name_of(rollout.deployment)}"'
    if rollout.new is not None:
        who = f'ReplicaSet "{name_of(rollout.new)}"'
    if is_complete(rollout, status):
        fresh = to_progress_condition(
            "True", "NewReplicaSetAvailable", f"{who} has successfully progressed."
        )
        set_condition(conditions, fresh, now)
    elif is_progressing(rollout.deployment.get("status") or {}, status):
        fresh = to_progress_condition("True", "ReplicaSetUpdated", f"{who} is progressing.")
        _refresh(conditions, fresh, now)
    elif is_timed_out(rollout, conditions, now):
        fresh = to_progress_condition(
            "False", "ProgressDeadlineExceeded", f"{who} has timed out progressing."
        )
        set_condition(conditions, fresh, now)


def _refresh(conditions: Conditions, fresh: JsonObject, now: float) -> None:
    """Every step of progress moves lastUpdateTime: the deadline counts from there."""
    old = find_condition(conditions, "Progressing")
    stamp = to_rfc3339(now)
    moved = stamp
    if old is not None:
        if old["status"] == "True":
            moved = old.get("lastTransitionTime", stamp)
        conditions.remove(old)
    conditions.append({**fresh, "lastUpdateTime": stamp, "lastTransitionTime": moved})


def is_complete(rollout: Rollout, status: JsonObject) -> bool:
    counts = ("updatedReplicas", "replicas", "availableReplicas")
    return all(status.get(field, 0) == rollout.replicas for field in counts)


def is_progressing(old: JsonObject, new: JsonObject) -> bool:
    def grew(field: str) -> bool:
        return int(new.get(field, 0)) > int(old.get(field, 0))

    def outdated(status: JsonObject) -> int:
        return int(status.get("replicas", 0)) - int(status.get("updatedReplicas", 0))

    return (
        grew("updatedReplicas")
        or grew("readyReplicas")
        or grew("availableReplicas")
        or outdated(new) < outdated(old)
    )


def is_timed_out(rollout: Rollout, conditions: Conditions, now: float) -> bool:
    left = seconds_to_deadline(rollout, conditions, now)
    current = find_condition(conditions, "Progressing")
    expired = current is not None and current.get("reason") == "ProgressDeadlineExceeded"
    return expired or (left is not None and left < 0)


def seconds_to_deadline(rollout: Rollout, conditions: Conditions, now: float) -> float | None:
    """None when no clock is running: complete, expired, paused, or without a deadline."""
    current = find_condition(conditions, "Progressing")
    settled = ("NewReplicaSetAvailable", "ProgressDeadlineExceeded", "DeploymentPaused")
    if current is None or current.get("reason") in settled or rollout.paused:
        return None
    if not rollout.has_deadline:
        return None
    return parse_rfc3339(current["lastUpdateTime"]) + rollout.progress_deadline - now


def _copy_failures(rollout: Rollout, conditions: Conditions) -> None:
    found = None
    for replica_set in (rollout.new, *rollout.old):
        listed = ((replica_set or {}).get("status") or {}).get("conditions") or []
        found = found or find_condition(listed, "ReplicaFailure")
    conditions[:] = [entry for entry in conditions if entry["type"] != "ReplicaFailure"]
    if found is not None:
        stamp = found.get("lastTransitionTime", "")
        conditions.append({**found, "lastUpdateTime": stamp})
