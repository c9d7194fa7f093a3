"""HorizontalPodAutoscalers (k8s.io/kubernetes: pkg/apis/autoscaling/validation)."""

from collections.abc import Callable
from typing import Any, Final

from winkube.api.names import dns_label_problems, path_segment_problems
from winkube.api.quantity import QuantityError, parse_quantity
from winkube.api.validation.common import check_nonnegative
from winkube.api.validation.pod.resources import check_container_resource_name
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_MAX_WINDOW: Final = 3600
_MAX_PERIOD: Final = 1800
_SELECT: Final = ("Disabled", "Max", "Min")
_POLICIES: Final = ("Percent", "Pods")
_TARGETS: Final = ("Utilization", "Value", "AverageValue")
_POPULATE: Final = "must populate information for the given metric source"
_ONLY: Final = "must populate the given metric source only"


def validate_autoscaler(obj: JsonObject, problems: Problems, *, new: bool = False) -> None:
    spec = obj.get("spec") or {}
    low, high = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if low is not None and low < 1:
        problems.invalid("spec.minReplicas", low, "must be greater than or equal to 1")
    if high < 1:
        problems.invalid("spec.maxReplicas", high, "must be greater than 0")
    if low is not None and high < low:
        problems.invalid("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`")
    _check_reference(spec.get("scaleTargetRef") or {}, "spec.scaleTargetRef", problems)
    if new:
        _check_group(obj, problems)
    metrics = spec.get("metrics") or _older_metrics(spec)
    for index, metric in enumerate(metrics):
        _check_metric(metric, f"spec.metrics[{index}]", problems)
    if low == 0 and not {metric.get("type") for metric in metrics} & {"Object", "External"}:
        problems.forbidden(
            "spec.metrics",
            "must specify at least one Object or External metric to support scaling to zero "
            "replicas",
        )
    behavior = spec.get("behavior") or {}
    for direction in ("scaleUp", "scaleDown"):
        if behavior.get(direction) is not None:
            _check_rules(behavior[direction], f"spec.behavior.{direction}", problems)


def validate_new_autoscaler(obj: JsonObject, problems: Problems) -> None:
    validate_autoscaler(obj, problems, new=True)


def _check_group(obj: JsonObject, problems: Problems) -> None:
    """Only replication controllers are scaled in a group without a name."""
    reference = (obj.get("spec") or {}).get("scaleTargetRef") or {}
    version = reference.get("apiVersion") or ""
    path = "spec.scaleTargetRef.apiVersion"
    if version.count("/") > 1:
        problems.invalid(path, version, f"unexpected GroupVersion string: {version}")
    elif "/" not in version and reference.get("kind") != "ReplicationController":
        problems.invalid(path, version, "apiVersion must specify API group")


def validate_autoscaler_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    fresh, known = ((each.get("spec") or {}).get("scaleTargetRef") or {} for each in (new, old))
    if any(fresh.get(name) != known.get(name) for name in ("apiVersion", "kind")):
        _check_group(new, problems)


def validate_autoscaler_status(obj: JsonObject, old: JsonObject, problems: Problems) -> None:
    status = obj.get("status") or {}
    for name in ("currentReplicas", "desiredReplicas"):
        check_nonnegative(status.get(name), f"status.{name}", problems)


def _older_metrics(spec: JsonObject) -> list[JsonObject]:
    """Of autoscaling/v1: upstream judges the newer form, and names its fields."""
    percent = spec.get("targetCPUUtilizationPercentage")
    if percent is None:
        return []
    target = {"type": "Utilization", "averageUtilization": percent}
    return [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]


def _check_reference(reference: JsonObject, path: str, problems: Problems) -> None:
    for name in ("kind", "name"):
        value = reference.get(name) or ""
        if not value:
            problems.required(f"{path}.{name}")
        else:
            problems.all_invalid(f"{path}.{name}", value, path_segment_problems(value))


def _check_metric(metric: JsonObject, path: str, problems: Problems) -> None:
    kind = metric.get("type") or ""
    if not kind:
        problems.required(f"{path}.type", "must specify a metric source type")
    if kind not in _SOURCES:
        problems.unsupported(f"{path}.type", kind, sorted(_SOURCES))
    present = [field for field, _ in _SOURCES.values() if metric.get(field) is not None]
    for field, check in _SOURCES.values():
        if present[:1] == [field]:
            check(metric[field], f"{path}.{field}", problems)
    expected = _SOURCES[kind][0] if kind in _SOURCES else ""
    if expected and metric.get(expected) is None:
        problems.required(f"{path}.{expected}", _POPULATE)
    if kind not in _SOURCES:
        problems.unsupported(f"{path}.type", kind, sorted(_SOURCES))
    if len(present) != 1:
        for field in present:
            if field != expected:
                problems.forbidden(f"{path}.{field}", _ONLY)


def _check_object(source: JsonObject, path: str, problems: Problems) -> None:
    target = source.get("target") or {}
    described = source.get("describedObject") or {}
    _check_reference(described, f"{path}.describedObject", problems)
    version = described.get("apiVersion") or ""
    if version.count("/") > 1:
        words = f"unexpected GroupVersion string: {version}"
        problems.invalid(f"{path}.describedObject.apiVersion", version, words)
    _check_identifier(source, path, problems)
    _check_target(target, f"{path}.target", problems)
    if target.get("value") is None and target.get("averageValue") is None:
        problems.required(
            f"{path}.target.averageValue", "must set either a target value or averageValue"
        )


