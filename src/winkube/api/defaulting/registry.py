"""Every defaulting function by group and kind."""

from collections.abc import Callable, Mapping
from typing import Final

from winkube.api.defaulting import core, policy, workload
from winkube.api.defaulting.pod import default_pod
from winkube.base.types import JsonObject

_ADMISSION: Final = "admissionregistration.k8s.io"
_RBAC: Final = "rbac.authorization.k8s.io"

DEFAULTS: Final[Mapping[tuple[str, str], Callable[[JsonObject], None]]] = {
    ("", "Pod"): default_pod,
    ("", "PodTemplate"): core.default_pod_template,
    ("", "Service"): core.default_service,
    ("", "Secret"): core.default_secret,
    ("", "Namespace"): core.default_namespace,
    ("", "Node"): core.default_node,
    ("", "PersistentVolume"): core.default_volume,
    ("", "PersistentVolumeClaim"): core.default_claim,
    ("", "Endpoints"): core.default_endpoints,
    ("", "LimitRange"): core.default_limit_range,
    ("", "ResourceQuota"): core.default_quota,
    ("", "ReplicationController"): core.default_replication_controller,
    ("authentication.k8s.io", "TokenRequest"): core.default_token_request,
    ("apps", "Deployment"): workload.default_deployment,
    ("apps", "ReplicaSet"): workload.default_replica_set,
    ("apps", "DaemonSet"): workload.default_daemon_set,
    ("apps", "StatefulSet"): workload.default_stateful_set,
    ("batch", "Job"): workload.default_job,
    ("batch", "CronJob"): workload.default_cron_job,
    ("autoscaling", "HorizontalPodAutoscaler"): workload.default_autoscaler,
    ("networking.k8s.io", "NetworkPolicy"): policy.default_network_policy,
    ("networking.k8s.io", "Ingress"): policy.default_ingress,
    ("networking.k8s.io", "IngressClass"): policy.default_ingress_class,
    ("discovery.k8s.io", "EndpointSlice"): policy.default_endpoint_slice,
    (_RBAC, "RoleBinding"): policy.default_role_binding,
    (_RBAC, "ClusterRoleBinding"): policy.default_role_binding,
    ("storage.k8s.io", "StorageClass"): policy.default_storage_class,
    ("storage.k8s.io", "VolumeAttachment"): core.default_attachment,
    ("storage.k8s.io", "CSIDriver"): policy.default_csi_driver,
    ("scheduling.k8s.io", "PriorityClass"): policy.default_priority_class,
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): policy.default_flow_schema,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): policy.default_priority_level,
    ("resource.k8s.io", "ResourceClaim"): policy.default_device_claim,
    ("resource.k8s.io", "ResourceClaimTemplate"): policy.default_device_claim_template,
    (_ADMISSION, "MutatingWebhookConfiguration"): policy.default_webhooks,
    (_ADMISSION, "ValidatingWebhookConfiguration"): policy.default_webhooks,
    (_ADMISSION, "ValidatingAdmissionPolicy"): policy.default_admission_policy,
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): policy.default_policy_binding,
    ("apiregistration.k8s.io", "APIService"): policy.default_api_service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): policy.default_definition,
}
