"""autoscaling/v1 and v2 of the same HorizontalPodAutoscaler.

The older form knows one CPU target only. Everything else travels in annotations, whose texts are
upstream's (pkg/apis/autoscaling/v1/conversion.go): metrics in yet another, older shape, the
behaviour with the capital field names of an internal type.
"""

from typing import Any, Final

import orjson

from winkube.base.types import JsonObject

_PREFIX: Final = "autoscaling.alpha.kubernetes.io/"
_METRICS: Final = _PREFIX + "metrics"
_STATUSES: Final = _PREFIX + "current-metrics"
_CONDITIONS: Final = _PREFIX + "conditions"
_BEHAVIOR: Final = _PREFIX + "behavior"
_NOTES: Final = (
    _METRICS,
    _STATUSES,
    _CONDITIONS,
    _BEHAVIOR,
    _PREFIX + "scale-down-tolerance",
    _PREFIX + "scale-up-tolerance",
)
_CONDITION_FIELDS: Final = ("type", "status", "lastTransitionTime", "reason", "message")
_DEFAULT_PERCENT: Final = 80

# (field of the older shape, place in v2, what it is when v2 has none; None leaves it out)
Row = tuple[str, tuple[str, ...], str | None]
_NAME: Final[Row] = ("metricName", ("metric", "name"), "")
_SELECTOR: Final[Row] = ("selector", ("metric", "selector"), None)


def _resource(prefix: str, part: str, average: str | None) -> tuple[Row, ...]:
    return (
        ("name", ("name",), ""),
        (f"{prefix}AverageUtilization", (part, "averageUtilization"), None),
        (f"{prefix}AverageValue", (part, "averageValue"), average),
    )


def _shapes(prefix: str, part: str, average: str | None) -> dict[str, tuple[str, tuple[Row, ...]]]:
    """Of targets (in ``target``) or of figures (in ``current``); figures always have a value."""
    resource = _resource(prefix, part, average)
    external_value = "0" if part == "current" else None
    return {
        "Object": (
            "object",
            (
                ("target", ("describedObject",), None),
                _NAME,
                (f"{prefix}Value", (part, "value"), "0"),
                _SELECTOR,
                ("averageValue", (part, "averageValue"), None),
            ),
        ),
        "Pods": (
            "pods",
            (_NAME, (f"{prefix}AverageValue", (part, "averageValue"), "0"), _SELECTOR),
        ),
        "Resource": ("resource", resource),
        "ContainerResource": ("containerResource", (*resource, ("container", ("container",), ""))),
        "External": (
            "external",
            (
                _NAME,
                ("metricSelector", ("metric", "selector"), None),
                (f"{prefix}Value", (part, "value"), external_value),
                (f"{prefix}AverageValue", (part, "averageValue"), None),
            ),
        ),
    }


_TARGETS: Final = _shapes("target", "target", None)
_FIGURES: Final = _shapes("current", "current", "0")


