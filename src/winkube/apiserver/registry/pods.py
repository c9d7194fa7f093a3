"""What becomes of a pod before it is validated: selectors and reports are completed."""

from collections.abc import Iterator
from typing import Any

from winkube.base.types import JsonObject

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def merge_label_keys(pod: JsonObject) -> None:
    """``matchLabelKeys`` select by the pod's own labels."""
    spec = pod.get("spec") or {}
    affinity, spreading = spec.get("affinity"), spec.get("topologySpreadConstraints")
    if not affinity and not spreading:
        return
    labels = pod["metadata"].get("labels") or {}
    for term in _terms(affinity or {}):
        _merge(term, "matchLabelKeys", "In", labels)
        _merge(term, "mismatchLabelKeys", "NotIn", labels)
    for constraint in spreading or ():
        _merge(constraint, "matchLabelKeys", "In", labels)


def _terms(affinity: JsonObject) -> Iterator[JsonObject]:
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        for weighted in terms.get(_PREFERRED) or ():
            yield weighted.get("podAffinityTerm") or {}
        yield from terms.get(_REQUIRED) or ()


def _merge(term: JsonObject, field: str, operator: str, labels: Any) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    for key in term.get(field) or ():
        if key in labels:
            expression = {"key": key, "operator": operator, "values": [labels[key]]}
            selector.setdefault("matchExpressions", []).append(expression)


def _drop_gated(status: JsonObject) -> None:
    """Fields of features that upstream of this version has off."""
    status.pop("extendedResourceClaimStatus", None)
    for field in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for container in status.get(field) or ():
            container.pop("allocatedResourcesStatus", None)


def complete_report(new: JsonObject, old: JsonObject) -> None:
    """A status that leaves out what was known keeps it."""
    status, before = new.get("status") or {}, old.get("status") or {}
    _drop_gated(status)
    for field in ("qosClass", "observedGeneration"):
        if not status.get(field) and before.get(field):
            status[field] = before[field]
    known: dict[str, list[int]] = {}
    for condition in before.get("conditions") or ():
        generation = condition.get("observedGeneration") or 0
        known.setdefault(condition.get("type") or "", []).append(generation)
    for condition in status.get("conditions") or ():
        generations = known.get(condition.get("type") or "")
        generation = generations.pop(0) if generations else 0
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation
    if status:
        new["status"] = status
