"""More good objects to go wrong in: the fields that the first of each kind leaves out."""

from typing import Any, Final

from tests.upstream.fuzz_pod import LINUX_POD
from tests.upstream.objects import JOB_TEMPLATE, SAMPLE, SELECTOR, TEMPLATE, Sample

Json = Any
_CORE: Final = "/api/v1/namespaces/{ns}"


def _at(kind: str, body: Json) -> Sample:
    return Sample(kind, SAMPLE[kind].path, body, name=SAMPLE[kind].name)


def _autoscaler(*metrics: Json) -> Json:
    rules = {"policies": [{"type": "Percent", "value": 50, "periodSeconds": 15}]}
    return {
        "spec": {
            "maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
            "metrics": list(metrics),
            "behavior": {
                "scaleUp": {**rules, "stabilizationWindowSeconds": 0},
                "scaleDown": {**rules, "selectPolicy": "Disabled"},
            },
        }
    }


# Kinds whose small sample is worth trying: there is no larger one, nobody else writes to them, and
# their rules need no compiled expressions.
_SMALL: Final = (
    "CSIDriver", "CSINode", "CSIStorageCapacity", "VolumeAttachment",
    "PriorityLevelConfiguration",
)  # fmt: skip
MORE: Final[tuple[Sample, ...]] = (
    Sample("Pod", f"{_CORE}/pods", {"spec": LINUX_POD}),
    _at(
        "StatefulSet",
        {
            "spec": {
                "serviceName": "s",
                "selector": SELECTOR,
                "template": TEMPLATE,
                "minReadySeconds": 1,
                "revisionHistoryLimit": 2,
                "ordinals": {"start": 1},
                "updateStrategy": {"type": "OnDelete"},
                "persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"},
                "volumeClaimTemplates": [
                    {
                        "metadata": {"name": "d", "labels": {"a": "b"}},
                        "spec": {
                            "accessModes": ["ReadWriteOnce"],
                            "volumeMode": "Block",
                            "selector": SELECTOR,
                            "resources": {"requests": {"storage": "1Gi"}},
                        },
                    },
                    {
                        "metadata": {"name": "e"},
                        "spec": {
                            "accessModes": ["ReadWriteOncePod"],
                            "resources": {"requests": {"storage": "1"}, "limits": {"storage": "2"}},
                        },
                    },
                ],
            }
        },
    ),
    _at(
        "Job",
        {
            "spec": {
                "completions": 4,
                "parallelism": 2,
                "completionMode": "Indexed",
                "backoffLimit": 3,
                "suspend": True,
                "podReplacementPolicy": "Failed",
                "managedBy": "example.com/c",
                "successPolicy": {"rules": [{"succeededIndexes": "0-1,3", "succeededCount": 2}]},
                "podFailurePolicy": {
                    "rules": [
                        {
                            "action": "Count",
                            "onExitCodes": {
                                "containerName": "c",
                                "operator": "NotIn",
                                "values": [0, 1],
                            },
                        }
                    ]
                },
                "template": JOB_TEMPLATE,
            }
        },
    ),
    _at(
        "CronJob",
        {
            "spec": {
                "schedule": "@daily",
                "timeZone": "Europe/Berlin",
                "suspend": False,
                "failedJobsHistoryLimit": 0,
                "concurrencyPolicy": "Replace",
                "jobTemplate": {"spec": {"backoffLimit": 1, "template": JOB_TEMPLATE}},
            }
        },
    ),
    _at(
        "HorizontalPodAutoscaler",
        _autoscaler(
            {
                "type": "Object",
                "object": {
                    "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "s"},
                    "metric": {"name": "m"},
                    "target": {"type": "Value", "value": "10"},
                },
            },
            {
                "type": "External",
                "external": {
                    "metric": {"name": "m", "selector": SELECTOR},
                    "target": {"type": "AverageValue", "averageValue": "1"},
                },
            },
            {
                "type": "ContainerResource",
                "containerResource": {
                    "name": "cpu",
                    "container": "c",
                    "target": {"type": "Utilization", "averageUtilization": 50},
                },
            },
        ),
    ),
    Sample(
        "ResourceQuota",
        f"{_CORE}/resourcequotas",
        {
            "spec": {
                "hard": {"pods": "1"},
                "scopeSelector": {
                    "matchExpressions": [{"scopeName": "NotTerminating", "operator": "Exists"}]
                },
            }
        },
    ),
    Sample(
        "LimitRange",
        f"{_CORE}/limitranges",
        {
            "spec": {
                "limits": [
                    {"type": "Pod", "max": {"memory": "1Gi"}, "maxLimitRequestRatio": {"cpu": "2"}},
                    {"type": "PersistentVolumeClaim", "min": {"storage": "1"}},
                ]
            }
        },
    ),
    Sample(
        "PersistentVolumeClaim",
        f"{_CORE}/persistentvolumeclaims",
        {
            "spec": {
                "accessModes": ["ReadWriteMany", "ReadOnlyMany"],
                "volumeMode": "Block",
                "volumeName": "v",
                "selector": SELECTOR,
                "resources": {"requests": {"storage": "1Gi"}, "limits": {"storage": "2Gi"}},
                "dataSource": {"kind": "PersistentVolumeClaim", "name": "s"},
            }
        },
    ),
    Sample(
        "PersistentVolume",
        "/api/v1/persistentvolumes",
        {
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteMany"],
                "claimRef": {"namespace": "n", "name": "c"},
                "mountOptions": ["ro"],
                "csi": {
                    "driver": "d.example.com",
                    "volumeHandle": "h",
                    "fsType": "ext4",
                    "nodePublishSecretRef": {"name": "s", "namespace": "n"},
                },
            }
        },
    ),
    _at(
        "PodDisruptionBudget",
        {
            "spec": {
                "maxUnavailable": 1,
                "selector": {
                    "matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]
                },
            }
        },
    ),
    _at(
        "EndpointSlice",
        {
            "addressType": "IPv6",
            "endpoints": [
                {
                    "addresses": ["2001:db8::1"],
                    "hostname": "h",
                    "conditions": {"ready": False, "serving": True, "terminating": True},
                    "hints": {"forZones": [{"name": "z"}]},
                }
            ],
            "ports": [{"port": 80, "protocol": "UDP", "appProtocol": "kubernetes.io/h2c"}],
        },
    ),
    _at(
        "Ingress",
        {
            "spec": {
                "defaultBackend": {"resource": {"apiGroup": "g.io", "kind": "K", "name": "n"}},
                "rules": [
                    {
                        "host": "*.example.com",
                        "http": {
                            "paths": [
                                {
                                    "path": "/a",
                                    "pathType": "Exact",
                                    "backend": {"service": {"name": "s", "port": {"name": "http"}}},
                                }
                            ]
                        },
                    }
                ],
            }
        },
    ),
    _at(
        "ClusterRole",
        {"aggregationRule": {"clusterRoleSelectors": [SELECTOR]}, "rules": []},
    ),
    Sample(
        "Service",
        f"{_CORE}/services",
        {
            "spec": {
                "selector": {"app": "a"},
                "ipFamilyPolicy": "PreferDualStack",
                "ipFamilies": ["IPv4"],
                "externalIPs": ["192.0.2.1"],
                "internalTrafficPolicy": "Local",
                "sessionAffinity": "ClientIP",
                "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}},
                "ports": [
                    {"name": "a", "port": 80, "appProtocol": "http"},
                    {"name": "b", "port": 80, "protocol": "UDP", "targetPort": 81},
                ],
            }
        },
    ),
    Sample(
        "PodTemplate",
        f"{_CORE}/podtemplates",
        {"template": {"metadata": {"labels": {"app": "a"}}, "spec": LINUX_POD}},
    ),
    *(SAMPLE[kind] for kind in _SMALL),
)
