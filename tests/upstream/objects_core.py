"""One good object of every kind of the core group, and of those the server's own parts look at."""

from typing import Any

from tests.upstream.cases.identities import JANE
from tests.upstream.objects import TEMPLATE, Sample, across, inside

POD: dict[str, Any] = {
    "spec": {
        "automountServiceAccountToken": False,
        "containers": [
            {
                "name": "c",
                "image": "i:1",
                "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
            }
        ],
    }
}
WHEN = "2020-01-01T00:00:00Z"  # else it is now, and each write another
_FAILED = {
    "type": "Failed",
    "status": "True",
    "reason": "r",
    "message": "m",
    "lastUpdateTime": WHEN,
    "lastTransitionTime": WHEN,
}
_MESSAGE = {"reason": "r", "type": "Normal"}
_SCHEMA = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
}

CORE = (
    Sample("Pod", inside("v1", "pods"), POD, {"phase": "Running", "podIP": "192.0.2.1"}),
    Sample(
        "Service",
        inside("v1", "services"),
        {"spec": {"selector": {"app": "a"}, "ports": [{"port": 80}]}},
        {"loadBalancer": {}},
    ),
    Sample(
        "Node",
        across("v1", "nodes"),
        {"spec": {}},
        {"capacity": {"cpu": "2", "memory": "1Gi", "pods": "9"}},
    ),
    Sample(
        "ConfigMap", inside("v1", "configmaps"), {"data": {"k": "v"}, "binaryData": {"b": "YQ=="}}
    ),
    Sample("Secret", inside("v1", "secrets"), {"data": {"k": "dg=="}}),
    Sample("Namespace", across("v1", "namespaces"), {}, {"phase": "Active"}, lingers=True),
    Sample(
        "PersistentVolume",
        across("v1", "persistentvolumes"),
        {
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "hostPath": {"path": "/tmp/x"},
            }
        },
        {"phase": "Available"},
        lingers=True,
    ),
    Sample(
        "PersistentVolumeClaim",
        inside("v1", "persistentvolumeclaims"),
        {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
                "storageClassName": "",
            }
        },
        {"phase": "Bound", "capacity": {"storage": "1Gi"}},
        lingers=True,
    ),
    Sample(
        "ServiceAccount",
        inside("v1", "serviceaccounts"),
        {"imagePullSecrets": [{"name": "s"}], "automountServiceAccountToken": False},
    ),
    Sample(
        "ReplicationController",
        inside("v1", "replicationcontrollers"),
        {"spec": {"selector": {"app": "a"}, "template": TEMPLATE}},
        {"replicas": 2, "readyReplicas": 1, "observedGeneration": 1},
        lingers=True,
    ),
    Sample(
        "LimitRange",
        inside("v1", "limitranges"),
        {"spec": {"limits": [{"type": "Container", "max": {"cpu": "4"}}]}},
    ),
    Sample(
        "ResourceQuota",
        inside("v1", "resourcequotas"),
        {"spec": {"hard": {"pods": "4"}}},
        {"hard": {"pods": "4"}, "used": {"pods": "1"}},
    ),
    Sample(
        "Event",
        inside("v1", "events"),
        {
            "involvedObject": {"kind": "Pod", "name": "p", "namespace": "{ns}"},
            "message": "m",
            "count": 1,
            **_MESSAGE,
        },
    ),
    Sample(
        "Event of its own group",
        inside("events.k8s.io/v1", "events"),
        {
            "regarding": {"kind": "Pod", "name": "p", "namespace": "{ns}"},
            "note": "n",
            "action": "act",
            "eventTime": "2020-01-01T00:00:00.000000Z",
            "reportingController": "example.com/c",
            "reportingInstance": "i",
            **_MESSAGE,
        },
    ),
    Sample(
        "Endpoints",
        inside("v1", "endpoints"),
        {"subsets": [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}]},
    ),
    Sample("PodTemplate", inside("v1", "podtemplates"), {"template": TEMPLATE}),
    Sample(
        "CertificateSigningRequest",
        across("certificates.k8s.io/v1", "certificatesigningrequests"),
        {
            "spec": {
                "request": JANE,
                "signerName": "kubernetes.io/kube-apiserver-client",
                "usages": ["client auth"],
            }
        },
        {"conditions": [_FAILED]},
    ),
    Sample(
        "CustomResourceDefinition",
        across("apiextensions.k8s.io/v1", "customresourcedefinitions"),
        {
            "spec": {
                "group": "w{which}.{ns}.example.com",
                "scope": "Namespaced",
                "names": {"plural": "things", "kind": "Thing"},
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "schema": {"openAPIV3Schema": _SCHEMA},
                    }
                ],
            }
        },
        {"storedVersions": ["v1"]},
        name="things.w{which}.{ns}.example.com",
        settled="the initial names have been accepted",
    ),
    Sample(
        "APIService",
        across("apiregistration.k8s.io/v1", "apiservices"),
        {
            "spec": {
                "group": "w{which}.{ns}.example.com",
                "version": "v1",
                "groupPriorityMinimum": 9,
                "versionPriority": 9,
                "service": {"name": "nobody", "namespace": "default"},
                "insecureSkipTLSVerify": True,
            }
        },
        {"conditions": [{"type": "X", "status": "True"}]},
        name="v1.w{which}.{ns}.example.com",
        settled="is not present",
    ),
)
