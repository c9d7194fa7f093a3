"""One good object of every kind outside the core, small but with what its kind requires."""

import json
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
    """``path`` is the collection's; objects of the whole cluster are named after the case.

    ``{which}`` in names and bodies stands for the number of an object where there are several.
    """

    kind: str
    path: str
    body: Mapping[str, Any]
    status: Mapping[str, Any] | None = None  # what is written to the status, if it has one
    name: str = ""  # where the kind rules which names are good
    settled: str = ""  # what its status says when the server's own controllers have seen it
    lingers: bool = False  # a finalizer keeps it when it is deleted

    @property
    def called(self) -> str:
        return self.called_as(1)

    @property
    def item(self) -> str:
        return f"{self.path}/{self.called}"

    @property
    def type(self) -> dict[str, str]:
        """Its apiVersion and kind, for those who must say them."""
        _, root, *rest = self.path.split("/")
        version = "/".join(rest[: {"api": 1, "apis": 2}[root]])
        return {"apiVersion": version, "kind": self.kind.split()[0]}

    def called_as(self, which: int) -> str:
        if "{which}" in self.name:
            return self.name.replace("{which}", str(which))
        first = self.name or ("a" if "{ns}" in self.path else "{ns}-a")
        return first if which == 1 else f"{first}-{which}"

    def named(self, which: int = 1, /, **metadata: Any) -> dict[str, Any]:
        body = json.loads(json.dumps(self.body).replace("{which}", str(which)))
        return {"metadata": {"name": self.called_as(which), **metadata}, **body}


def inside(group: str, plural: str) -> str:
    root = f"/apis/{group}" if "/" in group else f"/api/{group}"
    return f"{root}/namespaces/{{ns}}/{plural}"


