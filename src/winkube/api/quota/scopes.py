"""The scopes of a quota: which objects it is about."""

from collections.abc import Iterator
from typing import Any, Final

from winkube.api.quota.pod import is_best_effort, is_terminating, reaches_other_namespaces
from winkube.base.types import JsonObject

TERMINATING: Final = "Terminating"
NOT_TERMINATING: Final = "NotTerminating"
BEST_EFFORT: Final = "BestEffort"
NOT_BEST_EFFORT: Final = "NotBestEffort"
PRIORITY_CLASS: Final = "PriorityClass"
CROSS_NAMESPACE: Final = "CrossNamespacePodAffinity"
ATTRIBUTES_CLASS: Final = "VolumeAttributesClass"
SCOPES: Final = (
    TERMINATING,
    NOT_TERMINATING,
    BEST_EFFORT,
    NOT_BEST_EFFORT,
    PRIORITY_CLASS,
    ATTRIBUTES_CLASS,
    CROSS_NAMESPACE,
)


def selectors_of(quota: JsonObject) -> Iterator[JsonObject]:
    """Plain scopes and the scope selector's expressions, in one form."""
    spec = quota.get("spec") or {}
    for scope in spec.get("scopes") or ():
        yield {"scopeName": scope, "operator": "Exists"}
    yield from (spec.get("scopeSelector") or {}).get("matchExpressions") or ()


def pod_in_scope(selector: JsonObject, pod: JsonObject) -> bool:
    scope = str(selector.get("scopeName"))
    if scope in (TERMINATING, NOT_TERMINATING):
        return is_terminating(pod) == (scope == TERMINATING)
    if scope in (BEST_EFFORT, NOT_BEST_EFFORT):
        return is_best_effort(pod) == (scope == BEST_EFFORT)
    if scope == PRIORITY_CLASS:
        name = (pod.get("spec") or {}).get("priorityClassName")
        return _matches(selector, name or None)
    return scope == CROSS_NAMESPACE and reaches_other_namespaces(pod)


def claim_in_scope(selector: JsonObject, claim: JsonObject) -> bool:
    if selector.get("scopeName") != ATTRIBUTES_CLASS:
        return False
    found = attribute_classes(claim)
    return any(_matches(selector, name) for name in found) if found else _matches(selector, None)


def attribute_classes(claim: JsonObject) -> set[str]:
    """What the claim wants, has, and is being changed to."""
    spec, status = claim.get("spec") or {}, claim.get("status") or {}
    changing = status.get("modifyVolumeStatus") or {}
    names: tuple[Any, ...] = (
        spec.get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        changing.get("targetVolumeAttributesClassName"),
    )
    return {name for name in names if name}


def _matches(selector: JsonObject, value: str | None) -> bool:
    operator, values = selector.get("operator"), selector.get("values") or ()
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    if operator == "In":
        return value in values
    return operator == "NotIn" and value not in values
