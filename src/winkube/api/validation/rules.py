"""The two entry points: which checks run for which kind, on create and on update."""

from collections.abc import Callable, Mapping
from typing import Final

from winkube.api.errors import Cause
from winkube.api.kinds import Kind
from winkube.api.meta import metadata
from winkube.api.names import path_segment_problems
from winkube.api.validation import (
    config,
    device,
    event,
    limits,
    namespace,
    node,
    policy,
)
from winkube.api.validation.metadata import validate_metadata, validate_metadata_update
from winkube.api.validation.network import (
    endpoints,
    network_class,
    service,
)
from winkube.api.validation.pod import (
    pod,
    pod_status,
    pod_update,
)
from winkube.api.validation.problems import Problems
from winkube.api.validation.repeated import looks, repeat_metadata
from winkube.api.validation.server import (
    admission,
    certificates,
    flow,
    registration,
    webhooks,
)
from winkube.api.validation.storage import (
    attachment,
    claim,
    csi,
    persistent_volume,
    storage_class,
)
from winkube.api.validation.workload import (
    autoscaling,
    batch,
    budget,
    cron_job,
    job_status,
    replication,
    revision,
    workload,
    workload_status,
)
from winkube.base.types import JsonObject

Create = Callable[[JsonObject, Problems], None]
Update = Callable[[JsonObject, JsonObject, Problems], None]

_ADMISSION: Final = "admissionregistration.k8s.io"
_FLOW: Final = "flowcontrol.apiserver.k8s.io"
_NETWORKING: Final = "networking.k8s.io"
_RBAC: Final = "rbac.authorization.k8s.io"
_RESOURCE: Final = "resource.k8s.io"
_STORAGE: Final = "storage.k8s.io"
_SIGNING_REQUEST: Final = ("certificates.k8s.io", "CertificateSigningRequest")

