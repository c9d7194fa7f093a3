"""What controllers ask of pods (active, ready, available), and a pod made of a template."""

from winkube.api.meta import get_condition, is_deleting, to_owner_reference
from winkube.base.clock import parse_rfc3339
from winkube.base.types import JsonObject


def phase_of(pod: JsonObject) -> str:
    return str((pod.get("status") or {}).get("phase") or "Pending")


def node_of(pod: JsonObject) -> str:
    return str((pod.get("spec") or {}).get("nodeName") or "")


def is_finished(pod: JsonObject) -> bool:
    return phase_of(pod) in ("Succeeded", "Failed")


def is_active(pod: JsonObject) -> bool:
    return not is_finished(pod) and not is_deleting(pod)


def is_ready(pod: JsonObject) -> bool:
    condition = get_condition(pod, "Ready")
    return condition is not None and condition.get("status") == "True"


def ready_since(pod: JsonObject) -> float | None:
    """When the pod became ready; None while it is not."""
    condition = get_condition(pod, "Ready")
    if condition is None or condition.get("status") != "True":
        return None
    return parse_rfc3339(condition.get("lastTransitionTime") or "1970-01-01T00:00:00Z")


def available_in(pod: JsonObject, min_ready_seconds: int, now: float) -> float | None:
    """Seconds until the pod counts as available: 0 when it does, None while it is not ready."""
    since = ready_since(pod)
    if since is None:
        return None
    return max(0.0, since + min_ready_seconds - now) if min_ready_seconds else 0.0


def pod_from_template(template: JsonObject, owner: JsonObject, prefix: str) -> JsonObject:
    """What is in its spec is the template's: containers by the thousand are not copied."""
    given = template.get("metadata") or {}
    metadata: JsonObject = {
        "generateName": prefix,
        "namespace": owner["metadata"]["namespace"],
        "labels": dict(given.get("labels") or {}),
        "annotations": dict(given.get("annotations") or {}),
        "ownerReferences": [to_owner_reference(owner)],
    }
    if given.get("finalizers"):
        metadata["finalizers"] = list(given["finalizers"])
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {key: value for key, value in metadata.items() if value},
        "spec": {**(template.get("spec") or {})},
    }


def observed(pod: JsonObject, said: JsonObject) -> JsonObject:
    """A condition, or a status, that says which generation of the pod it is about."""
    generation = pod["metadata"].get("generation")
    return {**said, "observedGeneration": generation} if generation else said
