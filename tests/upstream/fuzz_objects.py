"""Good objects with many fields set, one of each kind that is fuzzed: places to go wrong in."""

from typing import Any, Final

from tests.upstream.objects import SAMPLE, Sample

Json = Any
_PROBE: Final = {"httpGet": {"path": "/x", "port": "http"}, "periodSeconds": 5}
POD_SPEC: Final[Json] = {
    "automountServiceAccountToken": False,
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 5,
    "nodeSelector": {"kubernetes.io/os": "windows"},
    "securityContext": {"runAsNonRoot": True, "windowsOptions": {"runAsUserName": "u"}},
    "tolerations": [{"key": "os", "operator": "Equal", "value": "windows", "effect": "NoSchedule"}],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
                ]
            }
        },
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 1,
                    "podAffinityTerm": {
                        "topologyKey": "kubernetes.io/hostname",
                        "labelSelector": {"matchLabels": {"app": "a"}},
                    },
                }
            ]
        },
    },
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": "a"}},
        }
    ],
    "volumes": [
        {"name": "v", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "m", "configMap": {"name": "m", "items": [{"key": "k", "path": "p"}]}},
        {"name": "s", "secret": {"secretName": "s", "defaultMode": 256}},
        {"name": "c", "persistentVolumeClaim": {"claimName": "c"}},
    ],
    "initContainers": [{"name": "i", "image": "i:1", "command": ["true"]}],
    "containers": [
        {
            "name": "c",
            "image": "i:1",
            "args": ["a"],
            "ports": [{"name": "http", "containerPort": 80, "protocol": "TCP"}],
            "env": [
                {"name": "A", "value": "b"},
                {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}},
            ],
            "envFrom": [{"secretRef": {"name": "s"}, "prefix": "P_"}],
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m"}},
            "volumeMounts": [{"name": "v", "mountPath": "/v"}, {"name": "m", "mountPath": "/m"}],
            "livenessProbe": {"exec": {"command": ["x"]}, "initialDelaySeconds": 1},
            "readinessProbe": _PROBE,
            "lifecycle": {"preStop": {"exec": {"command": ["x"]}}},
            "securityContext": {"allowPrivilegeEscalation": False},
        }
    ],
}
LABELS: Final = {"app": "a", "tier": "x"}
TEMPLATE: Final[Json] = {"metadata": {"labels": LABELS}, "spec": POD_SPEC}
SELECTOR: Final = {"matchLabels": {"app": "a"}}
_CLAIM: Final[Json] = {
    "accessModes": ["ReadWriteOnce"],
    "storageClassName": "c",
    "resources": {"requests": {"storage": "1Gi"}},
}


def _core(plural: str) -> str:
    return f"/api/v1/namespaces/{{ns}}/{plural}"


def _at(kind: str, body: Json) -> Sample:
    return Sample(kind, SAMPLE[kind].path, body, name=SAMPLE[kind].name)


def _service(kind: str, **spec: Json) -> Sample:
    port = {"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}
    body = {"spec": {"type": kind, "selector": {"app": "a"}, "ports": [port], **spec}}
    return Sample("Service", _core("services"), body)


def _job(spec: Json) -> Json:
    pods = {**POD_SPEC, "restartPolicy": "Never"}
    return {**spec, "template": {"metadata": {"labels": LABELS}, "spec": pods}}


_JOB: Final = _job(
    {
        "completions": 2,
        "parallelism": 1,
        "completionMode": "Indexed",
        "backoffLimitPerIndex": 1,
        "maxFailedIndexes": 1,
        "activeDeadlineSeconds": 60,
        "ttlSecondsAfterFinished": 5,
        "podFailurePolicy": {
            "rules": [
                {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1, 42]}},
                {
                    "action": "Ignore",
                    "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
                },
            ]
        },
    }
)
_METRICS: Final[Json] = [
    {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
    },
    {
        "type": "Pods",
        "pods": {
            "metric": {"name": "m", "selector": SELECTOR},
            "target": {"type": "AverageValue", "averageValue": "10"},
        },
    },
]
_POLICY: Final = {"type": "Pods", "value": 1, "periodSeconds": 10}
_PEER: Final[Json] = {"podSelector": SELECTOR, "namespaceSelector": SELECTOR}