_CHECKS: Final[Mapping[tuple[str, str], Create]] = {
    ("", "Pod"): pod.validate_pod,
    ("", "PodTemplate"): replication.validate_pod_template,
    ("", "Binding"): replication.validate_binding,
    ("", "Service"): service.validate_service,
    ("", "Endpoints"): endpoints.validate_endpoints,
    ("", "ConfigMap"): config.validate_config_map,
    ("", "Secret"): config.validate_secret,
    ("", "Event"): event.validate_event,
    ("", "Node"): node.validate_node,
    ("", "ResourceQuota"): limits.validate_quota,
    ("", "LimitRange"): limits.validate_limit_range,
    ("", "ReplicationController"): replication.validate_replication_controller,
    ("", "PersistentVolume"): persistent_volume.validate_volume,
    ("", "PersistentVolumeClaim"): claim.validate_claim,
    ("apps", "ControllerRevision"): revision.validate_revision,
    ("apps", "Deployment"): workload.validate_deployment,
    ("apps", "ReplicaSet"): workload.validate_replica_set,
    ("apps", "DaemonSet"): workload.validate_daemon_set,
    ("apps", "StatefulSet"): workload.validate_stateful_set,
    ("batch", "Job"): batch.validate_job,
    ("batch", "CronJob"): cron_job.validate_cron_job,
    ("autoscaling", "HorizontalPodAutoscaler"): autoscaling.validate_autoscaler,
    ("apiregistration.k8s.io", "APIService"): registration.validate_api_service,
    ("policy", "PodDisruptionBudget"): budget.validate_budget,
    ("discovery.k8s.io", "EndpointSlice"): endpoints.validate_endpoint_slice,
    (_NETWORKING, "NetworkPolicy"): policy.validate_network_policy,
    (_NETWORKING, "Ingress"): policy.validate_ingress,
    (_NETWORKING, "IngressClass"): network_class.validate_ingress_class,
    (_NETWORKING, "IPAddress"): network_class.validate_address,
    (_NETWORKING, "ServiceCIDR"): network_class.validate_range,
    (_ADMISSION, "ValidatingAdmissionPolicy"): admission.validate_policy,
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): admission.validate_policy_binding,
    (_RESOURCE, "ResourceClaim"): device.validate_resource_claim,
    (_RESOURCE, "ResourceClaimTemplate"): device.validate_claim_template,
    (_RESOURCE, "DeviceClass"): device.validate_device_class,
    (_STORAGE, "VolumeAttachment"): attachment.validate_attachment,
    (_STORAGE, "CSIDriver"): csi.validate_driver,
    (_STORAGE, "CSINode"): csi.validate_node,
    (_STORAGE, "CSIStorageCapacity"): attachment.validate_capacity,
    (_STORAGE, "VolumeAttributesClass"): attachment.validate_attributes_class,
    (_RBAC, "Role"): policy.validate_role,
    (_RBAC, "ClusterRole"): policy.validate_role,
    (_RBAC, "RoleBinding"): policy.validate_role_binding,
    (_RBAC, "ClusterRoleBinding"): policy.validate_role_binding,
    (_STORAGE, "StorageClass"): storage_class.validate_storage_class,
    ("coordination.k8s.io", "Lease"): policy.validate_lease,
    _SIGNING_REQUEST: certificates.validate_signing_request,
    (_ADMISSION, "MutatingWebhookConfiguration"): webhooks.validate_webhooks,
    (_ADMISSION, "ValidatingWebhookConfiguration"): webhooks.validate_webhooks,
    ("scheduling.k8s.io", "PriorityClass"): limits.validate_priority_class,
    ("node.k8s.io", "RuntimeClass"): limits.validate_runtime_class,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): policy.validate_definition,
    (_FLOW, "FlowSchema"): flow.validate_flow_schema,
    (_FLOW, "PriorityLevelConfiguration"): flow.validate_priority_level,
}
_CREATE_ONLY: Final[Mapping[tuple[str, str], Create]] = {
    ("storage.k8s.io", "VolumeAttachment"): attachment.validate_new_attachment,
    ("", "Pod"): pod.validate_new_pod,
    ("", "Namespace"): namespace.validate_namespace,
    ("events.k8s.io", "Event"): event.validate_new_event,
    ("autoscaling", "HorizontalPodAutoscaler"): autoscaling.validate_new_autoscaler,
}
_UPDATE: Final[Mapping[tuple[str, str], Update]] = {
    ("", "Pod"): pod_update.validate_pod_update,
    ("", "Service"): service.validate_service_update,
    ("", "ConfigMap"): config.validate_config_map_update,
    ("", "Secret"): config.validate_secret_update,
    ("", "Node"): node.validate_node_update,
    ("", "ReplicationController"): replication.validate_replication_controller_update,
    ("", "ResourceQuota"): limits.validate_quota_update,
    ("", "PersistentVolume"): persistent_volume.validate_volume_update,
    ("", "PersistentVolumeClaim"): claim.validate_claim_update,
    ("apps", "Deployment"): workload.validate_selector_update,
    ("apps", "ReplicaSet"): workload.validate_selector_update,
    ("apps", "DaemonSet"): workload.validate_daemon_set_update,
    ("apps", "ControllerRevision"): revision.validate_revision_update,
    ("apps", "StatefulSet"): workload.validate_stateful_set_update,
    ("batch", "Job"): batch.validate_job_update,
    ("autoscaling", "HorizontalPodAutoscaler"): autoscaling.validate_autoscaler_update,
    ("discovery.k8s.io", "EndpointSlice"): endpoints.validate_endpoint_slice_update,
    ("events.k8s.io", "Event"): event.validate_event_update,
    _SIGNING_REQUEST: certificates.validate_signing_request_update,
    (_RBAC, "RoleBinding"): policy.validate_role_binding_update,
    (_RBAC, "ClusterRoleBinding"): policy.validate_role_binding_update,
    (_STORAGE, "StorageClass"): storage_class.validate_storage_class_update,
    (_STORAGE, "VolumeAttachment"): attachment.validate_attachment_update,
    (_STORAGE, "CSIDriver"): csi.validate_driver_update,
    (_STORAGE, "CSINode"): csi.validate_node_update,
    (_STORAGE, "CSIStorageCapacity"): attachment.validate_capacity_update,
    (_STORAGE, "VolumeAttributesClass"): attachment.validate_attributes_class_update,
    (_RESOURCE, "ResourceClaim"): device.validate_resource_claim_update,
    (_RESOURCE, "ResourceClaimTemplate"): device.validate_claim_template_update,
    (_NETWORKING, "IngressClass"): network_class.validate_ingress_class_update,
    (_NETWORKING, "IPAddress"): network_class.validate_address_update,
    (_NETWORKING, "ServiceCIDR"): network_class.validate_range_update,
    ("scheduling.k8s.io", "PriorityClass"): limits.validate_priority_class_update,
    ("node.k8s.io", "RuntimeClass"): limits.validate_runtime_class_update,
}
# Writes of one part of an object have rules of their own in place of the object's.
_PART_UPDATE: Final[Mapping[tuple[str, str, str], Update]] = {
    ("", "Pod", "ephemeralcontainers"): pod_update.validate_ephemeral_update,
    ("", "Namespace", "finalize"): namespace.validate_namespace_finalize,
    ("", "Pod", "resize"): pod_update.validate_resize,
    ("", "ResourceQuota", "status"): limits.validate_quota_status,
    (*_SIGNING_REQUEST, "status"): certificates.validate_signing_request_status,
    (*_SIGNING_REQUEST, "approval"): certificates.validate_signing_request_approval,
}


# A status that is looked at by itself, without the object's own rules.
_STATUS_UPDATE: Final[Mapping[tuple[str, str], Update]] = {
    ("", "Pod"): pod_status.validate_pod_status,
    ("", "Service"): service.validate_service_status,
    ("", "Namespace"): namespace.validate_namespace_status,
    ("", "Node"): node.validate_node_update,
    ("", "ReplicationController"): replication.validate_replication_controller_status,
    ("", "PersistentVolumeClaim"): claim.validate_claim_status,
    ("autoscaling", "HorizontalPodAutoscaler"): autoscaling.validate_autoscaler_status,
    ("apps", "Deployment"): workload_status.validate_deployment_status,
    ("apps", "ReplicaSet"): workload_status.validate_replica_set_status,
    ("apps", "StatefulSet"): workload_status.validate_stateful_set_status,
    ("apps", "DaemonSet"): workload_status.validate_daemon_set_status,
    ("batch", "Job"): job_status.validate_job_status,
    (_NETWORKING, "Ingress"): policy.validate_ingress_status,
    ("policy", "PodDisruptionBudget"): budget.validate_budget_status,
    (_FLOW, "FlowSchema"): flow.check_flow_status,
    (_FLOW, "PriorityLevelConfiguration"): flow.check_flow_status,
}


