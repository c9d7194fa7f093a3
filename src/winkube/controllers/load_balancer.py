"""Addresses for Services of type LoadBalancer: from a pool, or from the nodes themselves.

With a pool each service gets an address of its own. Without one it shares the address of a node,
as long as no other service uses the same port there; kube-proxy on that node does the rest.
A service of two address families gets an address of each that there is.
"""

import ipaddress
from collections.abc import Collection, Iterable, Iterator, Sequence

from winkube.api.meta import is_condition_true, is_deleting, key_of, labels_of, name_of
from winkube.base.types import JsonObject
from winkube.client.resource import NODES, SERVICES
from winkube.controllers.controller import Context, Controller

_WAITING = "waiting"
_VERSIONS = {"IPv4": 4, "IPv6": 6}
EXCLUDED = "node.kubernetes.io/exclude-from-external-load-balancers"

PortKey = tuple[str, str, int]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def wants_address(service: JsonObject) -> bool:
    spec = service.get("spec") or {}
    return (
        spec.get("type") == "LoadBalancer"
        and not spec.get("loadBalancerClass")
        and not is_deleting(service)
    )


def ingress_of(service: JsonObject) -> list[str]:
    status = (service.get("status") or {}).get("loadBalancer") or {}
    return [entry["ip"] for entry in status.get("ingress") or () if entry.get("ip")]


def ports_of(service: JsonObject) -> list[tuple[str, int]]:
    return [(port.get("protocol") or "TCP", port["port"]) for port in service["spec"]["ports"]]


def node_addresses(nodes: Iterable[JsonObject]) -> list[str]:
    """Internal addresses of ready nodes, in the order of their names, one of a family each."""
    found: list[str] = []
    for node in sorted(nodes, key=name_of):
        if EXCLUDED in labels_of(node) or not is_condition_true(node, "Ready"):
            continue
        listed = (node.get("status") or {}).get("addresses") or ()
        first: dict[bool, str] = {}
        for entry in listed:
            if entry["type"] == "InternalIP":
                first.setdefault(":" in entry["address"], entry["address"])
        found += first.values()
    return found


