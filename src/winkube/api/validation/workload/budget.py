"""PodDisruptionBudgets (upstream: pkg/apis/policy/validation)."""

from typing import Final

from winkube.api.validation.common import (
    check_at_most_100_percent,
    check_int_or_percent,
    check_nonnegative,
    check_selector,
)
from winkube.api.validation.condition import check_conditions
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_EVICTIONS: Final = ("AlwaysAllow", "IfHealthyBudget")
_COUNTS: Final = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def validate_budget(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    low, high = spec.get("minAvailable"), spec.get("maxUnavailable")
    if low is not None and high is not None:
        text = "minAvailable and maxUnavailable cannot be both set"
        problems.invalid("spec", _shown(spec), text)
    for field, value in (("minAvailable", low), ("maxUnavailable", high)):
        if value is not None:
            check_int_or_percent(value, f"spec.{field}", problems)
            check_at_most_100_percent(value, f"spec.{field}", problems)
    check_selector(spec.get("selector"), "spec.selector", problems)
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _EVICTIONS:
        problems.unsupported("spec.unhealthyPodEvictionPolicy", policy, _EVICTIONS)


def _shown(spec: JsonObject) -> JsonObject:
    """As upstream's own type prints itself."""
    fields = ("minAvailable", "selector", "maxUnavailable", "unhealthyPodEvictionPolicy")
    return {f"{field[0].upper()}{field[1:]}": spec.get(field) for field in fields}


def validate_budget_status(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    status = new.get("status") or {}
    check_conditions(status.get("conditions") or [], "status.conditions", problems)
    for field in _COUNTS:
        check_nonnegative(status.get(field), f"status.{field}", problems)
