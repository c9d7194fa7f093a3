"""Objects a new cluster has beside those the API server seeds: DNS, metrics, a storage class.

The DNS and metrics servers are processes in the control plane's namespace, not pods, so their
Services have no selector and their endpoints are written here.
"""

import asyncio
import base64
import contextlib
from typing import Any

from winkube.api.errors import AlreadyExistsError, NotFoundError
from winkube.api.volumes import DEFAULT_CLASS, LOCAL_PATH
from winkube.base.types import JsonObject
from winkube.client.resource import (
    APISERVICES,
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    ENDPOINTSLICES,
    SERVICES,
    STORAGECLASSES,
    Resource,
)
from winkube.client.rest import ApiClient
from winkube.cluster import pki
from winkube.cluster.simulation import SIMULATED_USER
from winkube.cluster.state import ClusterState

_DNS = "kube-dns"
_METRICS = "metrics-server"
METRICS_PORT = 4443
_SYSTEM = "kube-system"


def plan_addons(state: ClusterState) -> list[tuple[Resource, JsonObject]]:
    simulated = [
        (CLUSTERROLES, _simulated_role()),
        (CLUSTERROLEBINDINGS, _simulated_binding()),
    ]
    return [
        *(simulated if state.simulation.count else ()),
        (SERVICES, _dns_service(state)),
        (ENDPOINTSLICES, _dns_endpoints(state)),
        (STORAGECLASSES, _storage_class()),
        (SERVICES, _metrics_service()),
        (ENDPOINTSLICES, _metrics_endpoints(state)),
        (APISERVICES, _metrics_api(state)),
        (CLUSTERROLES, _metrics_reader()),
    ]


async def ensure_addons(state: ClusterState, client: ApiClient) -> None:
    async with asyncio.TaskGroup() as group:
        for resource, obj in plan_addons(state):
            name = f"{resource.plural} {obj['metadata']['name']}"
            group.create_task(_ensure(client, resource, obj), name=name)


async def _ensure(client: ApiClient, resource: Resource, obj: JsonObject) -> None:
    """Make what is not there; a Service that is would be told that its address is taken."""
    namespace = _SYSTEM if resource.namespaced else None
    try:
        await client.get(resource, obj["metadata"]["name"], namespace=namespace)
    except NotFoundError:
        with contextlib.suppress(AlreadyExistsError):
            await client.create(resource, obj, namespace=namespace)


def _dns_service(state: ClusterState) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": _DNS,
            "namespace": _SYSTEM,
            "labels": {"k8s-app": _DNS, "kubernetes.io/cluster-service": "true"},
        },
        "spec": {
            "clusterIP": state.spec.dns_ip,
            "ports": [
                {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 53},
                {"name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": 53},
            ],
        },
    }


def _dns_endpoints(state: ClusterState) -> dict[str, Any]:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": _DNS,
            "namespace": _SYSTEM,
            "labels": {
                "kubernetes.io/service-name": _DNS,
                "endpointslice.kubernetes.io/managed-by": "winkube.io",
            },
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [state.control_plane_ip], "conditions": {"ready": True}}],
        "ports": [
            {"name": "dns", "port": 53, "protocol": "UDP"},
            {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
        ],
    }


def _storage_class() -> JsonObject:
    default = {DEFAULT_CLASS: "true"}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "standard", "annotations": default},
        "provisioner": LOCAL_PATH,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def _metrics_service() -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": _METRICS, "namespace": _SYSTEM, "labels": {"k8s-app": _METRICS}},
        "spec": {
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": METRICS_PORT}]
        },
    }


def _metrics_endpoints(state: ClusterState) -> JsonObject:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": _METRICS,
            "namespace": _SYSTEM,
            "labels": {
                "kubernetes.io/service-name": _METRICS,
                "endpointslice.kubernetes.io/managed-by": "winkube.io",
            },
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [state.control_plane_ip], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": METRICS_PORT, "protocol": "TCP"}],
    }


def _metrics_api(state: ClusterState) -> JsonObject:
    bundle = base64.b64encode(pki.ca_file(state).read_bytes()).decode()
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1beta1.metrics.k8s.io", "labels": {"k8s-app": _METRICS}},
        "spec": {
            "group": "metrics.k8s.io",
            "version": "v1beta1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "caBundle": bundle,
            "service": {"name": _METRICS, "namespace": _SYSTEM, "port": 443},
        },
    }


def _metrics_reader() -> JsonObject:
    """Who may look at pods may look at what they use."""
    roles = ("admin", "edit", "view")
    labels = {f"rbac.authorization.k8s.io/aggregate-to-{role}": "true" for role in roles}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": "system:aggregated-metrics-reader",
            "labels": {"k8s-app": _METRICS, **labels},
        },
        "rules": [
            {
                "apiGroups": ["metrics.k8s.io"],
                "resources": ["pods", "nodes"],
                "verbs": ["get", "list", "watch"],
            }
        ],
    }


def _simulated_role() -> JsonObject:
    """What one process needs that plays many kubelets, and no more: it reads no secrets."""

    def rule(group: str, resources: list[str], *verbs: str) -> JsonObject:
        return {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}

    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": SIMULATED_USER},
        "rules": [
            rule("", ["nodes"], "create", "get", "list", "watch", "patch"),
            rule("", ["pods"], "get", "list", "watch", "delete"),
            rule("", ["nodes/status", "pods/status"], "patch"),
            rule("", ["events"], "create", "patch"),
            rule("events.k8s.io", ["events"], "create", "patch"),
            rule("coordination.k8s.io", ["leases"], "create", "get", "update", "patch"),
        ],
    }


def _simulated_binding() -> JsonObject:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": SIMULATED_USER},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": SIMULATED_USER},
        "subjects": [{"apiGroup": group, "kind": "User", "name": SIMULATED_USER}],
    }
