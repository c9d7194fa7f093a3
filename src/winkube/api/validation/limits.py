"""Quotas, limit ranges, and the classes that pods name: of runtime and of priority."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Final

from winkube.api import names
from winkube.api.quantity import canonical_quantity
from winkube.api.quota.names import (
    COMPUTE,
    is_standard_in_quota,
    is_whole,
    may_overcommit,
)
from winkube.api.quota.scopes import (
    ATTRIBUTES_CLASS,
    BEST_EFFORT,
    CROSS_NAMESPACE,
    NOT_BEST_EFFORT,
    NOT_TERMINATING,
    PRIORITY_CLASS,
    SCOPES,
    TERMINATING,
)
from winkube.api.validation.common import check_immutable, check_immutable_text, check_labels
from winkube.api.validation.pod.resources import (
    check_container_resource_name,
    check_resource_name,
    check_resources,
    number_of,
)
from winkube.api.validation.pod.scheduling import check_tolerations
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_OF_PODS: Final = COMPUTE | {"pods"}
_OF_SCOPE: Final = {
    TERMINATING: _OF_PODS,
    NOT_TERMINATING: _OF_PODS,
    NOT_BEST_EFFORT: _OF_PODS,
    PRIORITY_CLASS: _OF_PODS,
    CROSS_NAMESPACE: _OF_PODS,
    BEST_EFFORT: frozenset({"pods"}),
    ATTRIBUTES_CLASS: frozenset({"persistentvolumeclaims", "requests.storage"}),
}
_EXISTS_ONLY: Final = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
    "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
    "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)
_CONFLICTING: Final = ({BEST_EFFORT, NOT_BEST_EFFORT}, {TERMINATING, NOT_TERMINATING})
_UNSUPPORTED: Final = "unsupported scope applied to resource"


def validate_quota(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    _check_list(spec.get("hard"), "spec.hard", problems)
    _check_scopes(spec, problems)
    if spec.get("scopeSelector") is not None:
        _check_scope_selector(spec, problems)


def validate_quota_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    after, before = (each.get("spec") or {} for each in (new, old))
    if set(after.get("scopes") or ()) != set(before.get("scopes") or ()):
        problems.invalid("spec.scopes", after.get("scopes"), "field is immutable")


def validate_quota_status(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    status = new.get("status") or {}
    for field in ("hard", "used"):
        _check_list(status.get(field), f"status.{field}", problems)


def _check_list(resources: Any, path: str, problems: Problems) -> None:
    for name, quantity in sorted((resources or {}).items()):
        here = f"{path}[{name}]"
        check_resource_name(name, here, problems)
        if "/" not in name and not is_standard_in_quota(name):
            problems.invalid_enum(here, name, "must be a standard resource for quota")
        number = number_of(quantity)
        if number < 0:
            problems.invalid(here, _shown(quantity), "must be greater than or equal to 0")
        if is_whole(name) and (number * 1000) % 1000:
            problems.invalid(here, _shown(quantity), "must be an integer")


def _shown(quantity: Any) -> str:
    return canonical_quantity(quantity)


def _misfits(scope: str, spec: JsonObject) -> list[str]:
    """The resources that a scope cannot narrow."""
    allowed = _OF_SCOPE.get(scope)
    if allowed is None:
        return []
    hard = spec.get("hard") or {}
    return [name for name in hard if is_standard_in_quota(name) and name not in allowed]


def _check_scopes(spec: JsonObject, problems: Problems) -> None:
    scopes = spec.get("scopes") or []
    for scope in scopes:
        if scope not in SCOPES:
            problems.invalid("spec.scopes", scopes, "unsupported scope")
        for _ in _misfits(scope, spec):
            problems.invalid("spec.scopes", scopes, _UNSUPPORTED)
    for pair in _CONFLICTING:
        if pair <= set(scopes):
            problems.invalid("spec.scopes", scopes, "conflicting scopes")


def _check_scope_selector(spec: JsonObject, problems: Problems) -> None:
    path, selector = "spec.scopeSelector.matchExpressions", spec["scopeSelector"]
    expressions = selector.get("matchExpressions") or ()
    for expression in expressions:
        scope = expression.get("scopeName") or ""
        if scope not in SCOPES:
            problems.invalid_enum(f"{path}.scopeName", scope, "unsupported scope")
        for _ in _misfits(scope, spec):
            problems.invalid(path, _internal_selector(expressions), _UNSUPPORTED)
        _check_operator(expression, path, problems)
    for pair in _CONFLICTING:
        if pair <= {expression.get("scopeName") for expression in expressions}:
            problems.invalid(path, spec.get("scopes"), "conflicting scopes")


def _internal_selector(expressions: Iterable[JsonObject]) -> JsonObject:
    """As upstream's own type has the fields."""
    return {
        "MatchExpressions": [
            {
                "ScopeName": expression.get("scopeName") or "",
                "Operator": expression.get("operator") or "",
                "Values": expression.get("values") or None,
            }
            for expression in expressions
        ]
    }


