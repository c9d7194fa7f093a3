"""kube-proxy of a Windows node: Services as HNS load balancers.

Theory of operation: the plane remembers which Service owns which front end and what HNS has there.
A sync resolves the backends of the changed Services to endpoint ids (making remote ones as
needed), then makes, changes or removes only the load balancers that differ. At start, and after
any failure, the memory is filled from HNS itself: what fits is kept, so a restart of the proxy
interrupts nothing; what nobody wants is removed.
"""

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from winkube.base.types import JsonObject
from winkube.client.informer import Informer
from winkube.client.resource import ENDPOINTSLICES, SERVICES
from winkube.client.rest import ApiClient
from winkube.facts.version import SERVED
from winkube.hns.aclient import AsyncHnsClient
from winkube.hns.errors import Code, HnsError, HnsUnavailableError
from winkube.proxy.change import ServiceChanges
from winkube.proxy.config import ProxyConfig
from winkube.proxy.errors import PodNetworkError
from winkube.proxy.hnsapi import Hns, find_network, read_version, same_id
from winkube.proxy.loop import PortsByService, SyncLoop
from winkube.proxy.parallel import run_all
from winkube.proxy.service import ServicePort
from winkube.proxy.topology import Place
from winkube.proxy.winkernel import (
    Balancer,
    EndpointTable,
    Features,
    Frontend,
    Installed,
    balancer_document,
    plan_balancers,
    remote_endpoint_document,
)

log = logging.getLogger(__name__)
__all__ = ["HnsPlane", "ProxyConfig", "WindowsProxy"]
_NETWORK_SECONDS = 5.0
_TAKEN = frozenset({Code.PORT_ALREADY_EXISTS, Code.ALREADY_EXISTS})


class WindowsProxy:
    """``network`` is set by whoever makes the pod network: before that there is nothing to do."""

    def __init__(
        self,
        client: ApiClient,
        hns_socket: Path,
        config: ProxyConfig,
        network: asyncio.Event | None = None,
    ) -> None:
        self._network = network
        self._services = Informer(client, SERVICES)
        self._slices = Informer(client, ENDPOINTSLICES)
        here, families = Place(config.node_name), config.pod_ranges
        changes = ServiceChanges(self._services, self._slices, here, families)
        self._hns = AsyncHnsClient(hns_socket)
        plane = HnsPlane(self._hns, config.network_name, config.kube_version)
        self._loop = SyncLoop(changes, plane, config)
        self.ready = self._loop.ready

    async def run(self) -> None:
        async with self._hns, asyncio.TaskGroup() as group:
            group.create_task(self._services.run(), name="proxy services")
            group.create_task(self._slices.run(), name="proxy endpoint slices")
            group.create_task(self._sync(), name="proxy sync")
            group.create_task(self._loop.health.run(), name="proxy health")

    async def _sync(self) -> None:
        if self._network is not None:
            # Not for ever: one from before our start needs nobody to make it.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_NETWORK_SECONDS):
                    await self._network.wait()
        await self._loop.run()


