"""The webhook as a workload of the cluster: who it is, what it may read, where it runs."""

from typing import Final

from winkube.base.types import JsonObject

_PORT: Final = 8443
_USER: Final = 65532
# The API server hears of an endpoint's end a little later than the endpoint does.
_LINGER_SECONDS: Final = 5
_START_SECONDS: Final = 120


def workload(name: str, namespace: str, image: str, replicas: int) -> list[JsonObject]:
    place = {"name": name, "namespace": namespace}
    labels = {"app.kubernetes.io/name": name}
    return [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": namespace,
                "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
            },
        },
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": place},
        *_rights(name, namespace),
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": place,
            "spec": {
                "selector": labels,
                "ports": [{"name": "https", "port": 443, "targetPort": "https"}],
            },
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {**place, "labels": labels},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": _pod(name, image, labels),
                },
            },
        },
    ]


def _rights(name: str, namespace: str) -> list[JsonObject]:
    api, group = "rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io"
    reads = ["get", "list", "watch"]
    return [
        {
            "apiVersion": api,
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": [
                {"apiGroups": [""], "resources": ["nodes"], "verbs": reads},
                {"apiGroups": ["node.k8s.io"], "resources": ["runtimeclasses"], "verbs": reads},
            ],
        },
        {
            "apiVersion": api,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
        },
    ]


def _pod(name: str, image: str, labels: dict[str, str]) -> JsonObject:
    apart = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": labels},
    }
    preferred = [{"weight": 100, "podAffinityTerm": apart}]
    return {
        "serviceAccountName": name,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "affinity": {
            "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
        },
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(image)],
        "volumes": [{"name": "tls", "secret": {"secretName": f"{name}-tls", "defaultMode": 288}}],
    }


def _container(image: str) -> JsonObject:
    return {
        "name": "webhook",
        "image": image,
        "command": ["winkube", "webhook", "serve"],
        "args": [
            "--in-cluster",
            f"--listen=0.0.0.0:{_PORT}",
            "--cert=/tls/tls.crt",
            "--key=/tls/tls.key",
            f"--linger={_LINGER_SECONDS}",
        ],
        "ports": [{"name": "https", "containerPort": _PORT}],
        # On a slow machine, or where Python may not keep what it compiled, starting takes a while.
        "startupProbe": _probe("/healthz", 1) | {"failureThreshold": _START_SECONDS},
        "readinessProbe": _probe("/readyz", 5),
        "livenessProbe": _probe("/healthz", 20),
        "resources": {
            "requests": {"cpu": "50m", "memory": "96Mi"},
            "limits": {"memory": "256Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "tls", "mountPath": "/tls", "readOnly": True}],
    }


def _probe(path: str, period: int) -> JsonObject:
    http = {"path": path, "port": "https", "scheme": "HTTPS"}
    return {"httpGet": http, "periodSeconds": period, "timeoutSeconds": 3}