def _check_operator(expression: JsonObject, path: str, problems: Problems) -> None:
    operator, values = expression.get("operator") or "", expression.get("values") or []
    named = expression.get("scopeName") in (PRIORITY_CLASS, ATTRIBUTES_CLASS)
    if expression.get("scopeName") in SCOPES and not named and operator != "Exists":
        problems.invalid_enum(f"{path}.operator", operator, _EXISTS_ONLY)
    if operator in ("In", "NotIn"):
        if not values:
            text = (
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            )
            problems.required(f"{path}.values", text)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = (
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            )
            problems.invalid(f"{path}.values", values, text)
    else:
        problems.invalid_enum(f"{path}.operator", operator, "not a valid selector operator")


_TYPES: Final = ("Container", "PersistentVolumeClaim", "Pod")
_MOST_MILLI: Final = (2**63 - 1) // 1000


def validate_limit_range(obj: JsonObject, problems: Problems) -> None:
    seen: set[str] = set()
    for index, limit in enumerate((obj.get("spec") or {}).get("limits") or ()):
        path, kind = f"spec.limits[{index}]", limit.get("type") or ""
        _check_type(kind, f"{path}.type", problems)
        if kind in seen:
            problems.duplicate(f"{path}.type", kind)
        seen.add(kind)
        _check_limit(limit, kind, path, problems)


def _check_type(kind: str, path: str, problems: Problems) -> None:
    details = names.label_key_problems(kind)
    problems.all_invalid_enum(path, kind, details)
    if not details and "/" not in kind and kind not in _TYPES:
        problems.invalid_enum(path, kind, "must be a standard limit type or fully qualified")


def _check_limit(limit: JsonObject, kind: str, path: str, problems: Problems) -> None:
    fields = ["max", "min"]
    if kind == "Pod":
        for field in ("default", "defaultRequest"):
            if limit.get(field):
                problems.forbidden(f"{path}.{field}", "may not be specified when `type` is 'Pod'")
    else:
        fields += ["default", "defaultRequest"]
    check = check_container_resource_name if kind in ("Pod", "Container") else check_resource_name
    found: dict[str, dict[str, str]] = {}
    for field in (*fields, "maxLimitRequestRatio"):
        if field == "maxLimitRequestRatio":
            _check_claim_bounds(limit, kind, path, problems)
        for name, quantity in sorted((limit.get(field) or {}).items()):
            check(name, f"{path}.{field}[{name}]", problems)
            found.setdefault(name, {})[field] = _shown(quantity)
    for name, values in sorted(found.items()):
        _check_order(name, values, path, problems)
        _check_ratio(name, values, path, problems)


def _check_claim_bounds(limit: JsonObject, kind: str, path: str, problems: Problems) -> None:
    if kind != "PersistentVolumeClaim":
        return
    if not any("storage" in (limit.get(field) or {}) for field in ("min", "max")):
        text = "either minimum or maximum storage value is required, but neither was provided"
        problems.required(f"{path}.limits", text)


# Which may not be above which, the words for both, where it is said, and with whose value.
_ORDER: Final = (
    ("min", "max", "min", "max", "min", "min"),
    ("min", "defaultRequest", "min", "default request", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "max", "default request", "max", "defaultRequest", "defaultRequest"),
    (
        "defaultRequest",
        "default",
        "default request",
        "default limit",
        "defaultRequest",
        "defaultRequest",
    ),
    ("min", "default", "min", "default", "default", "min"),
    ("default", "max", "default", "max", "default", "max"),
)


def _check_order(name: str, values: dict[str, str], path: str, problems: Problems) -> None:
    for low, high, low_word, high_word, at, shown in _ORDER:
        if low in values and high in values and number_of(values[low]) > number_of(values[high]):
            text = (
                f"{low_word} value {values[low]} is greater than {high_word} value {values[high]}"
            )
            problems.invalid(f"{path}.{at}[{name}]", values[shown], text)


