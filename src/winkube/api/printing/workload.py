"""Rows of apps, batch, autoscaling and policy."""

from typing import Any

from winkube.api.meta import controller_of, is_condition_true, is_deleting
from winkube.api.printing.age import age_of, human_duration
from winkube.api.printing.printer import (
    NONE,
    Printer,
    age,
    containers_text,
    labels_text,
    named,
    selector_text,
    spec_of,
    status_of,
)
from winkube.api.selector.labels import selector_query
from winkube.base.clock import parse_rfc3339
from winkube.base.types import JsonObject

_JOB_STATES = (
    ("Complete", "Complete"),
    ("Failed", "Failed"),
    ("", "Terminating"),
    ("Suspended", "Suspended"),
    ("FailureTarget", "FailureTarget"),
    ("SuccessCriteriaMet", "SuccessCriteriaMet"),
)
_SOURCES = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _deployment(obj: JsonObject, now: float) -> list[Any]:
    spec, status = spec_of(obj), status_of(obj)
    return [
        named(obj),
        f"{status.get('readyReplicas') or 0}/{spec.get('replicas') or 0}",
        status.get("updatedReplicas") or 0,
        status.get("availableReplicas") or 0,
        age(obj, now),
        *containers_text(spec.get("template")),
        selector_query(spec.get("selector")),
    ]


def _replica_set(obj: JsonObject, now: float) -> list[Any]:
    spec, status = spec_of(obj), status_of(obj)
    selector = spec.get("selector")
    plain = obj.get("kind") == "ReplicationController"
    return [
        named(obj),
        spec.get("replicas") or 0,
        status.get("replicas") or 0,
        status.get("readyReplicas") or 0,
        age(obj, now),
        *containers_text(spec.get("template")),
        labels_text(selector) if plain else selector_text(selector),
    ]


def _daemon_set(obj: JsonObject, now: float) -> list[Any]:
    spec, status = spec_of(obj), status_of(obj)
    template = spec.get("template") or {}
    return [
        named(obj),
        status.get("desiredNumberScheduled") or 0,
        status.get("currentNumberScheduled") or 0,
        status.get("numberReady") or 0,
        status.get("updatedNumberScheduled") or 0,
        status.get("numberAvailable") or 0,
        labels_text(spec_of(template).get("nodeSelector")),
        age(obj, now),
        *containers_text(template),
        selector_text(spec.get("selector")),
    ]


def _stateful_set(obj: JsonObject, now: float) -> list[Any]:
    spec, status = spec_of(obj), status_of(obj)
    ready = f"{status.get('readyReplicas') or 0}/{spec.get('replicas') or 0}"
    return [named(obj), ready, age(obj, now), *containers_text(spec.get("template"))]


def _job(obj: JsonObject, now: float) -> list[Any]:
    spec, status = spec_of(obj), status_of(obj)
    return [
        named(obj),
        _job_state(obj),
        _completions(spec, status),
        _job_duration(status, now),
        age(obj, now),
        *containers_text(spec.get("template")),
        selector_text(spec.get("selector")),
    ]


def _job_state(obj: JsonObject) -> str:
    for condition, text in _JOB_STATES:
        if is_condition_true(obj, condition) if condition else is_deleting(obj):
            return text
    return "Running"


def _completions(spec: JsonObject, status: JsonObject) -> str:
    done, parallel = status.get("succeeded") or 0, spec.get("parallelism") or 0
    if spec.get("completions") is not None:
        return f"{done}/{spec['completions']}"
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def _job_duration(status: JsonObject, now: float) -> str:
    start, end = status.get("startTime"), status.get("completionTime")
    if not start:
        return ""
    until = parse_rfc3339(end) if end else now
    return human_duration(until - parse_rfc3339(start))


def _cron_job(obj: JsonObject, now: float) -> list[Any]:
    spec, status = spec_of(obj), status_of(obj)
    last = status.get("lastScheduleTime")
    job = spec_of(spec.get("jobTemplate") or {})
    suspend = spec.get("suspend")
    return [
        named(obj),
        spec.get("schedule") or "",
        spec.get("timeZone") or NONE,
        "<unset>" if suspend is None else str(suspend).title(),
        len(status.get("active") or ()),
        age_of(last, now) if last else NONE,
        age(obj, now),
        *containers_text(job.get("template")),
        selector_text(job.get("selector")),
    ]


