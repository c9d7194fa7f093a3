"""Objects a new cluster has beside those the API server seeds: DNS, a default storage class.

The DNS server is a process in the control plane's namespace, not a pod, so its Service has no
selector and its endpoints are written here.
"""

from typing import Any

from winkube.api.errors import AlreadyExistsError
from winkube.api.volumes import LOCAL_PATH
from winkube.base.types import JsonObject
from winkube.client.resource import ENDPOINTSLICES, SERVICES, STORAGECLASSES, Resource
from winkube.client.rest import ApiClient
from winkube.cluster.state import ClusterState

_DNS = "kube-dns"
_SYSTEM = "kube-system"


def plan_addons(state: ClusterState) -> list[tuple[Resource, JsonObject]]:
    return [
        (SERVICES, _dns_service(state)),
        (ENDPOINTSLICES, _dns_endpoints(state)),
        (STORAGECLASSES, _storage_class()),
    ]


async def ensure_addons(state: ClusterState, client: ApiClient) -> None:
    for resource, obj in plan_addons(state):
        try:
            namespace = _SYSTEM if resource.namespaced else None
            await client.create(resource, obj, namespace=namespace)
        except AlreadyExistsError:
            continue


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
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "standard", "annotations": default},
        "provisioner": LOCAL_PATH,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