class Pool(Collection[str]):
    """Single addresses and networks, in the order given; a network may be too large to list."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._networks = [ipaddress.ip_network(text) for text in texts]

    def of_family(self, version: int) -> "Pool":
        return Pool([str(each) for each in self._networks if each.version == version])

    def __len__(self) -> int:
        return len(self._networks)

    def __iter__(self) -> Iterator[str]:
        for network in self._networks:
            single = network.num_addresses == 1
            yield from map(str, [network.network_address] if single else network.hosts())

    def __contains__(self, text: object) -> bool:
        try:
            address = ipaddress.ip_address(str(text))
        except ValueError:
            return False
        return any(_is_host(address, network) for network in self._networks)


def _is_host(address: Address, network: Network) -> bool:
    if address not in network:
        return False
    # Of two addresses and of one, all are hosts; else the first and, before IPv6, the last are not.
    last = (network.broadcast_address,) if network.version == 4 else ()
    return network.num_addresses <= 2 or address not in (network.network_address, *last)


def plan_groups(service: JsonObject, candidates: Collection[str]) -> list[Collection[str]]:
    """For each address the service is to have, those it may get."""
    spec = service["spec"]
    if spec.get("loadBalancerIP") or not spec.get("ipFamilies"):
        return [candidates]
    groups = [_of_family(candidates, _VERSIONS[family]) for family in spec["ipFamilies"]]
    return [group for group in groups if len(group)]


def _of_family(candidates: Collection[str], version: int) -> Collection[str]:
    if isinstance(candidates, Pool):
        return candidates.of_family(version)
    return [each for each in candidates if ipaddress.ip_address(each).version == version]


def plan_addresses(
    service: JsonObject, groups: Sequence[Collection[str]], taken: set[PortKey], *, shared: bool
) -> list[str]:
    """One of each group, or none at all."""
    found = [plan_address(service, group, taken, shared=shared) for group in groups]
    chosen = [address for address in found if address is not None]
    return chosen if len(chosen) == len(groups) else []


def plan_address(
    service: JsonObject, candidates: Collection[str], taken: set[PortKey], *, shared: bool
) -> str | None:
    """The asked-for address if it is free, else the first free one."""
    wanted = service["spec"].get("loadBalancerIP")
    if wanted:
        candidates = [wanted] if wanted in candidates else []
    addresses = {address for address, _, _ in taken}
    for address in candidates:
        clash = any((address, *port) in taken for port in ports_of(service))
        if not clash and (shared or address not in addresses):
            return address
    return None


class LoadBalancerController(Controller):
    name = "service-lb-controller"
    event_source = "service-controller"
    workers = 1

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._services = self.follow(SERVICES)
        self._services.add_index(_WAITING, _waiting)
        self._services.on_change(self._service_changed)
        self._nodes = self.informer(NODES)
        self._nodes.on_change(self._node_changed)
        # What was given and the cache may not show yet.
        self._given: dict[str, list[str]] = {}

    def _service_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        """Whoever waits may get what this one gives up."""
        if old is None or _claims(old) <= (_claims(new) if new is not None else set()):
            return
        for service in self._services.by_index(_WAITING, _WAITING):
            self.queue.add(key_of(service))

    def _node_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        before = node_addresses([old] if old else [])
        if before != node_addresses([new] if new else []):
            for service in self._services.list():
                if wants_address(service):
                    self.queue.add(key_of(service))

    async def reconcile(self, key: str) -> None:
        service = self._services.get(key)
        if service is None or not wants_address(service):
            self._given.pop(key, None)
            if service is not None and ingress_of(service) and _was_ours(service):
                await self._write(service, [])
            return
        current = ingress_of(service)
        pool = self.context.config.load_balancer_pool
        candidates: Collection[str] = Pool(pool) if pool else node_addresses(self._nodes.list())
        groups, taken = plan_groups(service, candidates), self._taken(key)
        fits = groups and _fit(current, groups)
        if fits and not _clashes(service, current, taken):
            self._given[key] = current
            return
        addresses = plan_addresses(service, groups, taken, shared=not pool)
        if not addresses:
            if candidates:
                message = "no address is free for all ports of this service"
                self.event(service, "Warning", "SyncLoadBalancerFailed", message)
            return
        self._given[key] = addresses
        await self._write(service, addresses)
        self.event(service, "Normal", "EnsuredLoadBalancer", "Ensured load balancer")

    def _taken(self, but: str) -> set[PortKey]:
        taken: set[PortKey] = set()
        for other in self._services.list():
            if (key := key_of(other)) != but:
                taken |= _claims(other, self._given.get(key, ()))
        return taken

    async def _write(self, service: JsonObject, addresses: list[str]) -> None:
        entries = [{"ip": address, "ipMode": "VIP"} for address in addresses]
        status = {**(service.get("status") or {}), "loadBalancer": {"ingress": entries}}
        if not entries:
            status["loadBalancer"] = {}
        await self.client.update(SERVICES, {**service, "status": status}, subresource="status")


def _waiting(service: JsonObject) -> tuple[str, ...]:
    return (_WAITING,) if wants_address(service) and not ingress_of(service) else ()


def _claims(service: JsonObject, given: Iterable[str] = ()) -> set[PortKey]:
    """What the service takes, by its status or by what it was ``given`` a moment ago."""
    if not wants_address(service):
        return set()
    addresses = {*ingress_of(service), *given}
    return {(address, *port) for address in addresses for port in ports_of(service)}


def _fit(addresses: Sequence[str], groups: Sequence[Collection[str]]) -> bool:
    pairs = zip(addresses, groups, strict=False)
    return len(addresses) == len(groups) and all(each in group for each, group in pairs)


def _clashes(service: JsonObject, addresses: Sequence[str], taken: set[PortKey]) -> bool:
    return any((each, *port) in taken for each in addresses for port in ports_of(service))


def _was_ours(service: JsonObject) -> bool:
    return not service["spec"].get("loadBalancerClass")