class HnsPlane:
    def __init__(self, hns: Hns, network_name: str, kube_version: str = SERVED) -> None:
        self._hns, self._network_name = hns, network_name
        self._kube_version = kube_version
        self._network_id = ""
        self._features = Features()
        self._table = EndpointTable({}, {}, ())
        self._installed: dict[Frontend, Installed] = {}
        self._wanted: dict[str, dict[Frontend, Balancer]] = {}
        self._owners: dict[Frontend, str] = {}
        self._denied: set[str] = set()  # Services that want a front end of another

    async def replace(self, ports: PortsByService) -> set[str]:
        network = await find_network(self._hns, self._network_name)
        if network is None:
            raise PodNetworkError(f"HNS has no network {self._network_name!r} yet")
        self._network_id = network["ID"]
        self._features = Features.of_version(await read_version(self._hns), self._kube_version)
        self._owners, self._wanted, self._denied = {}, {}, set()
        await self._adopt()
        unfinished = await self._program(ports)
        await self._remove([front for front in self._installed if front not in self._owners])
        await self._drop_endpoints()
        return unfinished

    async def update(self, ports: PortsByService) -> set[str]:
        if not await self.is_intact():
            raise PodNetworkError(f"network {self._network_name!r} was replaced")
        unfinished = await self._program(ports)
        await self._drop_endpoints()
        return unfinished

    async def is_intact(self) -> bool:
        network = await find_network(self._hns, self._network_name)
        return network is not None and same_id(network["ID"], self._network_id)

    async def _adopt(self) -> None:
        """Every load balancer on a node is the proxy's; keep one for each front end."""
        self._installed = {}
        strays = []
        for document in await self._hns.list("LoadBalancer"):
            found = Installed.parse(document)
            if found is None or found.frontend in self._installed:
                strays.append(document["ID"])
            else:
                self._installed[found.frontend] = found
        await run_all(partial(self._delete, "LoadBalancer", stray) for stray in strays)

    async def _program(self, ports: PortsByService) -> set[str]:
        documents = await self._hns.list("Endpoint", {"VirtualNetwork": self._network_id})
        self._table = EndpointTable.parse(documents)
        gone = self._claim(ports)
        unfinished = await self._ensure_endpoints(ports)
        await self._remove([front for front in gone if front not in self._owners])
        jobs = [(key, b) for key in ports for b in self._wanted.get(key, {}).values()]
        await run_all(partial(self._try_ensure, key, b, unfinished) for key, b in jobs)
        # Who waits for one of the front ends that were given up has its turn next.
        return unfinished | (self._denied - ports.keys() if gone else set())

    def _claim(self, ports: PortsByService) -> list[Frontend]:
        """Record what these Services want; return the front ends they give up."""
        plans = {key: self._plan(found) for key, found in ports.items()}
        gone = []
        # All give up before any takes: a Service may follow another in the same sync.
        for key, plan in plans.items():
            given_up = [front for front in self._wanted.pop(key, {}) if front not in plan]
            for front in given_up:
                del self._owners[front]
            gone += given_up
        for key, plan in plans.items():
            self._take(key, plan)
        return gone

    def _plan(self, ports: Iterable[ServicePort]) -> dict[Frontend, Balancer]:
        plan: dict[Frontend, Balancer] = {}
        for balancer in (b for port in ports for b in plan_balancers(port, self._features)):
            plan.setdefault(balancer.frontend, balancer)
        return plan

    def _take(self, key: str, plan: Mapping[Frontend, Balancer]) -> None:
        self._denied.discard(key)
        own = {front: b for front, b in plan.items() if self._owners.get(front, key) == key}
        for front in plan.keys() - own.keys():
            facts = {"service": key, "owner": self._owners[front], "frontend": front}
            log.warning("front end is taken by another service", extra=facts)
            self._denied.add(key)
        self._owners |= dict.fromkeys(own, key)
        if own:
            self._wanted[key] = own

    async def _ensure_endpoints(self, ports: PortsByService) -> set[str]:
        """Make the remote endpoints that are missing; return Services that still lack one."""
        missing: set[str] = set()
        for key, found in ports.items():
            # CNI makes local ones; this proxy must not, or the pod could not have its address.
            local = {b.ip for port in found for b in port.backends if b.local}
            missing |= self._absent(key) - local
        await run_all(partial(self._make_remote, ip) for ip in sorted(missing))
        return {key for key in ports if self._absent(key)}

    def _absent(self, key: str) -> set[str]:
        wanted = {ip for b in self._wanted.get(key, {}).values() for ip in b.backends}
        return {ip for ip in wanted if self._table.find(ip) is None}

    async def _make_remote(self, ip: str) -> None:
        document = remote_endpoint_document(self._network_id, ip)
        try:
            self._table.remote[ip] = (await self._hns.create("Endpoint", document))["ID"]
        except HnsUnavailableError:
            raise
        except HnsError as error:
            log.warning("remote endpoint failed", extra={"ip": ip, "error": str(error)})

    async def _try_ensure(self, key: str, balancer: Balancer, unfinished: set[str]) -> None:
        """An error about one load balancer delays its Service alone."""
        try:
            await self._ensure(balancer)
        except HnsUnavailableError:
            raise
        except HnsError as error:
            facts = {"service": key, "frontend": balancer.frontend, "error": str(error)}
            log.warning("load balancer failed", extra=facts)
            unfinished.add(key)

    async def _ensure(self, balancer: Balancer) -> None:
        ids = {self._table.find(ip) for ip in balancer.backends}
        endpoint_ids = frozenset(found for found in ids if found is not None)
        current = self._installed.get(balancer.frontend)
        if current is not None and current.is_for(balancer, endpoint_ids):
            return
        if not endpoint_ids:
            await self._remove([balancer.frontend] if current else [])
            return
        document = balancer_document(balancer, endpoint_ids)
        if current is not None and self._features.modify_balancer:
            await self._hns.modify("LoadBalancer", current.balancer_id, document)
            made = {**document, "ID": current.balancer_id}
        else:
            await self._remove([balancer.frontend] if current else [])
            made = await self._create(balancer.frontend, document)
        installed = Installed.parse(made)
        if installed is not None:
            self._installed[balancer.frontend] = installed

    async def _create(self, frontend: Frontend, document: JsonObject) -> JsonObject:
        try:
            return await self._hns.create("LoadBalancer", document)
        except HnsError as error:
            if error.code not in _TAKEN:
                raise
        # HNS may bring one back after its own restart: make room and try once more.
        for other in await self._hns.list("LoadBalancer"):
            found = Installed.parse(other)
            if found is not None and found.frontend == frontend:
                await self._delete("LoadBalancer", found.balancer_id)
        return await self._hns.create("LoadBalancer", document)

    async def _remove(self, frontends: Iterable[Frontend]) -> None:
        present = [front for front in frontends if front in self._installed]
        await run_all(partial(self._remove_one, front) for front in present)

    async def _remove_one(self, frontend: Frontend) -> None:
        await self._delete("LoadBalancer", self._installed[frontend].balancer_id)
        del self._installed[frontend]

    async def _drop_endpoints(self) -> None:
        """Delete stand-ins that no Service uses, and those that a local endpoint replaced."""
        used = {ip for found in self._wanted.values() for b in found.values() for ip in b.backends}
        idle = [ip for ip in self._table.remote if ip not in used]
        ids = [self._table.remote.pop(ip) for ip in idle]
        ids += self._table.duplicates
        await run_all(partial(self._delete, "Endpoint", endpoint) for endpoint in ids)

    async def _delete(self, kind: str, identity: str) -> None:
        try:
            await self._hns.delete(kind, identity)
        except HnsError as error:
            if not error.is_not_found:
                raise
