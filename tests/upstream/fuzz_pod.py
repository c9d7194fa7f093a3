"""A Linux pod with nearly every field that a pod can have set."""

from typing import Any, Final

from tests.upstream.objects import SELECTOR

LINUX_POD: Final[Any] = {
    "automountServiceAccountToken": False,
    "serviceAccountName": "default",
    "hostname": "h",
    "subdomain": "s",
    "os": {"name": "linux"},
    "dnsPolicy": "None",
    "dnsConfig": {
        "nameservers": ["192.0.2.1"],
        "searches": ["a.example.com"],
        "options": [{"name": "ndots", "value": "2"}],
    },
    "hostAliases": [{"ip": "192.0.2.1", "hostnames": ["a.example.com"]}],
    "readinessGates": [{"conditionType": "example.com/ready"}],
    "schedulingGates": [{"name": "example.com/gate"}],
    "imagePullSecrets": [{"name": "s"}],
    "activeDeadlineSeconds": 60,
    "shareProcessNamespace": True,
    "setHostnameAsFQDN": False,
    "preemptionPolicy": "Never",
    "resourceClaims": [{"name": "c", "resourceClaimName": "x"}],
    "securityContext": {
        "runAsUser": 1000,
        "runAsGroup": 1000,
        "fsGroup": 1000,
        "fsGroupChangePolicy": "OnRootMismatch",
        "supplementalGroups": [1],
        "sysctls": [{"name": "net.ipv4.tcp_syncookies", "value": "1"}],
        "seccompProfile": {"type": "Localhost", "localhostProfile": "p.json"},
        "appArmorProfile": {"type": "RuntimeDefault"},
        "seLinuxOptions": {"level": "s0"},
    },
    "affinity": {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 1,
                    "preference": {
                        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]
                    },
                }
            ]
        },
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "zone",
                    "labelSelector": SELECTOR,
                    "namespaces": ["n"],
                    "matchLabelKeys": ["k"],
                }
            ]
        },
    },
    "volumes": [
        {
            "name": "p",
            "projected": {
                "sources": [
                    {"serviceAccountToken": {"path": "t", "expirationSeconds": 700}},
                    {"configMap": {"name": "m", "optional": True}},
                    {"secret": {"name": "s", "items": [{"key": "k", "path": "p"}]}},
                    {
                        "downwardAPI": {
                            "items": [
                                {"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}},
                                {
                                    "path": "c",
                                    "resourceFieldRef": {
                                        "containerName": "c",
                                        "resource": "limits.cpu",
                                        "divisor": "1m",
                                    },
                                },
                            ]
                        }
                    },
                ]
            },
        },
        {
            "name": "e",
            "ephemeral": {
                "volumeClaimTemplate": {
                    "spec": {
                        "accessModes": ["ReadWriteOnce"],
                        "resources": {"requests": {"storage": "1Gi"}},
                    }
                }
            },
        },
        {"name": "h", "hostPath": {"path": "/x", "type": "Directory"}},
        {"name": "n", "nfs": {"server": "s", "path": "/x"}},
        {"name": "i", "csi": {"driver": "d.example.com", "volumeAttributes": {"a": "b"}}},
        {"name": "o", "image": {"reference": "i:1", "pullPolicy": "Always"}},
    ],
    "initContainers": [
        {
            "name": "side",
            "image": "i:1",
            "restartPolicy": "Always",
            "startupProbe": {"tcpSocket": {"port": 80}, "failureThreshold": 5},
        }
    ],
    "containers": [
        {
            "name": "c",
            "image": "i:1",
            "imagePullPolicy": "Always",
            "workingDir": "/w",
            "stdin": True,
            "tty": True,
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "env": [
                {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                {"name": "B", "valueFrom": {"resourceFieldRef": {"resource": "requests.memory"}}},
            ],
            "envFrom": [{"configMapRef": {"name": "m"}}],
            "ports": [{"containerPort": 80, "hostPort": 8080, "protocol": "UDP"}],
            "resources": {
                "limits": {"cpu": "1", "memory": "1Gi", "example.com/x": "1"},
                "requests": {"memory": "1Mi", "ephemeral-storage": "1Mi"},
                "claims": [{"name": "c"}],
            },
            "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
            "livenessProbe": {"grpc": {"port": 80}, "terminationGracePeriodSeconds": 1},
            "lifecycle": {
                "postStart": {"httpGet": {"port": 80, "httpHeaders": [{"name": "h"}]}},
                "preStop": {"sleep": {"seconds": 1}},
            },
            "volumeMounts": [
                {"name": "p", "mountPath": "/p", "readOnly": True, "subPath": "s"},
                {"name": "h", "mountPath": "/h", "subPathExpr": "$(A)"},
            ],
            "volumeDevices": [{"name": "e", "devicePath": "/d"}],
            "securityContext": {
                "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
                "readOnlyRootFilesystem": True,
                "procMount": "Default",
                "seccompProfile": {"type": "RuntimeDefault"},
            },
        }
    ],
}