FUZZED: Final[tuple[Sample, ...]] = (
    Sample("Pod", _core("pods"), {"spec": POD_SPEC}),
    _at(
        "Deployment",
        {
            "spec": {
                "replicas": 2,
                "selector": SELECTOR,
                "minReadySeconds": 1,
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
                "template": TEMPLATE,
            }
        },
    ),
    _at("ReplicaSet", {"spec": {"replicas": 1, "selector": SELECTOR, "template": TEMPLATE}}),
    Sample(
        "ReplicationController",
        _core("replicationcontrollers"),
        {"spec": {"replicas": 1, "selector": {"app": "a"}, "template": TEMPLATE}},
    ),
    _at(
        "StatefulSet",
        {
            "spec": {
                "serviceName": "s",
                "replicas": 1,
                "selector": SELECTOR,
                "template": TEMPLATE,
                "podManagementPolicy": "Parallel",
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}},
                "volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": _CLAIM}],
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"},
            }
        },
    ),
    _at(
        "DaemonSet",
        {
            "spec": {
                "selector": SELECTOR,
                "template": TEMPLATE,
                "updateStrategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxUnavailable": "10%"},
                },
            }
        },
    ),
    _at("Job", {"spec": _JOB}),
    _at(
        "CronJob",
        {
            "spec": {
                "schedule": "*/5 * * * *",
                "timeZone": "Etc/UTC",
                "concurrencyPolicy": "Forbid",
                "startingDeadlineSeconds": 10,
                "successfulJobsHistoryLimit": 1,
                "jobTemplate": {"metadata": {"labels": LABELS}, "spec": _JOB},
            }
        },
    ),
    _service("ClusterIP", sessionAffinity="ClientIP"),
    _service("NodePort", externalTrafficPolicy="Local"),
    _service("LoadBalancer", loadBalancerSourceRanges=["10.0.0.0/8"], loadBalancerClass="a/b"),
    _service("ClusterIP", clusterIP="None", publishNotReadyAddresses=True),
    Sample(
        "Service",
        _core("services"),
        {"spec": {"type": "ExternalName", "externalName": "e.example.com"}},
    ),
    Sample(
        "Endpoints",
        _core("endpoints"),
        {
            "subsets": [
                {
                    "addresses": [{"ip": "192.0.2.1", "nodeName": "n"}],
                    "notReadyAddresses": [{"ip": "192.0.2.2"}],
                    "ports": [{"name": "p", "port": 80}],
                }
            ]
        },
    ),
    _at(
        "EndpointSlice",
        {
            "addressType": "IPv4",
            "endpoints": [
                {
                    "addresses": ["192.0.2.1"],
                    "conditions": {"ready": True},
                    "nodeName": "n",
                    "zone": "z",
                    "targetRef": {"kind": "Pod", "name": "p"},
                }
            ],
            "ports": [{"name": "p", "port": 80, "protocol": "TCP"}],
        },
    ),
    Sample("ConfigMap", _core("configmaps"), {"data": {"a": "b"}, "binaryData": {"c": "YQ=="}}),
    Sample("Secret", _core("secrets"), {"type": "Opaque", "data": {"a": "YQ=="}}),
    Sample("PersistentVolumeClaim", _core("persistentvolumeclaims"), {"spec": _CLAIM}),
    Sample(
        "PersistentVolume",
        "/api/v1/persistentvolumes",
        {
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": "c",
                "hostPath": {"path": "/x"},
                "nodeAffinity": {
                    "required": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
                        ]
                    }
                },
            }
        },
    ),
    _at(
        "StorageClass",
        {
            "provisioner": "example.com/p",
            "parameters": {"a": "b"},
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "Immediate",
            "allowVolumeExpansion": True,
            "mountOptions": ["ro"],
        },
    ),
    _at(
        "HorizontalPodAutoscaler",
        {
            "spec": {
                "minReplicas": 1,
                "maxReplicas": 3,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
                "metrics": _METRICS,
                "behavior": {"scaleUp": {"policies": [_POLICY], "selectPolicy": "Max"}},
            }
        },
    ),
    _at("HorizontalPodAutoscaler v1", SAMPLE["HorizontalPodAutoscaler v1"].body),
    Sample(
        "ResourceQuota",
        _core("resourcequotas"),
        {
            "spec": {
                "hard": {"pods": "1", "requests.cpu": "1", "count/deployments.apps": "2"},
                "scopeSelector": {
                    "matchExpressions": [
                        {"scopeName": "PriorityClass", "operator": "In", "values": ["a"]}
                    ]
                },
            }
        },
    ),
    Sample(
        "LimitRange",
        _core("limitranges"),
        {
            "spec": {
                "limits": [
                    {
                        "type": "Container",
                        "max": {"cpu": "2"},
                        "min": {"cpu": "100m"},
                        "default": {"cpu": "1"},
                        "defaultRequest": {"cpu": "500m"},
                        "maxLimitRequestRatio": {"cpu": "10"},
                    }
                ]
            }
        },
    ),
    _at(
        "PriorityClass",
        {"value": 7, "preemptionPolicy": "Never", "description": "d", "globalDefault": False},
    ),
    _at(
        "PodDisruptionBudget",
        {
            "spec": {
                "minAvailable": "50%",
                "selector": SELECTOR,
                "unhealthyPodEvictionPolicy": "AlwaysAllow",
            }
        },
    ),
    _at(
        "RuntimeClass",
        {
            "handler": "h",
            "overhead": {"podFixed": {"cpu": "1"}},
            "scheduling": {
                "nodeSelector": {"kubernetes.io/os": "windows"},
                "tolerations": [{"key": "os", "operator": "Exists"}],
            },
        },
    ),
    Sample(
        "ServiceAccount",
        _core("serviceaccounts"),
        {
            "secrets": [{"name": "s"}],
            "imagePullSecrets": [{"name": "p"}],
            "automountServiceAccountToken": True,
        },
    ),
    Sample("Namespace", "/api/v1/namespaces", {"spec": {"finalizers": ["kubernetes"]}}),
    Sample(
        "Node",
        "/api/v1/nodes",
        {
            "spec": {
                "podCIDR": "10.1.0.0/24",
                "taints": [{"key": "os", "value": "windows", "effect": "NoSchedule"}],
                "unschedulable": True,
            },
            "status": {"capacity": {"cpu": "1", "pods": "5"}, "allocatable": {"cpu": "1"}},
        },
    ),
    _at(
        "Lease",
        {
            "spec": {
                "holderIdentity": "h",
                "leaseDurationSeconds": 5,
                "leaseTransitions": 1,
                "renewTime": "2020-01-01T00:00:00.000000Z",
            }
        },
    ),
    _at(
        "Role",
        {
            "rules": [
                {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]}
            ]
        },
    ),
    _at(
        "ClusterRole",
        {
            "rules": [
                {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]},
                {"verbs": ["get"], "nonResourceURLs": ["/x"]},
            ]
        },
    ),
    _at("RoleBinding", SAMPLE["RoleBinding"].body),
    _at("ClusterRoleBinding", SAMPLE["ClusterRoleBinding"].body),
    _at(
        "IngressClass",
        {
            "spec": {
                "controller": "example.com/c",
                "parameters": {"apiGroup": "g", "kind": "K", "name": "n", "scope": "Cluster"},
            }
        },
    ),
    _at(
        "Ingress",
        {
            "spec": {
                "ingressClassName": "c",
                "tls": [{"hosts": ["h.example.com"], "secretName": "s"}],
                "rules": [
                    {
                        "host": "h.example.com",
                        "http": {
                            "paths": [
                                {
                                    "path": "/a",
                                    "pathType": "Prefix",
                                    "backend": {"service": {"name": "s", "port": {"number": 80}}},
                                }
                            ]
                        },
                    }
                ],
            }
        },
    ),
    _at(
        "NetworkPolicy",
        {
            "spec": {
                "podSelector": SELECTOR,
                "policyTypes": ["Ingress", "Egress"],
                "ingress": [{"from": [_PEER], "ports": [{"port": 80, "protocol": "TCP"}]}],
                "egress": [
                    {
                        "to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}],
                        "ports": [{"port": 80, "endPort": 90}],
                    }
                ],
            }
        },
    ),
)
