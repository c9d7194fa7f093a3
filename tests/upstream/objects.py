"""One good object of every kind, small but with what its kind requires."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TEMPLATE: Mapping[str, Any] = {
    "metadata": {"labels": {"app": "a"}},
    "spec": {"containers": [{"name": "c", "image": "i:1"}]},
}
SELECTOR = {"matchLabels": {"app": "a"}}
JOB_TEMPLATE = {
    "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i:1"}]},
}
WEBHOOK = {
    "name": "hook.example.com",
    "clientConfig": {"url": "https://hook.example.com/x"},
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "rules": [
        {
            "operations": ["CREATE"],
            "apiGroups": ["example.com"],
            "apiVersions": ["v1"],
            "resources": ["things"],
        }
    ],
}


@dataclass(frozen=True, slots=True)
class Sample:
    """``path`` is the collection's; objects of the whole cluster are named after the case."""

    kind: str
    path: str
    body: Mapping[str, Any]
    status: Mapping[str, Any] | None = None  # what is written to the status, if it has one
    name: str = ""  # where the kind rules which names are good

    @property
    def called(self) -> str:
        return self.name or ("a" if "{ns}" in self.path else "{ns}-a")

    @property
    def item(self) -> str:
        return f"{self.path}/{self.called}"

    def named(self, **metadata: Any) -> dict[str, Any]:
        return {"metadata": {"name": self.called, **metadata}, **self.body}


def _in(group: str, plural: str) -> str:
    root = f"/apis/{group}" if "/" in group else f"/api/{group}"
    return f"{root}/namespaces/{{ns}}/{plural}"


def _at(group: str, plural: str) -> str:
    return f"/apis/{group}/{plural}" if "/" in group else f"/api/{group}/{plural}"


_RBAC = "rbac.authorization.k8s.io/v1"
_NETWORK = "networking.k8s.io/v1"
_STORAGE = "storage.k8s.io/v1"
_ADMISSION = "admissionregistration.k8s.io/v1"
_FLOW = "flowcontrol.apiserver.k8s.io/v1"
_DEVICE = "resource.k8s.io/v1"
_CLAIM = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}
RULE = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}

