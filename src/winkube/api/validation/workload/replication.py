"""Replication controllers, pod templates and bindings: the oldest kinds that concern pods."""

from typing import Final

from winkube.api.validation.common import check_nonnegative
from winkube.api.validation.pod.pod import check_template
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_COUNTS: Final = (
    "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas",
    "observedGeneration",
)  # fmt: skip


def validate_pod_template(obj: JsonObject, problems: Problems) -> None:
    check_template(obj.get("template") or {}, "template", problems)


def validate_binding(obj: JsonObject, problems: Problems) -> None:
    target = obj.get("target") or {}
    if target.get("kind") not in (None, "", "Node"):
        problems.unsupported_text("target.kind", target["kind"], ("Node", "<empty>"))
    if not target.get("name"):
        problems.required("target.name")


def validate_replication_controller(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    check_nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds", problems)
    selector, template = spec.get("selector"), spec.get("template")
    if not selector:
        problems.required("spec.selector")
    check_nonnegative(spec.get("replicas"), "spec.replicas", problems)
    if template is None:
        problems.required("spec.template")
        return
    labels = (template.get("metadata") or {}).get("labels")
    if selector and not selector.items() <= (labels or {}).items():
        problems.invalid(
            "spec.template.metadata.labels", labels, "`selector` does not match template `labels`"
        )
    check_template(template, "spec.template", problems)
    pod = template.get("spec") or {}
    if pod.get("restartPolicy") != "Always":
        path = "spec.template.spec.restartPolicy"
        problems.unsupported(path, pod.get("restartPolicy") or "", ("Always",))
    if pod.get("activeDeadlineSeconds") is not None:
        problems.forbidden(
            "spec.template.spec.activeDeadlineSeconds",
            "activeDeadlineSeconds in ReplicationController is not Supported",
        )


def validate_replication_controller_update(
    new: JsonObject, old: JsonObject, problems: Problems
) -> None:
    """Upstream looks at the new one twice."""
    validate_replication_controller(new, problems)


def validate_replication_controller_status(
    new: JsonObject, old: JsonObject, problems: Problems
) -> None:
    status = new.get("status") or {}
    for field in _COUNTS:
        check_nonnegative(status.get(field), f"status.{field}", problems)
    total, ready = status.get("replicas") or 0, status.get("readyReplicas") or 0
    for field in _COUNTS[1:4]:
        count = status.get(field) or 0
        if count > total:
            problems.invalid(f"status.{field}", count, "cannot be greater than status.replicas")
    available = status.get("availableReplicas") or 0
    if available > ready:
        text = "cannot be greater than readyReplicas"
        problems.invalid("status.availableReplicas", available, text)