def _check_ratio(name: str, values: dict[str, str], path: str, problems: Problems) -> None:
    ratio, here = values.get("maxLimitRequestRatio"), f"{path}.maxLimitRequestRatio[{name}]"
    if ratio is not None and number_of(ratio) < 1:
        problems.invalid(here, ratio, f"ratio {ratio} is less than 1")
    if ratio is not None and "min" in values and "max" in values:
        low, high = number_of(values["min"]), number_of(values["max"])
        most = _quotient(high, low)
        if float(number_of(ratio)) > most:
            problems.invalid(here, ratio, f"ratio {ratio} is greater than max/min = {most:f}")
    default, request = values.get("default"), values.get("defaultRequest")
    if may_overcommit(name) or default is None or request is None:
        return
    if number_of(default) != number_of(request):
        text = f"default value {default} must equal to defaultRequest value {request} in {name}"
        problems.invalid(f"{path}.defaultRequest[{name}]", request, text)


def _quotient(high: Fraction, low: Fraction) -> float:
    if not low:
        return float("inf") if high else float("nan")
    scale = 1000 if max(high, low) < _MOST_MILLI else 1
    return float(-(-high * scale // 1)) / float(-(-low * scale // 1))


def validate_runtime_class(obj: JsonObject, problems: Problems) -> None:
    handler = obj.get("handler") or ""
    problems.all_invalid("handler", handler, names.dns_label_problems(handler))
    overhead, scheduling = obj.get("overhead"), obj.get("scheduling")
    if overhead is not None:
        check_resources({"limits": overhead.get("podFixed")}, (), "overhead", problems)
    if scheduling is not None:
        path = "scheduling.nodeSelector"
        check_labels(scheduling.get("nodeSelector"), path, problems)
        _check_class_tolerations(scheduling.get("tolerations") or [], problems)


# Upstream shows a toleration as its own type has the fields.
_SHOWN: Final = ("Key", "Operator", "Value", "Effect", "TolerationSeconds")


def _check_class_tolerations(tolerations: list[JsonObject], problems: Problems) -> None:
    # Upstream says the name twice here.
    check_tolerations(tolerations, "scheduling.tolerations.tolerations", problems)
    seen = set()
    for index, entry in enumerate(tolerations):
        key = tuple(entry.get(field) or "" for field in ("key", "operator", "value", "effect"))
        if key in seen:
            shown = dict(zip(_SHOWN, (*key, entry.get("tolerationSeconds")), strict=True))
            problems.duplicate(f"scheduling.tolerations[{index}]", shown)
        seen.add(key)


def validate_runtime_class_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    check_immutable_text(new.get("handler"), old.get("handler"), "handler", problems)


_MAX_PRIORITY: Final = 1_000_000_000
_SYSTEM: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def validate_priority_class(obj: JsonObject, problems: Problems) -> None:
    name, value = (obj.get("metadata") or {}).get("name") or "", obj.get("value") or 0
    if name.startswith("system-"):
        error = _system_error(name, value, is_default=bool(obj.get("globalDefault")))
        if error:
            text = (
                "priority class names with 'system-' prefix are reserved for system use only. "
                f"error: {error}"
            )
            problems.forbidden("metadata.name", text)
    elif value > _MAX_PRIORITY:
        text = f"maximum allowed value of a user defined priority is {_MAX_PRIORITY}"
        problems.forbidden("value", text)
    policy = obj.get("preemptionPolicy")
    if policy == "":
        problems.required("preemptionPolicy")
    elif policy not in (None, "PreemptLowerPriority", "Never"):
        problems.unsupported("preemptionPolicy", policy, ("PreemptLowerPriority", "Never"))


def _system_error(name: str, value: int, *, is_default: bool) -> str:
    if name not in _SYSTEM:
        return f"{name} is not a known system priority class"
    if value != _SYSTEM[name]:
        return f"value of {name} PriorityClass must be {_SYSTEM[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""


def validate_priority_class_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    if new.get("value") != old.get("value"):
        problems.forbidden("value", "may not be changed in an update.")
    after, before = new.get("preemptionPolicy"), old.get("preemptionPolicy")
    check_immutable(after, before, "preemptionPolicy", problems)
