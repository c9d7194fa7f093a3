"""The resources this server serves: a kind, where its objects are stored, and their cache.

Two kinds may share one place in the store (events of two groups, autoscalers of two versions);
then one of them is the stored form and ``conversion`` turns one into the other.
"""

from dataclasses import dataclass
from typing import Final

from winkube.api.errors import NoRouteError
from winkube.api.kinds import Kind, KindTable
from winkube.apiserver.cache import ROOT, Cache, ResourceCache
from winkube.store.types import Store

# Upstream's own exceptions to /registry/<plural>/ (k8s.io/kubernetes: pkg/kubeapiserver).
_FOLDERS: Final = {
    ("", "services"): "services/specs",
    ("", "endpoints"): "services/endpoints",
    ("", "nodes"): "minions",
    ("", "replicationcontrollers"): "controllers",
    ("networking.k8s.io", "ingresses"): "ingress",
    ("apiregistration.k8s.io", "apiservices"): "apiregistration.k8s.io/apiservices",
    ("apiextensions.k8s.io", "customresourcedefinitions"): (
        "apiextensions.k8s.io/customresourcedefinitions"
    ),
}
# (group, version, kind) -> the kind its objects are stored as.
STORED_AS: Final = {
    ("events.k8s.io", "v1", "Event"): ("", "v1", "Event"),
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): (
        "autoscaling",
        "v2",
        "HorizontalPodAutoscaler",
    ),
}


def storage_prefix(kind: Kind) -> str:
    folder = _FOLDERS.get((kind.group, kind.plural), kind.plural)
    return f"{ROOT}{folder}/"


@dataclass(frozen=True, slots=True)
class Served:
    kind: Kind
    stored: Kind
    prefix: str
    cache: ResourceCache

    def key(self, namespace: str, name: str) -> str:
        return f"{self.prefix}{namespace}/{name}" if namespace else f"{self.prefix}{name}"

    def folder(self, namespace: str) -> str:
        return f"{self.prefix}{namespace}/" if namespace else self.prefix

    @property
    def converts(self) -> bool:
        return self.kind is not self.stored


class Resources:
    def __init__(self, kinds: KindTable, store: Store, cache: Cache) -> None:
        self.kinds = kinds
        self.store = store
        self.cache = cache
        self._served: dict[tuple[str, str, str], Served] = {}
        for kind in kinds.all():
            stored = kinds.by_gvk(*STORED_AS.get(kind.gvk, kind.gvk)) or kind
            prefix = storage_prefix(stored)
            self._served[kind.group, kind.version, kind.plural] = Served(
                kind, stored, prefix, cache.resource(prefix)
            )

    def find(self, group: str, version: str, plural: str) -> Served | None:
        return self._served.get((group, version, plural))

    def core(self, plural: str) -> Served:
        """A kind the server itself cannot do without."""
        return self._served["", "v1", plural]

    def require(self, group: str, version: str, plural: str) -> Served:
        served = self.find(group, version, plural)
        if served is None:
            raise NoRouteError
        return served

    def all(self) -> list[Served]:
        return list(self._served.values())


def storage_prefixes(kinds: KindTable) -> list[str]:
    stored = (kinds.by_gvk(*STORED_AS.get(kind.gvk, kind.gvk)) or kind for kind in kinds.all())
    return sorted({storage_prefix(kind) for kind in stored})
