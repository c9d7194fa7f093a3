"""The objects DNS answers are made of, from informers, with a note of what each answer read."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from winkube.base.types import JsonObject
from winkube.client.informer import Informer
from winkube.dns.zone import cluster_ips

# What answers about addresses depend on: any change of any Service or EndpointSlice.
BY_ADDRESS: Final = "*"
_SERVICE_LABEL: Final = "kubernetes.io/service-name"
_BY_SERVICE, _BY_IP = "dns service", "dns ip"


class InformerDirectory:
    """A Directory; ``reads`` collects the keys looked at since it was last taken."""

    def __init__(self, services: Informer, slices: Informer, namespaces: Informer) -> None:
        self._services, self._slices, self._namespaces = services, slices, namespaces
        self._reads: set[str] = set()
        services.add_index(_BY_IP, cluster_ips)
        slices.add_index(_BY_SERVICE, _services_of)
        slices.add_index(_BY_IP, _addresses_of)

    def on_change(self, forget: Callable[[Iterable[str]], None]) -> None:
        """Call ``forget`` with the keys whose readers are out of date."""
        self._services.on_change(lambda key, _old, _new: forget((key, BY_ADDRESS)))
        self._namespaces.on_change(lambda key, _old, _new: forget((key,)))
        self._slices.on_change(
            lambda _key, old, new: forget({*_services_of(old), *_services_of(new), BY_ADDRESS})
        )

    def take_reads(self) -> set[str]:
        reads, self._reads = self._reads, set()
        return reads

    def namespace_exists(self, name: str) -> bool:
        self._reads.add(name)
        return self._namespaces.get(name) is not None

    def service(self, key: str) -> JsonObject | None:
        self._reads.add(key)
        return self._services.get(key)

    def slices(self, key: str) -> Sequence[JsonObject]:
        self._reads.add(key)
        return self._slices.by_index(_BY_SERVICE, key)

    def services_at(self, ip: str) -> Sequence[JsonObject]:
        self._reads.add(BY_ADDRESS)
        return self._services.by_index(_BY_IP, ip)

    def slices_at(self, ip: str) -> Sequence[JsonObject]:
        self._reads.add(BY_ADDRESS)
        return self._slices.by_index(_BY_IP, ip)


def _services_of(slice_: JsonObject | None) -> list[str]:
    if slice_ is None:
        return []
    metadata = slice_["metadata"]
    name = (metadata.get("labels") or {}).get(_SERVICE_LABEL)
    return [f"{metadata.get('namespace')}/{name}"] if name else []


def _addresses_of(slice_: JsonObject) -> list[str]:
    return [ip for e in slice_.get("endpoints") or () for ip in e.get("addresses") or ()]
