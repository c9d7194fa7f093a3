"""What each metric of an autoscaler asks for, or why nothing can be said about it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from winkube.api.go.text import selector_in_go
from winkube.api.quantity import format_quantity, to_milli
from winkube.base.types import JsonObject
from winkube.controllers.autoscaling.errors import MetricError
from winkube.controllers.autoscaling.replicas import (
    Situation,
    average_replicas,
    per_pod_replicas,
    ratio_replicas,
    utilization_replicas,
)
from winkube.controllers.autoscaling.source import MetricsSource

_NO_TARGET: Final = "neither a value target nor an average value target was set"
_MAX_INT64: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Query:
    """What all metrics of one autoscaler have in common."""

    namespace: str
    selector: str  # of the pods, in its query form
    situation: Situation
    observed: int  # replicas by the target's status; the situation has those of its spec


@dataclass(frozen=True, slots=True)
class Proposal:
    replicas: int
    metric: str  # its name in messages
    status: JsonObject


class FailedMetricError(MetricError):
    """``reason`` and ``inner`` are for the condition and the event, the text is for the sum."""

    def __init__(self, reason: str, inner: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.inner = inner


async def propose(source: MetricsSource, query: Query, spec: JsonObject) -> Proposal:
    """The proposal of one metric; raises FailedMetricError."""
    kind = _KINDS.get(spec.get("type", ""))
    if kind is None:
        text = f'unknown metric source type "{spec.get("type", "")}"'
        raise FailedMetricError("InvalidMetricSourceType", text, text)
    try:
        return await kind.compute(source, query, spec)
    except MetricError as error:
        inner = error.inner if isinstance(error, FailedMetricError) else str(error)
        raise FailedMetricError(kind.reason, inner, f"{kind.words(spec)}: {error}") from error


async def _resource(source: MetricsSource, query: Query, spec: JsonObject) -> Proposal:
    entry = spec["resource"]
    replicas, metric, current = await _usage(source, query, entry, "")
    status = {"name": entry["name"], "current": current}
    return Proposal(replicas, metric, {"type": "Resource", "resource": status})


async def _container(source: MetricsSource, query: Query, spec: JsonObject) -> Proposal:
    entry = spec["containerResource"]
    replicas, metric, current = await _usage(source, query, entry, entry["container"])
    status = {"name": entry["name"], "current": current, "container": entry["container"]}
    return Proposal(replicas, metric, {"type": "ContainerResource", "containerResource": status})


async def _usage(
    source: MetricsSource, query: Query, entry: JsonObject, container: str
) -> tuple[int, str, JsonObject]:
    name, target = entry["name"], entry["target"]
    raw = target.get("averageValue")
    percent = target.get("averageUtilization")
    if raw is None and percent is None:
        raise MetricError(
            "invalid resource metric source: neither an average utilization target nor an "
            "average value (usage) target was set"
        )
    word = "usage" if raw is not None else "utilization"
    try:
        try:
            usages = await source.resource(query.namespace, query.selector, name, container)
        except MetricError as error:
            raise MetricError(f"unable to get metrics for resource {name}: {error}") from error
        if raw is not None:
            replicas, used = average_replicas(query.situation, usages, name, to_milli(raw))
            return replicas, f"{name} resource", {"averageValue": _quantity(name, used)}
        found = utilization_replicas(query.situation, usages, name, percent, container)
    except MetricError as error:
        raise MetricError(f"failed to get {name} {word}: {error}") from error
    what = "container resource" if container else "resource"
    current = {
        "averageValue": _quantity(name, found.average),
        "averageUtilization": found.percent,
    }
    return found.replicas, f"{name} {what} utilization (percentage of request)", current


def _quantity(resource: str, milli: int) -> str:
    return format_milli(milli, "BinarySI" if resource == "memory" else "DecimalSI")


def format_milli(milli: int, family: str = "DecimalSI") -> str:
    whole, rest = divmod(milli, 1000)
    return format_quantity(whole, family) if rest == 0 else f"{milli}m"


async def _pods(source: MetricsSource, query: Query, spec: JsonObject) -> Proposal:
    metric, target = spec["pods"]["metric"], to_milli(spec["pods"]["target"]["averageValue"])
    name = metric["name"]
    try:
        usages = await source.pods(query.namespace, query.selector, name, metric.get("selector"))
    except MetricError as error:
        raise MetricError(f"unable to get metric {name}: {error}") from error
    replicas, used = average_replicas(query.situation, usages, "", target)
    status = {"metric": _identifier(metric), "current": {"averageValue": format_milli(used)}}
    return Proposal(replicas, f"pods metric {name}", {"type": "Pods", "pods": status})


def _identifier(metric: JsonObject) -> JsonObject:
    return {key: metric[key] for key in ("name", "selector") if metric.get(key) is not None}


async def _object(source: MetricsSource, query: Query, spec: JsonObject) -> Proposal:
    entry = spec["object"]
    metric, target, described = entry["metric"], entry["target"], entry["describedObject"]
    status: JsonObject = {"metric": _identifier(metric), "describedObject": described}
    if target.get("type") == "Value" and target.get("value") is not None:
        used = await _object_usage(source, query, entry)
        replicas = ratio_replicas(query.situation, used, to_milli(target["value"]))
        status["current"] = {"value": format_milli(used)}
        name = f"{described['kind']} metric {metric['name']}"
    elif target.get("type") == "AverageValue" and target.get("averageValue") is not None:
        try:
            used = await _object_usage(source, query, entry)
        except MetricError as error:
            text = f"failed to get {metric['name']} object metric: {error}"
            raise FailedMetricError("", str(error), text) from error
        replicas, per_pod = _per_pod(query, used, target)
        status["current"] = {"averageValue": format_milli(per_pod)}
        name = _external_name(metric)
    else:
        raise MetricError(f"invalid object metric source: {_NO_TARGET}")
    return Proposal(replicas, name, {"type": "Object", "object": status})


async def _object_usage(source: MetricsSource, query: Query, entry: JsonObject) -> int:
    metric, described = entry["metric"], entry["describedObject"]
    try:
        return await source.object(
            query.namespace, described, metric["name"], metric.get("selector")
        )
    except MetricError as error:
        # The order of these words is upstream's.
        raise MetricError(
            f"unable to get metric {metric['name']}: {described['kind']} on {query.namespace} "
            f"{described['name']}/{error}"
        ) from error


def _per_pod(query: Query, used: int, target: JsonObject) -> tuple[int, int]:
    wanted = to_milli(target["averageValue"])
    return per_pod_replicas(query.observed, query.situation.tolerances, used, wanted)


async def _external(source: MetricsSource, query: Query, spec: JsonObject) -> Proposal:
    metric, target = spec["external"]["metric"], spec["external"]["target"]
    status: JsonObject = {"metric": _identifier(metric)}
    name = metric["name"]
    per_pod = target.get("averageValue") is not None
    if not per_pod and target.get("value") is None:
        raise MetricError(f"invalid external metric source: {_NO_TARGET}")
    try:
        used = await _external_usage(source, query, metric)
        if per_pod:
            replicas, shown = _per_pod(query, used, target)
            status["current"] = {"averageValue": format_milli(shown)}
        else:
            replicas = ratio_replicas(query.situation, used, to_milli(target["value"]))
            status["current"] = {"value": format_milli(used)}
    except MetricError as error:
        words = f"{name} external metric" if per_pod else f"external metric {name}"
        raise FailedMetricError("", str(error), f"failed to get {words}: {error}") from error
    return Proposal(replicas, _external_name(metric), {"type": "External", "external": status})


async def _external_usage(source: MetricsSource, query: Query, metric: JsonObject) -> int:
    name, selector = metric["name"], metric.get("selector")
    try:
        return min(sum(await source.external(query.namespace, name, selector)), _MAX_INT64)
    except MetricError as error:
        raise MetricError(
            f"unable to get external metric {query.namespace}/{name}/"
            f"{selector_in_go(selector)}: {error}"
        ) from error


def _external_name(metric: JsonObject) -> str:
    return f"external metric {metric['name']}({selector_in_go(metric.get('selector'))})"


@dataclass(frozen=True, slots=True)
class _Kind:
    reason: str
    compute: Callable[[MetricsSource, Query, JsonObject], Awaitable[Proposal]]
    words: Callable[[JsonObject], str]


_KINDS: Final = {
    "Resource": _Kind(
        "FailedGetResourceMetric",
        _resource,
        lambda spec: f"failed to get {spec['resource']['name']} resource metric value",
    ),
    "ContainerResource": _Kind(
        "FailedGetContainerResourceMetric",
        _container,
        lambda spec: (
            f"failed to get {spec['containerResource']['container']} container metric value"
        ),
    ),
    "Pods": _Kind("FailedGetPodsMetric", _pods, lambda _: "failed to get pods metric value"),
    "Object": _Kind(
        "FailedGetObjectMetric", _object, lambda _: "failed to get object metric value"
    ),
    "External": _Kind(
        "FailedGetExternalMetric",
        _external,
        lambda spec: f"failed to get {spec['external']['metric']['name']} external metric value",
    ),
}


@dataclass(frozen=True, slots=True)
class Proposals:
    """All metrics together. ``replicas`` is None when too little is known to decide."""

    statuses: Sequence[JsonObject]
    failures: Sequence[FailedMetricError]
    replicas: int | None = None
    metric: str = ""
    error: str = ""


async def propose_all(
    source: MetricsSource, query: Query, specs: Sequence[JsonObject]
) -> Proposals:
    """The largest proposal counts. One that fails forbids scaling down, not scaling up."""
    statuses: list[JsonObject] = []
    failures: list[FailedMetricError] = []
    replicas, metric = 0, ""
    for spec in specs:
        try:
            proposal = await propose(source, query, spec)
        except FailedMetricError as error:
            failures.append(error)
            statuses.append({"type": ""})
            continue
        statuses.append(proposal.status)
        if replicas == 0 or proposal.replicas > replicas:
            replicas, metric = proposal.replicas, proposal.metric
    known = Proposals(statuses, failures, replicas, metric)
    if not failures:
        return known
    error_text = (
        f"invalid metrics ({len(failures)} invalid out of {len(specs)}), "
        f"first error is: {failures[0]}"
    )
    if len(failures) >= len(specs) or replicas < query.situation.replicas:
        return replace(known, replicas=None, metric="", error=error_text)
    return replace(known, error=error_text)