def across(group: str, plural: str) -> str:
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
        inside("apps/v1", "deployments"),
        {"spec": {"selector": SELECTOR, "template": TEMPLATE}},
        {"replicas": 2, "readyReplicas": 1, "observedGeneration": 1},
    ),
    Sample(
        "ReplicaSet",
        inside("apps/v1", "replicasets"),
        {"spec": {"selector": SELECTOR, "template": TEMPLATE}},
        {"replicas": 2, "readyReplicas": 1},
    ),
    Sample(
        "StatefulSet",
        inside("apps/v1", "statefulsets"),
        {"spec": {"selector": SELECTOR, "template": TEMPLATE, "serviceName": "s"}},
        {"replicas": 2, "readyReplicas": 1},
    ),
    Sample(
        "DaemonSet",
        inside("apps/v1", "daemonsets"),
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
        inside("apps/v1", "controllerrevisions"),
        {"revision": 1, "data": {}},
    ),
    Sample(
        "Job",
        inside("batch/v1", "jobs"),
        {"spec": {"template": JOB_TEMPLATE}},
        {"active": 1},
        lingers=True,
    ),
    Sample(
        "CronJob",
        inside("batch/v1", "cronjobs"),
        {"spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": JOB_TEMPLATE}}}},
        {"lastScheduleTime": "2020-01-01T00:00:00Z"},
    ),
    Sample(
        "HorizontalPodAutoscaler",
        inside("autoscaling/v2", "horizontalpodautoscalers"),
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
        inside("autoscaling/v1", "horizontalpodautoscalers"),
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
        inside("policy/v1", "poddisruptionbudgets"),
        {"spec": {"minAvailable": 1, "selector": SELECTOR}},
        {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2},
    ),
    Sample(
        "NetworkPolicy", inside(_NETWORK, "networkpolicies"), {"spec": {"podSelector": SELECTOR}}
    ),
    Sample(
        "Ingress",
        inside(_NETWORK, "ingresses"),
        {"spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}},
        {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"hostname": "h.example.com"}]}},
    ),
    Sample(
        "IngressClass",
        across(_NETWORK, "ingressclasses"),
        {"spec": {"controller": "example.com/c"}},
    ),
    Sample(
        "IPAddress",
        across(_NETWORK, "ipaddresses"),
        {"spec": {"parentRef": {"resource": "services", "name": "s", "namespace": "n"}}},
        name="192.0.2.7{which}",
    ),
    Sample(
        "ServiceCIDR",
        across(_NETWORK, "servicecidrs"),
        {"spec": {"cidrs": ["192.0.2.0/24"]}},
        {"conditions": []},
    ),
    Sample("Role", inside(_RBAC, "roles"), {"rules": [RULE]}),
    Sample("ClusterRole", across(_RBAC, "clusterroles"), {"rules": [RULE]}),
    Sample(
        "RoleBinding",
        inside(_RBAC, "rolebindings"),
        {
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
            "subjects": [{"kind": "User", "name": "u"}],
        },
    ),
    Sample(
        "ClusterRoleBinding",
        across(_RBAC, "clusterrolebindings"),
        {
            "roleRef": {"kind": "ClusterRole", "name": "r"},
            "subjects": [
                {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
                {"kind": "Group", "name": "g"},
            ],
        },
    ),
    Sample("StorageClass", across(_STORAGE, "storageclasses"), {"provisioner": "example.com/p"}),
    Sample("CSIDriver", across(_STORAGE, "csidrivers"), {"spec": {}}),
    Sample("CSINode", across(_STORAGE, "csinodes"), {"spec": {"drivers": []}}),
    Sample(
        "CSIStorageCapacity",
        inside(_STORAGE, "csistoragecapacities"),
        {"storageClassName": "c", "capacity": "1024Mi"},
    ),
    Sample(
        "VolumeAttachment",
        across(_STORAGE, "volumeattachments"),
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
        across(_STORAGE, "volumeattributesclasses"),
        {"driverName": "d.example.com", "parameters": {"a": "b"}},
        lingers=True,
    ),
    Sample("PriorityClass", across("scheduling.k8s.io/v1", "priorityclasses"), {"value": 7}),
    Sample("RuntimeClass", across("node.k8s.io/v1", "runtimeclasses"), {"handler": "h"}),
    Sample(
        "Lease",
        inside("coordination.k8s.io/v1", "leases"),
        {"spec": {"holderIdentity": "h", "leaseDurationSeconds": 5}},
    ),
    Sample(
        "EndpointSlice",
        inside("discovery.k8s.io/v1", "endpointslices"),
        {
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["192.0.2.1"]}],
            "ports": [{"port": 80}],
        },
    ),
    Sample(
        "MutatingWebhookConfiguration",
        across(_ADMISSION, "mutatingwebhookconfigurations"),
        {"webhooks": [WEBHOOK]},
    ),
    Sample(
        "ValidatingWebhookConfiguration",
        across(_ADMISSION, "validatingwebhookconfigurations"),
        {"webhooks": [WEBHOOK]},
    ),
    Sample(
        "ValidatingAdmissionPolicy",
        across(_ADMISSION, "validatingadmissionpolicies"),
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
        across(_ADMISSION, "validatingadmissionpolicybindings"),
        {"spec": {"policyName": "p", "validationActions": ["Deny"]}},
    ),
    Sample(
        "FlowSchema",
        across(_FLOW, "flowschemas"),
        {"spec": {"priorityLevelConfiguration": {"name": "exempt"}}},
        {"conditions": [{"type": "Dangling", "status": "False"}]},
        settled="and it exists",
    ),
    Sample(
        "PriorityLevelConfiguration",
        across(_FLOW, "prioritylevelconfigurations"),
        {"spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}},
        {"conditions": [{"type": "X", "status": "False"}]},
    ),
    Sample("DeviceClass", across(_DEVICE, "deviceclasses"), {"spec": {}}),
    Sample("ResourceClaim", inside(_DEVICE, "resourceclaims"), {"spec": _CLAIM}, {}),
    Sample(
        "ResourceClaimTemplate",
        inside(_DEVICE, "resourceclaimtemplates"),
        {"spec": {"spec": _CLAIM}},
    ),
    Sample(
        "ResourceSlice",
        across(_DEVICE, "resourceslices"),
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
