"""APIServices that name a service: who answers for a group version, and where it is reached."""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from winkube.api.errors import UnavailableError
from winkube.api.kinds import KindTable
from winkube.api.meta import is_condition_true
from winkube.apiserver.aggregation.local import GROUP
from winkube.apiserver.item import Item
from winkube.apiserver.registry.core import get
from winkube.apiserver.served import Resources
from winkube.apiserver.tls import read_bundle
from winkube.base.types import JsonObject

AVAILABLE: Final = "Available"
SERVICE_NAME: Final = "kubernetes.io/service-name"
_REACHABLE: Final = frozenset({"ClusterIP", "NodePort", "LoadBalancer"})


@dataclass(frozen=True, slots=True)
class Remote:
    """What one APIService says about the server behind it."""

    name: str
    group: str
    version: str
    namespace: str
    service: str
    port: int
    ca: str = ""
    insecure: bool = False
    group_priority: int = 0
    version_priority: int = 0
    available: bool = False

    @property
    def path(self) -> str:
        return f"/apis/{self.group}/{self.version}"

    @property
    def server_name(self) -> str:
        return f"{self.service}.{self.namespace}.svc"


def to_remote(obj: JsonObject) -> Remote | None:
    """None for a group this server answers for itself."""
    spec = obj.get("spec") or {}
    service = spec.get("service")
    if not service:
        return None
    return Remote(
        name=obj["metadata"]["name"],
        group=spec.get("group", ""),
        version=spec.get("version", ""),
        namespace=service.get("namespace", ""),
        service=service.get("name", ""),
        port=service.get("port") or 443,
        ca=read_bundle(spec["caBundle"]) if spec.get("caBundle") else "",
        insecure=bool(spec.get("insecureSkipTLSVerify")),
        group_priority=spec.get("groupPriorityMinimum") or 0,
        version_priority=spec.get("versionPriority") or 0,
        available=is_condition_true(obj, AVAILABLE),
    )


class Remotes:
    """Read from the cache on demand; what does not change is read once."""

    def __init__(self, resources: Resources, kinds: KindTable) -> None:
        self._resources = resources
        self._served = resources.require(GROUP, "v1", "apiservices")
        self._own = {(kind.group, kind.version) for kind in kinds.all()}
        self._known: dict[str, tuple[int, Remote | None]] = {}

    def find(self, group: str, version: str) -> Remote | None:
        if (group, version) in self._own:
            return None
        item = self._served.cache.get(self._served.key("", f"{version}.{group}"))
        return None if item is None else self._read(item)

    def items(self) -> list[Item]:
        return self._served.cache.items()

    def all(self) -> list[Remote]:
        """By group and version, the most important first."""
        found = [remote for item in self.items() if (remote := self._read(item)) is not None]
        found = [each for each in found if (each.group, each.version) not in self._own]
        return sorted(
            found, key=lambda r: (-r.group_priority, r.group, -r.version_priority, r.version)
        )

    def _read(self, item: Item) -> Remote | None:
        revision, remote = self._known.get(item.key, (-1, None))
        if revision != item.revision:
            remote = to_remote(item.load())
            self._known[item.key] = (item.revision, remote)
        return remote

    def service(self, remote: Remote) -> JsonObject:
        return get(self._resources.core("services"), remote.namespace, remote.service).load()

    def slices(self, remote: Remote) -> list[JsonObject]:
        return [item.load() for item in self.slice_items(remote)]

    def slice_items(self, remote: Remote) -> Iterable[Item]:
        served = self._resources.require("discovery.k8s.io", "v1", "endpointslices")
        for item in served.cache.items(served.folder(remote.namespace)):
            if item.labels.get(SERVICE_NAME) == remote.service:
                yield item

    def fingerprint(self, remote: Remote) -> tuple[object, ...]:
        """Equal as long as nothing changed that decides whether the server can be reached."""
        services = self._resources.core("services")
        item = services.cache.get(services.key(remote.namespace, remote.service))
        slices = tuple(each.revision for each in self.slice_items(remote))
        return remote, item.revision if item is not None else 0, slices

    def resolve(self, remote: Remote) -> tuple[str, int]:
        """An address and port of a ready endpoint (upstream's ResolveEndpoint)."""
        service = self.service(remote)
        kind = service["spec"].get("type", "ClusterIP")
        if kind not in _REACHABLE:
            raise UnavailableError(f'unsupported service type "{kind}"')
        name = port_name(service, remote.port)
        if name is None:
            raise UnavailableError(
                f'no service port {remote.port} found for service "{remote.service}"'
            )
        found = endpoints(self.slices(remote), name)
        if not found:
            raise UnavailableError(f'no endpoints available for service "{remote.service}"')
        return random.choice(found)


def port_name(service: JsonObject, port: int) -> str | None:
    ports = service["spec"].get("ports") or ()
    return next((entry.get("name", "") for entry in ports if entry["port"] == port), None)


def endpoints(slices: Iterable[JsonObject], name: str) -> list[tuple[str, int]]:
    return [
        (str(entry["addresses"][0]), int(port["port"]))
        for each in slices
        for port in each.get("ports") or ()
        if port.get("name", "") == name and port.get("port")
        for entry in each.get("endpoints") or ()
        if (entry.get("conditions") or {}).get("ready") is not False
    ]
