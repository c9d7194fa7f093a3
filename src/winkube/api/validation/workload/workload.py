"""Deployments and the other kinds that make pods from a template."""

from typing import Final

from winkube.api import names
from winkube.api.decode import clone
from winkube.api.selector.labels import from_label_selector
from winkube.api.validation.common import (
    check_at_most_100_percent,
    check_given,
    check_immutable,
    check_int_or_percent,
    check_labels,
    check_nonnegative,
    check_selector,
    is_zero,
)
from winkube.api.validation.metadata import check_annotations
from winkube.api.validation.pod.pod import check_template
from winkube.api.validation.problems import Problems
from winkube.api.validation.storage.claim import check_claim_spec
from winkube.base.types import JsonObject

_STATEFUL_MUTABLE: Final = (
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip


def _check_counts(spec: JsonObject, fields: tuple[str, ...], problems: Problems) -> None:
    for field in fields:
        check_nonnegative(spec.get(field), f"spec.{field}", problems)


def _check_selector(
    spec: JsonObject, kind: str, problems: Problems, unreadable: str = "invalid label selector"
) -> bool:
    """The selector, and that the template's labels meet it; whether it can be read."""
    selector = spec.get("selector")
    if selector is None:
        problems.required("spec.selector")
    before = len(problems.causes)
    check_selector(selector, "spec.selector", problems)
    readable = len(problems.causes) == before
    if selector is not None and not _says_something(selector):
        problems.invalid("spec.selector", selector, f"empty selector is invalid for {kind}")
    if not readable:
        problems.invalid("spec.selector", _in_order(selector or {}), unreadable)
    elif selector is None or _says_something(selector):
        _check_matches(selector, spec, problems)
    return readable


def _in_order(selector: JsonObject) -> JsonObject:
    made: JsonObject = {}
    if "matchLabels" in selector:
        made["matchLabels"] = dict(sorted(selector["matchLabels"].items()))
    if "matchExpressions" in selector:
        fields = ("key", "operator", "values")
        made["matchExpressions"] = [
            {field: entry[field] for field in fields if field in entry}
            for entry in selector["matchExpressions"]
        ]
    return made


def _says_something(selector: JsonObject) -> bool:
    return bool(selector.get("matchLabels") or selector.get("matchExpressions"))


def _check_matches(selector: JsonObject | None, spec: JsonObject, problems: Problems) -> None:
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if selector is None or not from_label_selector(selector).matches(labels or {}):
        problems.invalid(
            "spec.template.metadata.labels",
            None if labels is None else dict(sorted(labels.items())),
            "`selector` does not match template `labels`",
        )


def _check_always_running(spec: JsonObject, kind: str, problems: Problems) -> None:
    pod = (spec.get("template") or {}).get("spec") or {}
    policy = pod.get("restartPolicy")
    if policy != "Always":
        problems.unsupported("spec.template.spec.restartPolicy", policy or "", ("Always",))
    if pod.get("activeDeadlineSeconds") is not None:
        problems.forbidden(
            "spec.template.spec.activeDeadlineSeconds",
            f"activeDeadlineSeconds in {kind} is not Supported",
        )


def _check_replicated(spec: JsonObject, problems: Problems) -> None:
    if _check_selector(spec, "deployment", problems):
        check_template(spec.get("template") or {}, "spec.template", problems)
        _check_always_running(spec, "ReplicaSet", problems)


def validate_deployment(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    _check_counts(spec, ("replicas",), problems)
    _check_replicated(spec, problems)
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
        problems.unsupported(path, _shown(strategy), ("Recreate", "RollingUpdate"))
    else:
        _check_rolling(rolling or {}, f"{path}.rollingUpdate", problems)


def _shown(strategy: JsonObject) -> JsonObject:
    """As upstream's own type prints itself."""
    rolling = strategy.get("rollingUpdate")
    shown = {"MaxUnavailable": 0, "MaxSurge": 0}
    if rolling is not None:
        shown |= {f"{key[0].upper()}{key[1:]}": value for key, value in rolling.items()}
    return {"Type": strategy.get("type"), "RollingUpdate": None if rolling is None else shown}


def _check_rolling(rolling: JsonObject, path: str, problems: Problems) -> None:
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    check_int_or_percent(unavailable, f"{path}.maxUnavailable", problems)
    check_int_or_percent(surge, f"{path}.maxSurge", problems)
    if is_zero(unavailable) and is_zero(surge):
        problems.invalid(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
    check_at_most_100_percent(unavailable, f"{path}.maxUnavailable", problems)


def validate_selector_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    """Deployment, ReplicaSet: the selector is for life."""
    after, before = new.get("spec") or {}, old.get("spec") or {}
    check_immutable(after.get("selector"), before.get("selector"), "spec.selector", problems)


def validate_daemon_set_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    validate_selector_update(new, old, problems)
    validate_daemon_set(new, problems)


def validate_replica_set(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    _check_counts(spec, ("replicas", "minReadySeconds"), problems)
    _check_replicated(spec, problems)


def validate_daemon_set(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    selector = spec.get("selector")
    before = len(problems.causes)
    check_selector(selector, "spec.selector", problems)
    if len(problems.causes) == before:
        _check_matches(selector, spec, problems)
    if selector is not None and not _says_something(selector):
        problems.invalid("spec.selector", selector, "empty selector is invalid for daemonset")
    check_template(spec.get("template") or {}, "spec.template", problems)
    _check_always_running(spec, "DaemonSet", problems)
    _check_counts(spec, ("minReadySeconds",), problems)
    strategy, path = spec.get("updateStrategy") or {}, "spec.updateStrategy"
    if strategy.get("type") == "RollingUpdate":
        _check_daemon_rolling(strategy.get("rollingUpdate") or {}, path, problems)
    elif strategy.get("type") != "OnDelete":
        problems.unsupported(path, _shown(strategy), ("RollingUpdate", "OnDelete"))
    _check_counts(spec, ("revisionHistoryLimit",), problems)


def _check_daemon_rolling(rolling: JsonObject, path: str, problems: Problems) -> None:
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    for check in (check_int_or_percent, check_at_most_100_percent):
        check(unavailable, f"{path}.rollingUpdate.maxUnavailable", problems)
        check(surge, f"{path}.rollingUpdate.maxSurge", problems)
    if not is_zero(unavailable) and not is_zero(surge):
        text = "may not be set when maxUnavailable is non-zero"
        problems.invalid(f"{path}.rollingUpdate.maxSurge", surge, text)
    elif is_zero(unavailable) and is_zero(surge):
        text = "cannot be 0 when maxSurge is 0"
        problems.required(f"{path}.rollingUpdate.maxUnavailable", text)


def validate_stateful_set(obj: JsonObject, problems: Problems, *, new: bool = True) -> None:
    spec = clone(obj.get("spec") or {})
    policy = spec.get("podManagementPolicy")
    if policy not in ("OrderedReady", "Parallel"):
        text = "must be 'OrderedReady' or 'Parallel'"
        problems.invalid_enum("spec.podManagementPolicy", policy, text)
    _check_stateful_strategy(spec.get("updateStrategy") or {}, problems)
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for field in ("whenDeleted", "whenScaled"):
        if retention.get(field) is not None:
            path = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
            check_given(retention[field], ("Retain", "Delete"), path, problems)
    claims = spec.get("volumeClaimTemplates") or ()
    for index, claim in enumerate(claims if new else ()):
        path = f"spec.volumeClaimTemplates[{index}].spec"
        check_claim_spec(claim.get("spec") or {}, path, problems)
    _check_counts(spec, ("replicas", "minReadySeconds"), problems)
    start = (spec.get("ordinals") or {}).get("start")
    check_nonnegative(start, "spec.ordinals.start", problems)
    service = spec.get("serviceName")
    if service and new:
        problems.all_invalid("spec.serviceName", service, names.dns_label_problems(service))
    _add_claim_volumes(spec, [(claim.get("metadata") or {}).get("name") for claim in claims])
    if _check_selector(spec, "statefulset", problems, unreadable=""):
        _check_stateful_template(spec.get("template") or {}, problems)
    _check_always_running(spec, "StatefulSet", problems)


def _check_stateful_template(template: JsonObject, problems: Problems) -> None:
    """Its notes are looked at twice, as upstream does."""
    pod = {
        key: value
        for key, value in (template.get("spec") or {}).items()
        if key not in ("hostname", "subdomain")
    }
    check_template({**template, "spec": pod}, "spec.template", problems)
    notes = template.get("metadata") or {}
    check_labels(notes.get("labels"), "spec.template.labels", problems)
    check_annotations(notes.get("annotations"), "spec.template.annotations", problems)


def _add_claim_volumes(spec: JsonObject, claims: list[str | None]) -> None:
    """Containers may mount what a claim template will provide."""
    pod = (spec.get("template") or {}).get("spec") or {}
    kept = [volume for volume in pod.get("volumes") or () if volume.get("name") not in claims]
    provided = [
        {"name": name, "persistentVolumeClaim": {"claimName": name}}
        for name in dict.fromkeys(name or "" for name in claims)
    ]
    if provided:
        pod["volumes"] = provided + kept


def _check_stateful_strategy(strategy: JsonObject, problems: Problems) -> None:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    path = "spec.updateStrategy"
    if kind == "OnDelete" and rolling is not None:
        shown = {"Partition": rolling.get("partition") or 0, "MaxUnavailable": None}
        problems.invalid(
            f"{path}.rollingUpdate", shown, "only allowed for updateStrategy 'RollingUpdate'"
        )
    elif kind == "RollingUpdate":
        partition = (rolling or {}).get("partition")
        check_nonnegative(partition, f"{path}.rollingUpdate.partition", problems)
    elif kind != "OnDelete":
        shown = {"Type": kind, "RollingUpdate": rolling}
        problems.invalid(path, shown, "must be 'RollingUpdate' or 'OnDelete'")


def validate_stateful_set_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    validate_stateful_set(new, problems, new=False)
    after, before = new.get("spec") or {}, old.get("spec") or {}
    fixed = {*after, *before} - set(_STATEFUL_MUTABLE)
    if any(after.get(field) != before.get(field) for field in fixed):
        problems.forbidden(
            "spec",
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', "
            "'template', 'updateStrategy', 'revisionHistoryLimit', "
            "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        )