def to_v1(obj: JsonObject) -> None:
    """From v2, in place."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    metrics = spec.pop("metrics", None) or []
    percents = [metric["resource"]["target"]["averageUtilization"] for metric in metrics
                if _is_cpu_percent(metric)]  # fmt: skip
    if percents:
        spec["targetCPUUtilizationPercentage"] = percents[0]
    others = [_older(_TARGETS, metric) for metric in metrics if not _is_cpu_percent(metric)]
    figures = status.pop("currentMetrics", None) or []
    for figure in figures:
        resource = figure.get("resource") or {}
        percent = (resource.get("current") or {}).get("averageUtilization")
        if resource.get("name") == "cpu" and percent is not None:
            status["currentCPUUtilizationPercentage"] = percent
    if "status" in obj:
        status.setdefault("currentReplicas", 0)
    behavior = spec.pop("behavior", None)
    notes = {
        _METRICS: others,
        _STATUSES: [_older(_FIGURES, figure) for figure in figures],
        _BEHAVIOR: _capital(behavior) if behavior is not None else None,
        _CONDITIONS: [_ordered(each) for each in status.pop("conditions", None) or ()],
    }
    texts = {name: orjson.dumps(value).decode() for name, value in notes.items() if value}
    _annotate(obj, texts)


def to_v2(obj: JsonObject) -> None:
    """From v1, in place."""
    notes = dict((obj.get("metadata") or {}).get("annotations") or {})
    spec = obj.setdefault("spec", {})
    metrics = [_newer(_TARGETS, metric) for metric in _listed(notes.get(_METRICS))]
    percent = spec.pop("targetCPUUtilizationPercentage", None)
    if percent is not None or not metrics:
        metrics.append(_cpu_metric(_DEFAULT_PERCENT if percent is None else percent))
    spec["metrics"] = metrics
    behavior = _loaded(notes.get(_BEHAVIOR))
    if isinstance(behavior, dict) and behavior:
        spec["behavior"] = _small(behavior)
    status = obj.get("status")
    if status is not None:
        _status_to_v2(status, notes)
    _annotate(obj, {})


def _status_to_v2(status: JsonObject, notes: dict[str, str]) -> None:
    percent = status.pop("currentCPUUtilizationPercentage", None)
    if percent is not None:
        resource = {"name": "cpu", "current": {"averageUtilization": percent}}
        status["currentMetrics"] = [{"type": "Resource", "resource": resource}]
    if _STATUSES in notes:
        status["currentMetrics"] = [
            _newer(_FIGURES, figure) for figure in _listed(notes[_STATUSES])
        ]
    if _CONDITIONS in notes:
        status["conditions"] = _listed(notes[_CONDITIONS])
    # One form always writes a count, the other a list.
    status.setdefault("currentMetrics", None)
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)


def _is_cpu_percent(metric: JsonObject) -> bool:
    resource = metric.get("resource") or {}
    return (
        metric.get("type") == "Resource"
        and resource.get("name") == "cpu"
        and (resource.get("target") or {}).get("averageUtilization") is not None
    )


def _cpu_metric(percent: int) -> JsonObject:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _ordered(condition: JsonObject) -> JsonObject:
    return {name: condition[name] for name in _CONDITION_FIELDS if name in condition}


def _annotate(obj: JsonObject, texts: dict[str, str]) -> None:
    metadata = obj.setdefault("metadata", {})
    kept = {k: v for k, v in (metadata.get("annotations") or {}).items() if k not in _NOTES}
    if kept or texts:
        metadata["annotations"] = {**kept, **texts}
    else:
        metadata.pop("annotations", None)


def _older(shapes: dict[str, tuple[str, tuple[Row, ...]]], metric: JsonObject) -> JsonObject:
    kind = metric.get("type", "")
    if kind not in shapes:
        return {"type": kind}
    field, rows = shapes[kind]
    source = metric.get(field) or {}
    shaped: JsonObject = {}
    for name, place, default in rows:
        value: Any = source
        for step in place:
            value = (value or {}).get(step)
        if value is None:
            value = default
        if value is not None:
            shaped[name] = value
    return {"type": kind, field: shaped}


def _newer(shapes: dict[str, tuple[str, tuple[Row, ...]]], metric: JsonObject) -> JsonObject:
    kind = metric.get("type", "")
    if kind not in shapes:
        return {"type": kind}
    field, rows = shapes[kind]
    source = metric.get(field) or {}
    made: JsonObject = {}
    for name, place, _ in rows:
        if source.get(name) is None:
            continue
        inner = made
        for step in place[:-1]:
            inner = inner.setdefault(step, {})
        inner[place[-1]] = source[name]
    if shapes is _TARGETS:
        target = made.setdefault("target", {})
        made["target"] = {"type": _target_type(kind, target), **target}
    return {"type": kind, field: made}


def _target_type(kind: str, target: JsonObject) -> str:
    if kind in ("Resource", "ContainerResource"):
        return "Utilization" if "averageUtilization" in target else "AverageValue"
    if kind == "Object":
        return "AverageValue" if "averageValue" in target else "Value"
    return "Value" if kind == "External" and "value" in target else "AverageValue"


def _capital(behavior: JsonObject) -> JsonObject:
    def rules(given: JsonObject | None) -> JsonObject | None:
        if given is None:
            return None
        policies = given.get("policies")
        return {
            "StabilizationWindowSeconds": given.get("stabilizationWindowSeconds"),
            "SelectPolicy": given.get("selectPolicy"),
            "Policies": None if policies is None else [_capital_policy(each) for each in policies],
            "Tolerance": given.get("tolerance"),
        }

    return {
        "ScaleUp": rules(behavior.get("scaleUp")),
        "ScaleDown": rules(behavior.get("scaleDown")),
    }


def _capital_policy(policy: JsonObject) -> JsonObject:
    names = ("type", "value", "periodSeconds")
    return {name[0].upper() + name[1:]: policy.get(name) for name in names}


def _small(value: Any) -> Any:
    """With field names as v2 has them; what is null was not set."""
    if isinstance(value, list):
        return [_small(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name[:1].lower() + name[1:]: _small(each)
        for name, each in value.items()
        if each is not None
    }


def _loaded(text: str | None) -> Any:
    try:
        return None if text is None else orjson.loads(text)
    except orjson.JSONDecodeError:
        return None  # somebody else's words: not ours to read


def _listed(text: str | None) -> list[JsonObject]:
    found = _loaded(text)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
