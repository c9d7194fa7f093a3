"""The status a set's pods make."""

from collections.abc import Iterable

from winkube.api.meta import is_deleting, name_of
from winkube.base.types import JsonObject
from winkube.controllers.pods import available_in
from winkube.controllers.statefulset.identity import (
    is_created,
    is_running_and_ready,
    replicas_of,
    revision_of,
)
from winkube.controllers.statefulset.plan import Plan, SetView


def plan_status(view: SetView, plan: Plan, collisions: int) -> tuple[JsonObject, float | None]:
    """The status, and after how many seconds it may change by time alone."""
    stateful_set = view.stateful_set
    pods = [pod for pod in (*plan.replicas, *plan.condemned) if is_created(pod)]
    staying = [pod for pod in pods if not is_deleting(pod)]
    least = int(stateful_set["spec"].get("minReadySeconds") or 0)
    waits = [available_in(pod, least, view.now) for pod in pods if is_running_and_ready(pod)]
    current, update = name_of(view.current), name_of(view.update)
    status: JsonObject = {
        "observedGeneration": stateful_set["metadata"].get("generation", 0),
        "replicas": len(pods),
        "readyReplicas": len(waits),
        "currentReplicas": _count(staying, current) - (plan.outdated is not None),
        "updatedReplicas": _count(staying, update),
        "currentRevision": current,
        "updateRevision": update,
        "collisionCount": collisions,
        "availableReplicas": sum(wait == 0.0 for wait in waits),
    }
    _complete(stateful_set, status)
    old = stateful_set.get("status") or {}
    if old.get("conditions"):
        status["conditions"] = old["conditions"]
    always = ("replicas", "availableReplicas", "collisionCount")
    kept = {key: value for key, value in status.items() if value or key in always}
    return kept, min((wait for wait in waits if wait), default=None)


def _count(pods: Iterable[JsonObject], revision: str) -> int:
    return sum(revision_of(pod) == revision for pod in pods)


def _complete(stateful_set: JsonObject, status: JsonObject) -> None:
    """When every pod is of the new revision and ready, the new revision is the current one."""
    strategy = stateful_set["spec"].get("updateStrategy") or {}
    wanted = replicas_of(stateful_set)
    counts = [status[key] for key in ("updatedReplicas", "readyReplicas", "replicas")]
    if strategy.get("type", "RollingUpdate") == "RollingUpdate" and counts == [wanted] * 3:
        status["currentReplicas"] = status["updatedReplicas"]
        status["currentRevision"] = status["updateRevision"]
