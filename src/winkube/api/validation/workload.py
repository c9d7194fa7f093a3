"""Deployments and the other kinds that make pods from a template."""

from typing import Any, Final

from winkube.api import names
from winkube.api.decode import clone
from winkube.api.errors import BadRequestError
from winkube.api.selectors import from_label_selector
from winkube.api.validation.claim import check_claim_spec
from winkube.api.validation.common import (
    check_at_most_100_percent,
    check_immutable,
    check_int_or_percent,
    check_nonnegative,
    check_one_of,
    check_positive,
    check_selector,
    is_zero,
)
from winkube.api.validation.pod import check_template
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_STATEFUL_MUTABLE: Final = (
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip


def _check_counts(spec: JsonObject, fields: tuple[str, ...], problems: Problems) -> None:
    for field in fields:
        check_nonnegative(spec.get(field), f"spec.{field}", problems)


def _check_workload_selector(spec: JsonObject, kind: str, problems: Problems) -> None:
    """The selector, and that the template's labels meet it."""
    selector = spec.get("selector")
    if selector is None:
        problems.required("spec.selector")
    else:
        check_selector(selector, "spec.selector", problems)
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            text = f"empty selector is invalid for {kind.lower()}"
            problems.invalid("spec.selector", selector, text)
    template = spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    if not _matches(selector, labels):
        problems.invalid(
            "spec.template.metadata.labels",
            labels or None,
            "`selector` does not match template `labels`",
        )
    check_template(template, "spec.template", problems)


def _matches(selector: JsonObject | None, labels: Any) -> bool:
    if not selector:
        return selector is not None  # none at all matches nothing, an empty one is not asked
    try:
        return from_label_selector(selector).matches(labels)
    except BadRequestError:
        return True


def _check_always_running(spec: JsonObject, kind: str, problems: Problems) -> None:
    pod = (spec.get("template") or {}).get("spec") or {}
    if pod.get("restartPolicy") not in ("Always", None, ""):
        path = "spec.template.spec.restartPolicy"
        problems.unsupported(path, pod["restartPolicy"], ("Always",))
    if pod.get("activeDeadlineSeconds") is not None:
        problems.forbidden(
            "spec.template.spec.activeDeadlineSeconds",
            f"activeDeadlineSeconds in {kind} is not Supported",
        )


def validate_deployment(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    _check_counts(spec, ("replicas",), problems)
    _check_workload_selector(spec, "Deployment", problems)
    _check_always_running(spec, "ReplicaSet", problems)
    _check_deployment_strategy(spec.get("strategy") or {}, problems)
    counts = ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    _check_counts(spec, counts, problems)
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
        text = "must be greater than minReadySeconds"
        problems.invalid("spec.progressDeadlineSeconds", deadline, text)


def _check_deployment_strategy(strategy: JsonObject, problems: Problems) -> None:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    path = "spec.strategy"
    if kind == "Recreate":
        if rolling is not None:
            problems.forbidden(
                f"{path}.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'"
            )
    elif kind != "RollingUpdate":
        problems.unsupported(path, strategy, ("Recreate", "RollingUpdate"))
    else:
        _check_rolling(rolling or {}, f"{path}.rollingUpdate", problems)


def _check_rolling(rolling: JsonObject, path: str, problems: Problems) -> None:
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    check_int_or_percent(unavailable, f"{path}.maxUnavailable", problems)
    check_int_or_percent(surge, f"{path}.maxSurge", problems)
    if is_zero(unavailable) and is_zero(surge):
        problems.invalid(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
    check_at_most_100_percent(unavailable, f"{path}.maxUnavailable", problems)


def validate_selector_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    """Deployment, ReplicaSet, DaemonSet: the selector is for life."""
    after, before = new.get("spec") or {}, old.get("spec") or {}
    check_immutable(after.get("selector"), before.get("selector"), "spec.selector", problems)


def validate_replica_set(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    _check_counts(spec, ("replicas", "minReadySeconds"), problems)
    _check_workload_selector(spec, "ReplicaSet", problems)
    _check_always_running(spec, "ReplicaSet", problems)


def validate_daemon_set(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    _check_workload_selector(spec, "DaemonSet", problems)
    _check_always_running(spec, "DaemonSet", problems)
    _check_counts(spec, ("minReadySeconds", "revisionHistoryLimit"), problems)
    strategy = spec.get("updateStrategy") or {}
    path = "spec.updateStrategy"
    if strategy.get("type") == "RollingUpdate":
        _check_daemon_rolling(strategy.get("rollingUpdate") or {}, path, problems)
    elif strategy.get("type") != "OnDelete":
        problems.unsupported(path, strategy, ("RollingUpdate", "OnDelete"))


def _check_daemon_rolling(rolling: JsonObject, path: str, problems: Problems) -> None:
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    for field, value in (("maxUnavailable", unavailable), ("maxSurge", surge)):
        check_int_or_percent(value, f"{path}.rollingUpdate.{field}", problems)
        check_at_most_100_percent(value, f"{path}.rollingUpdate.{field}", problems)
    if not is_zero(unavailable) and not is_zero(surge):
        text = "may not be set when maxUnavailable is non-zero"
        problems.invalid(f"{path}.rollingUpdate.maxSurge", surge, text)
    elif is_zero(unavailable) and is_zero(surge):
        text = "cannot be 0 when maxSurge is 0"
        problems.required(f"{path}.rollingUpdate.maxUnavailable", text)


def validate_stateful_set(obj: JsonObject, problems: Problems) -> None:
    spec = clone(obj.get("spec") or {})
    policy = spec.get("podManagementPolicy")
    if policy not in ("OrderedReady", "Parallel"):
        text = "must be 'OrderedReady' or 'Parallel'"
        problems.invalid("spec.podManagementPolicy", policy, text)
    _check_stateful_strategy(spec.get("updateStrategy") or {}, problems)
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for field in ("whenDeleted", "whenScaled"):
        if retention.get(field) is not None:
            path = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
            check_one_of(retention[field], ("Retain", "Delete"), path, problems)
    _check_counts(spec, ("replicas", "minReadySeconds"), problems)
    service = spec.get("serviceName")
    if service:
        problems.all_invalid("spec.serviceName", service, names.dns_label_problems(service))
    claims = spec.get("volumeClaimTemplates") or ()
    for index, claim in enumerate(claims):
        path = f"spec.volumeClaimTemplates[{index}].spec"
        check_claim_spec(claim.get("spec") or {}, path, problems)
    _add_claim_volumes(spec, [(claim.get("metadata") or {}).get("name") for claim in claims])
    _check_workload_selector(spec, "StatefulSet", problems)
    _check_always_running(spec, "StatefulSet", problems)


def _add_claim_volumes(spec: JsonObject, claims: list[str | None]) -> None:
    """Containers may mount what a claim template will provide."""
    pod = (spec.get("template") or {}).get("spec") or {}
    kept = [volume for volume in pod.get("volumes") or () if volume.get("name") not in claims]
    provided = [
        {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims if name
    ]
    if provided:
        pod["volumes"] = provided + kept


def _check_stateful_strategy(strategy: JsonObject, problems: Problems) -> None:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    path = "spec.updateStrategy"
    if kind == "OnDelete" and rolling is not None:
        problems.invalid(
            f"{path}.rollingUpdate", rolling, "only allowed for updateStrategy 'RollingUpdate'"
        )
    elif kind == "RollingUpdate":
        partition = (rolling or {}).get("partition")
        check_nonnegative(partition, f"{path}.rollingUpdate.partition", problems)
    elif kind != "OnDelete":
        problems.invalid(path, strategy, "must be 'RollingUpdate' or 'OnDelete'")


def validate_stateful_set_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    fixed = {*after, *before} - set(_STATEFUL_MUTABLE)
    if any(after.get(field) != before.get(field) for field in fixed):
        problems.forbidden(
            "spec",
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', "
            "'template', 'updateStrategy', 'revisionHistoryLimit', "
            "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        )


def validate_budget(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    low, high = spec.get("minAvailable"), spec.get("maxUnavailable")
    if low is not None and high is not None:
        problems.invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set")
    for field, value in (("minAvailable", low), ("maxUnavailable", high)):
        if value is not None:
            check_int_or_percent(value, f"spec.{field}", problems)
            check_at_most_100_percent(value, f"spec.{field}", problems)
    check_selector(spec.get("selector"), "spec.selector", problems)