def _check_external(source: JsonObject, path: str, problems: Problems) -> None:
    target = source.get("target") or {}
    _check_identifier(source, path, problems)
    _check_target(target, f"{path}.target", problems)
    words = ("a target value for metric", "a per-pod target")
    _check_either(target, ("averageValue", "value"), words, f"{path}.target", problems)


def _check_pods(source: JsonObject, path: str, problems: Problems) -> None:
    target = source.get("target") or {}
    _check_identifier(source, path, problems)
    _check_target(target, f"{path}.target", problems)
    if target.get("averageValue") is None:
        problems.required(
            f"{path}.target.averageValue", "must specify a positive target averageValue"
        )


def _check_container(source: JsonObject, path: str, problems: Problems) -> None:
    if not source.get("name"):
        problems.required(f"{path}.name", "must specify a resource name")
    else:
        check_container_resource_name(source["name"], f"{path}.name", problems, as_text=True)
    container = source.get("container") or ""
    if not container:
        problems.required(f"{path}.container", "must specify a container")
    else:
        problems.all_invalid(f"{path}.container", container, dns_label_problems(container))
    _check_usage(source, path, problems)


def _check_resource(source: JsonObject, path: str, problems: Problems) -> None:
    if not source.get("name"):
        problems.required(f"{path}.name", "must specify a resource name")
    _check_usage(source, path, problems)


def _check_usage(source: JsonObject, path: str, problems: Problems) -> None:
    target = source.get("target") or {}
    _check_target(target, f"{path}.target", problems)
    words = ("a target raw value", "a target utilization")
    _check_either(target, ("averageUtilization", "averageValue"), words, f"{path}.target", problems)


def _check_either(
    target: JsonObject,
    fields: tuple[str, str],
    words: tuple[str, str],
    path: str,
    problems: Problems,
) -> None:
    """The first field is missed when neither is set, the second is too much when both are."""
    missed, surplus = fields
    given = [field for field in fields if target.get(field) is not None]
    if not given:
        problems.required(f"{path}.{missed}", f"must set either {words[0]} or {words[1]}")
    if len(given) == len(fields):
        problems.forbidden(f"{path}.{surplus}", f"may not set both {words[0]} and {words[1]}")


def _check_identifier(source: JsonObject, path: str, problems: Problems) -> None:
    name = (source.get("metric") or {}).get("name") or ""
    if not name:
        problems.required(f"{path}.metric.name", "must specify a metric name")
    else:
        problems.all_invalid(f"{path}.metric.name", name, path_segment_problems(name))


def _check_target(target: JsonObject, path: str, problems: Problems) -> None:
    kind = target.get("type") or ""
    if not kind:
        problems.required(f"{path}.type", "must specify a metric target type")
    if kind not in _TARGETS:
        problems.invalid_enum(
            f"{path}.type", kind, "must be either Utilization, Value, or AverageValue"
        )
    for name in ("value", "averageValue"):
        if target.get(name) is not None and not _is_positive(target[name]):
            problems.invalid(f"{path}.{name}", target[name], "must be positive")
    percent = target.get("averageUtilization")
    if percent is not None and percent < 1:
        problems.invalid(f"{path}.averageUtilization", percent, "must be greater than 0")


def _is_positive(value: Any) -> bool:
    try:
        return parse_quantity(value) > 0
    except QuantityError:
        return True  # it is refused elsewhere


def _check_rules(rules: JsonObject, path: str, problems: Problems) -> None:
    window = rules.get("stabilizationWindowSeconds")
    if window is not None and window < 0:
        problems.invalid(
            f"{path}.stabilizationWindowSeconds", window, "must be greater than or equal to zero"
        )
    if window is not None and window > _MAX_WINDOW:
        problems.invalid(
            f"{path}.stabilizationWindowSeconds",
            window,
            f"must be less than or equal to {_MAX_WINDOW}",
        )
    choice = rules.get("selectPolicy")
    if choice is not None and choice not in _SELECT:
        problems.unsupported(f"{path}.selectPolicy", choice, _SELECT)
    policies = rules.get("policies") or []
    if not policies:
        problems.required(f"{path}.policies", "must specify at least one Policy")
    for index, policy in enumerate(policies):
        _check_policy(policy, f"{path}.policies[{index}]", problems)
    tolerance = rules.get("tolerance")
    if tolerance is not None and parse_quantity(tolerance) < 0:
        problems.invalid(f"{path}.tolerance", tolerance, "must be greater than or equal to 0")


def _check_policy(policy: JsonObject, path: str, problems: Problems) -> None:
    if policy.get("type") not in _POLICIES:
        problems.unsupported(f"{path}.type", policy.get("type") or "", _POLICIES)
    value, period = policy.get("value") or 0, policy.get("periodSeconds") or 0
    if value <= 0:
        problems.invalid(f"{path}.value", value, "must be greater than zero")
    if period <= 0:
        problems.invalid(f"{path}.periodSeconds", period, "must be greater than zero")
    if period > _MAX_PERIOD:
        problems.invalid(
            f"{path}.periodSeconds", period, f"must be less than or equal to {_MAX_PERIOD}"
        )


# By type, in the order upstream looks at them.
_SOURCES: Final[dict[str, tuple[str, Callable[[JsonObject, str, Problems], None]]]] = {
    "Object": ("object", _check_object),
    "External": ("external", _check_external),
    "Pods": ("pods", _check_pods),
    "Resource": ("resource", _check_resource),
    "ContainerResource": ("containerResource", _check_container),
}