def _autoscaler(obj: JsonObject, now: float) -> list[Any]:
    spec, status = spec_of(obj), status_of(obj)
    target = spec.get("scaleTargetRef") or {}
    return [
        named(obj),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _metrics(spec, status),
        str(spec.get("minReplicas", "<unset>")),
        spec.get("maxReplicas") or 0,
        status.get("currentReplicas") or 0,
        age(obj, now),
    ]


def _metrics(spec: JsonObject, status: JsonObject) -> str:
    metrics, current = spec.get("metrics") or [], status.get("currentMetrics") or []
    texts = [
        _metric(metric, current[index] if index < len(current) else {})
        for index, metric in enumerate(metrics)
    ]
    shown = ", ".join(texts[:2])
    return f"{shown} + {len(texts) - 2} more..." if len(texts) > 2 else shown or NONE


def _metric(metric: JsonObject, current: JsonObject) -> str:
    field = _SOURCES.get(metric.get("type") or "")
    if field is None:
        return "<unknown type>"
    source = metric.get(field) or {}
    target, have = source.get("target") or {}, (current.get(field) or {}).get("current") or {}
    name = f"{source.get('name')}: " if field in ("resource", "containerResource") else ""
    if name and target.get("averageValue") is None:
        used, wanted = have.get("averageUtilization"), target.get("averageUtilization")
        left = "<unknown>" if used is None else f"{used}%"
        return f"{name}{left}/{'<auto>' if wanted is None else f'{wanted}%'}"
    average = name or field == "pods" or target.get("averageValue") is not None
    key = "averageValue" if average else "value"
    suffix = " (avg)" if average and field in ("external", "object") else ""
    return f"{name}{have.get(key) or '<unknown>'}/{target.get(key)}{suffix}"


def _revision(obj: JsonObject, now: float) -> list[Any]:
    owner = controller_of(obj)
    name = NONE
    if owner is not None:
        group = str(owner.get("apiVersion", "")).rpartition("/")[0]
        kind = str(owner.get("kind", "")).lower() + (f".{group}" if group else "")
        name = f"{kind}/{owner.get('name')}"
    return [named(obj), name, obj.get("revision") or 0, age(obj, now)]


def _budget(obj: JsonObject, now: float) -> list[Any]:
    spec = spec_of(obj)
    bounds = [spec.get("minAvailable"), spec.get("maxUnavailable")]
    texts = ["N/A" if bound is None else str(bound) for bound in bounds]
    return [named(obj), *texts, status_of(obj).get("disruptionsAllowed") or 0, age(obj, now)]


def _scale(obj: JsonObject, now: float) -> list[Any]:
    return [
        named(obj),
        spec_of(obj).get("replicas") or 0,
        status_of(obj).get("replicas") or 0,
        age(obj, now),
    ]


_PODS = ("+Containers", "+Images")
DEPLOYMENT = Printer(
    ("Name", "Ready", "Up-to-date", "Available", "Age", *_PODS, "+Selector"), _deployment
)
REPLICA_SET = Printer(
    ("Name", "Desired#", "Current#", "Ready#", "Age", *_PODS, "+Selector"), _replica_set
)
DAEMON_SET = Printer(
    (
        "Name", "Desired#", "Current#", "Ready#", "Up-to-date#", "Available#", "Node Selector",
        "Age", *_PODS, "+Selector",
    ),
    _daemon_set,
)  # fmt: skip
STATEFUL_SET = Printer(("Name", "Ready", "Age", *_PODS), _stateful_set)
JOB = Printer(("Name", "Status", "Completions", "Duration", "Age", *_PODS, "+Selector"), _job)
CRON_JOB = Printer(
    (
        "Name", "Schedule", "Timezone", "Suspend?", "Active#", "Last Schedule", "Age", *_PODS,
        "+Selector",
    ),
    _cron_job,
)  # fmt: skip
AUTOSCALER = Printer(
    ("Name", "Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age"), _autoscaler
)
SCALE = Printer(("Name", "Desired#", "Available#", "Age"), _scale)
REVISION = Printer(("Name", "Controller", "Revision", "Age"), _revision)
BUDGET = Printer(
    ("Name", "Min Available", "Max Unavailable", "Allowed Disruptions#", "Age"), _budget
)
