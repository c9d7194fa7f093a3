"""apps, batch and autoscaling (upstream: pkg/apis/{apps,batch,autoscaling}/*/defaults.go)."""

from typing import Any, Final

from winkube.api.decode import clone
from winkube.api.defaulting.core import default_claim
from winkube.api.defaulting.pod import default_template
from winkube.api.errors import UndecodableError
from winkube.api.go.number import NumberError, parse_int
from winkube.api.meta import metadata
from winkube.base.types import JsonObject

_MAX_INT32: Final = 2**31 - 1
# A field of a former version: it travels in an annotation that every DaemonSet has.
TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"


def _fill(target: JsonObject, **values: Any) -> None:
    for key, value in values.items():
        if target.get(key) is None:
            target[key] = value


def default_deployment(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    strategy = spec.setdefault("strategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        _fill(strategy, rollingUpdate={})
        _fill(strategy["rollingUpdate"], maxUnavailable="25%", maxSurge="25%")
    _fill(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    default_template(spec.get("template"))


def default_replica_set(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    _fill(spec, replicas=1)
    default_template(spec.get("template"))


def default_daemon_set(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        _fill(strategy, rollingUpdate={})
        _fill(strategy["rollingUpdate"], maxUnavailable=1, maxSurge=0)
    elif strategy.get("rollingUpdate") is not None:
        _fill(strategy["rollingUpdate"], maxUnavailable=0, maxSurge=0)
    _fill(spec, revisionHistoryLimit=10)
    default_template(spec.get("template"))
    notes = obj.setdefault("metadata", {}).get("annotations") or {}
    _check_count(notes.get(TEMPLATE_GENERATION, "0"))
    obj["metadata"]["annotations"] = {TEMPLATE_GENERATION: "0", **notes}


def _check_count(text: str) -> None:
    """Upstream reads it into a field of its own: what is no number is no DaemonSet."""
    try:
        parse_int(text)
    except NumberError as error:
        raise UndecodableError("DaemonSet", "v1", f"strconv.ParseInt: {error}") from error


def default_stateful_set(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    if not spec.get("podManagementPolicy"):
        spec["podManagementPolicy"] = "OrderedReady"
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        _fill(strategy, rollingUpdate={})
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        _fill(strategy["rollingUpdate"], partition=0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    for field in ("whenDeleted", "whenScaled"):
        if not retention.get(field):
            retention[field] = "Retain"
    _fill(spec, replicas=1, revisionHistoryLimit=10)
    default_template(spec.get("template"))
    for claim in spec.get("volumeClaimTemplates") or ():
        claim.setdefault("apiVersion", "v1")
        claim.setdefault("kind", "PersistentVolumeClaim")
        default_claim(claim)


def default_job(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    labels = metadata(spec.get("template") or {}).get("labels")
    if labels and not metadata(obj).get("labels"):
        # The same map, not a copy: what generating a selector adds is on the job as well.
        obj.setdefault("metadata", {})["labels"] = labels
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    limit = _MAX_INT32 if spec.get("backoffLimitPerIndex") is not None else 6
    replacement = "Failed" if spec.get("podFailurePolicy") is not None else "TerminatingOrFailed"
    _fill(
        spec,
        parallelism=1,
        backoffLimit=limit,
        completionMode="NonIndexed",
        suspend=False,
        podReplacementPolicy=replacement,
        manualSelector=False,
    )
    _default_job_template(spec)


def _default_job_template(spec: JsonObject) -> None:
    default_template(spec.get("template"))
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            if not pattern.get("status"):
                pattern["status"] = "True"


def default_cron_job(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    if not spec.get("concurrencyPolicy"):
        spec["concurrencyPolicy"] = "Allow"
    _fill(spec, suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1)
    # A job's own defaults wait for the job; only its pod template is complete here.
    _default_job_template((spec.get("jobTemplate") or {}).get("spec") or {})


_SCALE_UP: Final = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_SCALE_DOWN: Final = {
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}
_CPU_METRIC: Final = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}


def default_autoscaler(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    _fill(spec, minReplicas=1)
    if obj.get("apiVersion") == "autoscaling/v1":
        return
    if not spec.get("metrics"):
        spec["metrics"] = [clone(_CPU_METRIC)]
    behavior = spec.get("behavior")
    if behavior is not None:
        for field, rules in (("scaleUp", _SCALE_UP), ("scaleDown", _SCALE_DOWN)):
            behavior[field] = {**clone(rules), **(behavior.get(field) or {})}