def validate_create(kind: Kind, obj: JsonObject) -> list[Cause]:
    """Every problem of an object that is complete: defaulted, named, with its namespace."""
    problems, key = Problems(), (kind.group, kind.kind)
    check = _CREATE_ONLY.get(key) or _CHECKS.get(key)
    if key in _METADATA_LAST and check is not None:
        check(obj, problems)
        check = None
    if not problems:
        validate_metadata(kind, obj.get("metadata"), problems)
    if check is not None:
        check(obj, problems)
    return problems.causes


# Their own rules leave metadata to what is true for all, which comes after them.
_METADATA_LAST: Final = {("policy", "PodDisruptionBudget")}


def validate_update(kind: Kind, new: JsonObject, old: JsonObject, *, part: str = "") -> list[Cause]:
    """Both are complete; a write that changes only metadata or status skips the rest."""
    problems = Problems()
    validate_metadata(kind, new.get("metadata"), problems, path_segment_problems)
    validate_metadata_update(metadata(new), metadata(old), problems)
    early, late = looks(kind, part)
    if problems or metadata(new).get("finalizers"):
        # Upstream looks at metadata for all kinds, and each kind does again: causes are repeated.
        repeat_metadata(kind, new, old, early, problems)
    else:
        late = ""
    _check_changed(kind, new, old, part, problems, late)
    return problems.causes


def _check_changed(
    kind: Kind, new: JsonObject, old: JsonObject, part: str, problems: Problems, late: str
) -> None:
    """What the kind itself says; ``late`` is how it looks at metadata after its own fields."""
    key = (kind.group, kind.kind)
    change = _STATUS_UPDATE.get(key) if part == "status" else None
    if change is None and _is_same(key, new, old):
        repeat_metadata(kind, new, old, late, problems)
        return
    check = _CHECKS.get(key) if change is None else None
    change = change or _PART_UPDATE.get((*key, part)) or _UPDATE.get(key)
    if check is not None and key not in _CHANGE_FIRST and key not in _CHANGE_ONLY:
        check(new, problems)
        if problems and key in _TWICE:
            check(new, problems)
    repeat_metadata(kind, new, old, late, problems)
    if change is not None:
        change(new, old, problems)


def _is_same(key: tuple[str, str], new: JsonObject, old: JsonObject) -> bool:
    same = _desired(new) == _desired(old) and not _is_another(key, new, old)
    return same and key not in _READS_STATUS and not _notes(key, new, old)


# Their updates look at nothing but the change, or look at the object themselves.
_CHANGE_ONLY: Final = {
    ("discovery.k8s.io", "EndpointSlice"),
    ("scheduling.k8s.io", "PriorityClass"),
}
# Their updates look at the object twice: every look has its causes in the answer.
_TWICE: Final = {
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    (_NETWORKING, "NetworkPolicy"),
    (_RBAC, "Role"),
    (_RBAC, "ClusterRole"),
    (_RBAC, "RoleBinding"),
    (_RBAC, "ClusterRoleBinding"),
    (_STORAGE, "CSINode"),
}
# Their updates look at the change first, and then at the object themselves.
_CHANGE_FIRST: Final = {
    ("", "Service"),
    ("apps", "DaemonSet"),
    ("apps", "StatefulSet"),
    ("apps", "ControllerRevision"),
    (_STORAGE, "VolumeAttachment"),
    (_STORAGE, "CSIStorageCapacity"),
    (_STORAGE, "VolumeAttributesClass"),
    (_RESOURCE, "ResourceClaim"),
    (_RESOURCE, "ResourceClaimTemplate"),
    (_NETWORKING, "IngressClass"),
    (_NETWORKING, "IPAddress"),
    (_NETWORKING, "ServiceCIDR"),
}


def _is_another(key: tuple[str, str], new: JsonObject, old: JsonObject) -> bool:
    """A job's pods carry its uid."""
    return key == ("batch", "Job") and new["metadata"].get("uid") != old["metadata"].get("uid")


def _notes(key: tuple[str, str], new: JsonObject, old: JsonObject) -> bool:
    """Annotations of pods have rules."""
    if key != ("", "Pod"):
        return False
    fresh, kept = (obj["metadata"].get("annotations") for obj in (new, old))
    return bool(fresh != kept)


_READS_STATUS: Final = {("", "Node"), ("", "ResourceQuota"), _SIGNING_REQUEST}


def _desired(obj: JsonObject) -> JsonObject:
    return {key: obj[key] for key in obj if key not in ("metadata", "status")}