SAMPLES = (
    Sample(
        "Deployment",
        _in("apps/v1", "deployments"),
        {"spec": {"selector": SELECTOR, "template": TEMPLATE}},
        {"replicas": 2, "readyReplicas": 1, "observedGeneration": 1},
    ),
    Sample(
        "ReplicaSet",
        _in("apps/v1", "replicasets"),
        {"spec": {"selector": SELECTOR, "template": TEMPLATE}},
        {"replicas": 2, "readyReplicas": 1},
    ),
    Sample(
        "StatefulSet",
        _in("apps/v1", "statefulsets"),
        {"spec": {"selector": SELECTOR, "template": TEMPLATE, "serviceName": "s"}},
        {"replicas": 2, "readyReplicas": 1},
    ),
    Sample(
        "DaemonSet",
        _in("apps/v1", "daemonsets"),
        {"spec": {"selector": SELECTOR, "template": TEMPLATE}},
        {
            "currentNumberScheduled": 2,
            "desiredNumberScheduled": 3,
            "numberMisscheduled": 0,
            "numberReady": 1,
        },
    ),
    Sample(
        "ControllerRevision",
        _in("apps/v1", "controllerrevisions"),
        {"revision": 1, "data": {}},
    ),
    Sample("Job", _in("batch/v1", "jobs"), {"spec": {"template": JOB_TEMPLATE}}, {"active": 1}),
    Sample(
        "CronJob",
        _in("batch/v1", "cronjobs"),
        {"spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": JOB_TEMPLATE}}}},
        {"lastScheduleTime": "2020-01-01T00:00:00Z"},
    ),
    Sample(
        "HorizontalPodAutoscaler",
        _in("autoscaling/v2", "horizontalpodautoscalers"),
        {
            "spec": {
                "maxReplicas": 3,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
            }
        },
        {"currentReplicas": 1, "desiredReplicas": 2},
    ),
    Sample(
        "HorizontalPodAutoscaler v1",
        _in("autoscaling/v1", "horizontalpodautoscalers"),
        {
            "spec": {
                "maxReplicas": 3,
                "targetCPUUtilizationPercentage": 50,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
            }
        },
        {"currentReplicas": 1, "desiredReplicas": 2, "currentCPUUtilizationPercentage": 7},
    ),
    Sample(
        "PodDisruptionBudget",
        _in("policy/v1", "poddisruptionbudgets"),
        {"spec": {"minAvailable": 1, "selector": SELECTOR}},
        {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2},
    ),
    Sample("NetworkPolicy", _in(_NETWORK, "networkpolicies"), {"spec": {"podSelector": SELECTOR}}),
    Sample(
        "Ingress",
        _in(_NETWORK, "ingresses"),
        {"spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}},
        {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"hostname": "h.example.com"}]}},
    ),
    Sample(
        "IngressClass",
        _at(_NETWORK, "ingressclasses"),
        {"spec": {"controller": "example.com/c"}},
    ),
    Sample(
        "IPAddress",
        _at(_NETWORK, "ipaddresses"),
        {"spec": {"parentRef": {"resource": "services", "name": "s", "namespace": "n"}}},
        name="192.0.2.77",
    ),
    Sample(
        "ServiceCIDR",
        _at(_NETWORK, "servicecidrs"),
        {"spec": {"cidrs": ["192.0.2.0/24"]}},
        {"conditions": []},
    ),
    Sample("Role", _in(_RBAC, "roles"), {"rules": [RULE]}),
    Sample("ClusterRole", _at(_RBAC, "clusterroles"), {"rules": [RULE]}),
    Sample(
        "RoleBinding",
        _in(_RBAC, "rolebindings"),
        {
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
            "subjects": [{"kind": "User", "name": "u"}],
        },
    ),
    Sample(
        "ClusterRoleBinding",
        _at(_RBAC, "clusterrolebindings"),
        {
            "roleRef": {"kind": "ClusterRole", "name": "r"},
            "subjects": [
                {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
                {"kind": "Group", "name": "g"},
            ],
        },
    ),
    Sample("StorageClass", _at(_STORAGE, "storageclasses"), {"provisioner": "example.com/p"}),
    Sample("CSIDriver", _at(_STORAGE, "csidrivers"), {"spec": {}}),
    Sample("CSINode", _at(_STORAGE, "csinodes"), {"spec": {"drivers": []}}),
    Sample(
        "CSIStorageCapacity",
        _in(_STORAGE, "csistoragecapacities"),
        {"storageClassName": "c", "capacity": "1024Mi"},
    ),
    Sample(
        "VolumeAttachment",
        _at(_STORAGE, "volumeattachments"),
        {
            "spec": {
                "attacher": "a.example.com",
                "nodeName": "n",
                "source": {"persistentVolumeName": "v"},
            }
        },
        {"attached": True},
    ),
    Sample(
        "VolumeAttributesClass",
        _at(_STORAGE, "volumeattributesclasses"),
        {"driverName": "d.example.com", "parameters": {"a": "b"}},
    ),
    Sample("PriorityClass", _at("scheduling.k8s.io/v1", "priorityclasses"), {"value": 7}),
    Sample("RuntimeClass", _at("node.k8s.io/v1", "runtimeclasses"), {"handler": "h"}),
    Sample(
        "Lease",
        _in("coordination.k8s.io/v1", "leases"),
        {"spec": {"holderIdentity": "h", "leaseDurationSeconds": 5}},
    ),
    Sample(
        "EndpointSlice",
        _in("discovery.k8s.io/v1", "endpointslices"),
        {
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["192.0.2.1"]}],
            "ports": [{"port": 80}],
        },
    ),
    Sample(
        "MutatingWebhookConfiguration",
        _at(_ADMISSION, "mutatingwebhookconfigurations"),
        {"webhooks": [WEBHOOK]},
    ),
    Sample(
        "ValidatingWebhookConfiguration",
        _at(_ADMISSION, "validatingwebhookconfigurations"),
        {"webhooks": [WEBHOOK]},
    ),
    Sample(
        "ValidatingAdmissionPolicy",
        _at(_ADMISSION, "validatingadmissionpolicies"),
        {
            "spec": {
                "matchConstraints": {"resourceRules": WEBHOOK["rules"]},
                "validations": [{"expression": "true"}],
            }
        },
        {"observedGeneration": 1},
    ),
    Sample(
        "ValidatingAdmissionPolicyBinding",
        _at(_ADMISSION, "validatingadmissionpolicybindings"),
        {"spec": {"policyName": "p", "validationActions": ["Deny"]}},
    ),
    Sample(
        "FlowSchema",
        _at(_FLOW, "flowschemas"),
        {"spec": {"priorityLevelConfiguration": {"name": "exempt"}}},
        {"conditions": [{"type": "Dangling", "status": "False"}]},
    ),
    Sample(
        "PriorityLevelConfiguration",
        _at(_FLOW, "prioritylevelconfigurations"),
        {"spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}},
        {"conditions": [{"type": "X", "status": "False"}]},
    ),
    Sample("DeviceClass", _at(_DEVICE, "deviceclasses"), {"spec": {}}),
    Sample("ResourceClaim", _in(_DEVICE, "resourceclaims"), {"spec": _CLAIM}, {}),
    Sample(
        "ResourceClaimTemplate", _in(_DEVICE, "resourceclaimtemplates"), {"spec": {"spec": _CLAIM}}
    ),
    Sample(
        "ResourceSlice",
        _at(_DEVICE, "resourceslices"),
        {
            "spec": {
                "driver": "d.example.com",
                "nodeName": "n",
                "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            }
        },
    ),
)
SAMPLE = {sample.kind: sample for sample in SAMPLES}
