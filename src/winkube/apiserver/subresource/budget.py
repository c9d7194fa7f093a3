"""May a disruption budget let this pod go? Decisions only; the eviction acts on them."""

from typing import Final

from winkube.api.errors import ApiError, ForbiddenError, TooManyRequestsError
from winkube.api.meta import find_condition, name_of, set_condition
from winkube.base.types import JsonObject

_VIOLATED: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_CONDITION: Final = "DisruptionAllowed"
# So many evictions may wait for the controller to see them.
MOST_PENDING: Final = 2000
_RETRY_SECONDS: Final = 10


def is_covered(pod: JsonObject) -> bool:
    """Pods that do no work yet, or no more, are nobody's loss."""
    phase = (pod.get("status") or {}).get("phase")
    working = phase not in ("Succeeded", "Failed", "Pending")
    return working and not pod["metadata"].get("deletionTimestamp")


def may_go_free(budget: JsonObject, pod: JsonObject) -> bool:
    """A pod that is not ready costs nothing when the policy, or enough healthy others, allow it."""
    status = pod.get("status") or {}
    ready = find_condition(status.get("conditions") or (), "Ready")
    if ready is not None and ready.get("status") == "True":
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    counts = budget.get("status") or {}
    desired = counts.get("desiredHealthy") or 0
    return desired > 0 and (counts.get("currentHealthy") or 0) >= desired


def spend(budget: JsonObject, pod: str, now: str) -> None:
    """Take one disruption for this pod, in place; raise when there is none to take."""
    status = budget.setdefault("status", {})
    check_allowed(budget)
    status["disruptionsAllowed"] -= 1
    if not status["disruptionsAllowed"]:
        condition: JsonObject = {
            "type": _CONDITION,
            "status": "False",
            "reason": "InsufficientPods",
            "message": "",
            "observedGeneration": status.get("observedGeneration") or 0,
        }
        set_condition(budget, condition, now)
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod: now}


def check_allowed(budget: JsonObject) -> None:
    status, name = budget.get("status") or {}, name_of(budget)
    generation = budget["metadata"].get("generation") or 0
    if (status.get("observedGeneration") or 0) < generation:
        raise being_processed(name)
    allowed = status.get("disruptionsAllowed") or 0
    if allowed < 0:
        raise _forbidden(name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or ()) > MOST_PENDING:
        raise _forbidden(
            name,
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        )
    if not allowed:
        raise _with_cause(TooManyRequestsError(_VIOLATED), _explain(name, status))


def being_processed(name: str) -> ApiError:
    said = f"The disruption budget {name} is still being processed by the server."
    error = TooManyRequestsError(_VIOLATED, details={"retryAfterSeconds": _RETRY_SECONDS})
    return _with_cause(error, said)


def _explain(name: str, status: JsonObject) -> str:
    desired, healthy = status.get("desiredHealthy") or 0, status.get("currentHealthy") or 0
    return f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"


def _forbidden(name: str, why: str) -> ApiError:
    return ForbiddenError(
        f'poddisruptionbudget.policy "{name}" is forbidden: {why}',
        details={"name": name, "group": "policy", "kind": "poddisruptionbudget"},
    )


def _with_cause(error: ApiError, message: str) -> ApiError:
    causes = [{"reason": "DisruptionBudget", "message": message}]
    error.details = {**error.details, "causes": causes}
    return error
