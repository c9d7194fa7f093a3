"""Every printer by group and kind."""

from collections.abc import Mapping
from typing import Final

from winkube.api.printing import cluster, core, workload
from winkube.api.printing.pod import POD
from winkube.api.printing.printer import Printer

_ADMISSION: Final = "admissionregistration.k8s.io"
_FLOW: Final = "flowcontrol.apiserver.k8s.io"
_NETWORKING: Final = "networking.k8s.io"
_RBAC: Final = "rbac.authorization.k8s.io"
_STORAGE: Final = "storage.k8s.io"

PRINTERS: Final[Mapping[tuple[str, str], Printer]] = {
    ("", "Pod"): POD,
    ("", "Node"): core.NODE,
    ("", "Service"): core.SERVICE,
    ("", "Endpoints"): core.ENDPOINTS,
    ("", "Event"): core.EVENT,
    ("", "Namespace"): core.NAMESPACE,
    ("", "Secret"): core.SECRET,
    ("", "ConfigMap"): core.CONFIG_MAP,
    ("", "ServiceAccount"): core.SERVICE_ACCOUNT,
    ("", "PersistentVolume"): core.VOLUME,
    ("", "PersistentVolumeClaim"): core.CLAIM,
    ("", "ComponentStatus"): core.COMPONENT_STATUS,
    ("", "ResourceQuota"): core.QUOTA,
    ("", "LimitRange"): core.LIMIT_RANGE,
    ("", "PodTemplate"): core.TEMPLATE,
    ("", "ReplicationController"): workload.REPLICA_SET,
    ("events.k8s.io", "Event"): core.EVENT,
    ("apps", "Deployment"): workload.DEPLOYMENT,
    ("apps", "ReplicaSet"): workload.REPLICA_SET,
    ("apps", "DaemonSet"): workload.DAEMON_SET,
    ("apps", "StatefulSet"): workload.STATEFUL_SET,
    ("apps", "ControllerRevision"): workload.REVISION,
    ("batch", "Job"): workload.JOB,
    ("batch", "CronJob"): workload.CRON_JOB,
    ("autoscaling", "HorizontalPodAutoscaler"): workload.AUTOSCALER,
    ("autoscaling", "Scale"): workload.SCALE,
    ("policy", "PodDisruptionBudget"): workload.BUDGET,
    ("discovery.k8s.io", "EndpointSlice"): cluster.ENDPOINT_SLICE,
    (_NETWORKING, "Ingress"): cluster.INGRESS,
    (_NETWORKING, "IngressClass"): cluster.INGRESS_CLASS,
    (_NETWORKING, "NetworkPolicy"): cluster.NETWORK_POLICY,
    (_NETWORKING, "IPAddress"): cluster.IP_ADDRESS,
    (_NETWORKING, "ServiceCIDR"): cluster.SERVICE_CIDR,
    (_RBAC, "RoleBinding"): cluster.BINDING,
    (_RBAC, "ClusterRoleBinding"): cluster.BINDING,
    (_RBAC, "Role"): cluster.ROLE,
    (_RBAC, "ClusterRole"): cluster.ROLE,
    ("certificates.k8s.io", "CertificateSigningRequest"): cluster.SIGNING_REQUEST,
    ("coordination.k8s.io", "Lease"): cluster.LEASE,
    (_STORAGE, "StorageClass"): cluster.STORAGE_CLASS,
    (_STORAGE, "VolumeAttributesClass"): cluster.ATTRIBUTES_CLASS,
    (_STORAGE, "VolumeAttachment"): cluster.ATTACHMENT,
    (_STORAGE, "CSINode"): cluster.CSI_NODE,
    (_STORAGE, "CSIDriver"): cluster.CSI_DRIVER,
    (_STORAGE, "CSIStorageCapacity"): cluster.CSI_CAPACITY,
    ("scheduling.k8s.io", "PriorityClass"): cluster.PRIORITY_CLASS,
    ("node.k8s.io", "RuntimeClass"): cluster.RUNTIME_CLASS,
    (_ADMISSION, "MutatingWebhookConfiguration"): cluster.WEBHOOKS,
    (_ADMISSION, "ValidatingWebhookConfiguration"): cluster.WEBHOOKS,
    (_ADMISSION, "ValidatingAdmissionPolicy"): cluster.POLICY,
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): cluster.POLICY_BINDING,
    (_FLOW, "FlowSchema"): cluster.FLOW_SCHEMA,
    (_FLOW, "PriorityLevelConfiguration"): cluster.PRIORITY_LEVEL,
    ("resource.k8s.io", "ResourceClaim"): cluster.RESOURCE_CLAIM,
    ("resource.k8s.io", "ResourceSlice"): cluster.RESOURCE_SLICE,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): cluster.DEFINITION,
    ("apiregistration.k8s.io", "APIService"): cluster.API_SERVICE,
}
