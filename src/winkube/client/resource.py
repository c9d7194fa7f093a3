"""Where each kind lives in the REST API, and the resources the components use."""

import re
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import quote

_PLAIN: Final = re.compile(r"[A-Za-z0-9_.~:-]*").fullmatch


class Resource(NamedTuple):
    group: str
    version: str
    plural: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(
        self, namespace: str | None = None, name: str | None = None, subresource: str | None = None
    ) -> str:
        path = _collection(self, namespace if self.namespaced else None)
        if name:
            path = f"{path}/{_quoted(name)}"
        if subresource:
            path = "/".join((path, *map(_quoted, subresource.split("/"))))
        return path


@lru_cache(maxsize=1024)
def _collection(resource: Resource, namespace: str | None) -> str:
    """Where a kind's objects are; every request asks, and for few of them."""
    group, version = resource.group, resource.version
    parts = ["apis", group, version] if group else ["api", version]
    if namespace:
        parts += ["namespaces", namespace]
    return "/" + "/".join(map(_quoted, [*parts, resource.plural]))


def _quoted(part: str) -> str:
    return part if _PLAIN(part) else quote(part, safe=":")


PODS: Final = Resource("", "v1", "pods", True)
NODES: Final = Resource("", "v1", "nodes", False)
SERVICES: Final = Resource("", "v1", "services", True)
ENDPOINTS: Final = Resource("", "v1", "endpoints", True)
NAMESPACES: Final = Resource("", "v1", "namespaces", False)
CONFIGMAPS: Final = Resource("", "v1", "configmaps", True)
SECRETS: Final = Resource("", "v1", "secrets", True)
SERVICEACCOUNTS: Final = Resource("", "v1", "serviceaccounts", True)
EVENTS: Final = Resource("", "v1", "events", True)
PERSISTENTVOLUMES: Final = Resource("", "v1", "persistentvolumes", False)
PERSISTENTVOLUMECLAIMS: Final = Resource("", "v1", "persistentvolumeclaims", True)
REPLICATIONCONTROLLERS: Final = Resource("", "v1", "replicationcontrollers", True)
RESOURCEQUOTAS: Final = Resource("", "v1", "resourcequotas", True)

DEPLOYMENTS: Final = Resource("apps", "v1", "deployments", True)
REPLICASETS: Final = Resource("apps", "v1", "replicasets", True)
STATEFULSETS: Final = Resource("apps", "v1", "statefulsets", True)
DAEMONSETS: Final = Resource("apps", "v1", "daemonsets", True)
CONTROLLERREVISIONS: Final = Resource("apps", "v1", "controllerrevisions", True)

JOBS: Final = Resource("batch", "v1", "jobs", True)
CRONJOBS: Final = Resource("batch", "v1", "cronjobs", True)
ENDPOINTSLICES: Final = Resource("discovery.k8s.io", "v1", "endpointslices", True)
IPADDRESSES: Final = Resource("networking.k8s.io", "v1", "ipaddresses", False)
SERVICECIDRS: Final = Resource("networking.k8s.io", "v1", "servicecidrs", False)
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", True)
HORIZONTALPODAUTOSCALERS: Final = Resource("autoscaling", "v2", "horizontalpodautoscalers", True)
PODDISRUPTIONBUDGETS: Final = Resource("policy", "v1", "poddisruptionbudgets", True)
PRIORITYCLASSES: Final = Resource("scheduling.k8s.io", "v1", "priorityclasses", False)
RUNTIMECLASSES: Final = Resource("node.k8s.io", "v1", "runtimeclasses", False)
STORAGECLASSES: Final = Resource("storage.k8s.io", "v1", "storageclasses", False)
VOLUMEATTRIBUTESCLASSES: Final = Resource("storage.k8s.io", "v1", "volumeattributesclasses", False)
CLUSTERROLES: Final = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", False)
CLUSTERROLEBINDINGS: Final = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", False
)
CERTIFICATESIGNINGREQUESTS: Final = Resource(
    "certificates.k8s.io", "v1", "certificatesigningrequests", False
)
APISERVICES: Final = Resource("apiregistration.k8s.io", "v1", "apiservices", False)
TOKENREVIEWS: Final = Resource("authentication.k8s.io", "v1", "tokenreviews", False)
SUBJECTACCESSREVIEWS: Final = Resource("authorization.k8s.io", "v1", "subjectaccessreviews", False)
