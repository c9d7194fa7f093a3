"""kube-proxy of a Linux node: Services as nftables rules in the current network namespace."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

from winkube.aio.command import CommandError, run
from winkube.api.meta import labels_of
from winkube.base.types import JsonObject
from winkube.client.informer import Informer
from winkube.client.resource import ENDPOINTSLICES, NODES, SERVICES
from winkube.client.rest import ApiClient
from winkube.proxy.change import ServiceChanges
from winkube.proxy.config import ProxyConfig
from winkube.proxy.conntrack import forget_flows, plan_stale_flows
from winkube.proxy.family import IPV4, Family
from winkube.proxy.loop import PortsByService, SyncLoop
from winkube.proxy.ruleset import (
    NOTHING,
    TABLE,
    Book,
    Rendering,
    base_ruleset,
    remember_clients,
    render_port,
)
from winkube.proxy.service import ServicePort
from winkube.proxy.topology import ZONE_LABEL, Place

NFT_SECONDS: Final = 30.0
log = logging.getLogger(__name__)
__all__ = ["LinuxProxy", "NftPlane", "ProxyConfig"]

Nft = Callable[[str], Awaitable[None]]


async def apply_ruleset(text: str) -> None:
    """Run the text as one transaction."""
    await run(["nft", "-f", "-"], stdin=text.encode(), timeout=NFT_SECONDS)


async def list_clients(family: Family) -> dict[str, dict[str, int]]:
    """Set -> client -> seconds left, of the affinity sets a proxy before this one has filled."""
    try:
        argv = ["nft", "-j", "list", "sets", "table", family.word, TABLE]
        listing = json.loads(await run(argv, timeout=NFT_SECONDS))
    except CommandError:  # the table does not exist yet
        return {}
    sets = [item["set"] for item in listing["nftables"] if "set" in item]
    return {found["name"]: _clients_of(found) for found in sets if found["table"] == TABLE}


def _clients_of(set_: JsonObject) -> dict[str, int]:
    elements = [e["elem"] for e in set_.get("elem") or () if isinstance(e, dict) and "elem" in e]
    return {e["val"]: int(e["expires"]) for e in elements if "expires" in e}


class LinuxProxy:
    def __init__(self, client: ApiClient, config: ProxyConfig) -> None:
        self._services = Informer(client, SERVICES)
        self._slices = Informer(client, ENDPOINTSLICES)
        self._node = Informer(client, NODES, field_selector=f"metadata.name={config.node_name}")
        self._node.on_change(self._node_changed)
        here = Place(config.node_name, heeds_hints=True)
        ranges = config.pod_ranges
        self._changes = ServiceChanges(self._services, self._slices, here, ranges)
        planes = [NftPlane(cidr, family) for family, cidr in ranges.items()]
        self._loop = SyncLoop(self._changes, FamilyPlanes(planes), config)
        self.ready = self._loop.ready

    def _node_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is not None:
            self._changes.move(labels_of(new).get(ZONE_LABEL, ""))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._node.run(), name="proxy node")
            group.create_task(self._services.run(), name="proxy services")
            group.create_task(self._slices.run(), name="proxy endpoint slices")
            group.create_task(self._loop.run(), name="proxy sync")
            group.create_task(self._loop.health.run(), name="proxy health")


class FamilyPlanes:
    """A table for each address family: a Service of both is two sets of ports."""

    def __init__(self, planes: Sequence["NftPlane"]) -> None:
        self._planes = planes

    async def replace(self, ports: PortsByService) -> set[str]:
        found = [await plane.replace(_of_family(ports, plane.family)) for plane in self._planes]
        return set().union(*found)

    async def update(self, ports: PortsByService) -> set[str]:
        found = [await plane.update(_of_family(ports, plane.family)) for plane in self._planes]
        return set().union(*found)

    async def is_intact(self) -> bool:
        return all([await plane.is_intact() for plane in self._planes])


def _of_family(ports: PortsByService, family: Family) -> PortsByService:
    return {
        key: tuple(port for port in found if port.family is family) for key, found in ports.items()
    }


class NftPlane:
    def __init__(
        self, cluster_cidr: str, family: Family = IPV4, *, apply: Nft = apply_ruleset
    ) -> None:
        self.family = family
        self._cidr, self._apply = cluster_cidr, apply
        self._book = Book(family)
        self._ports: dict[str, tuple[ServicePort, ...]] = {}

    async def replace(self, ports: PortsByService) -> set[str]:
        # Connections under way live in conntrack and do not notice a new table.
        old, self._ports = self._ports, {key: found for key, found in ports.items() if found}
        self._book = Book(self.family)
        rendered = self._render(ports.values())
        affine = any(rendering.affinity for rendering in rendered.values())
        clients = await list_clients(self.family) if affine else {}
        commands = self._book.update(rendered)
        commands += remember_clients(rendered.values(), clients, self.family)
        await self._apply(base_ruleset(self.family) + "\n".join(commands) + "\n")
        await self._forget_flows(old, ports)
        return set()

    async def update(self, ports: PortsByService) -> set[str]:
        old = {key: self._ports.pop(key, ()) for key in ports}
        gone = {port.identity: NOTHING for found in old.values() for port in found}
        self._ports |= {key: found for key, found in ports.items() if found}
        commands = self._book.update({**gone, **self._render(ports.values())})
        if commands:
            await self._apply("\n".join(commands) + "\n")
            await self._forget_flows(old, ports)
        return set()

    async def is_intact(self) -> bool:
        # Only the names: listing anything below a table makes nft read all of its rules.
        word = self.family.word
        tables = await run(["nft", "list", "tables", word], timeout=NFT_SECONDS)
        return f"table {word} {TABLE}" in tables.decode().splitlines()

    def _render(self, ports: Iterable[tuple[ServicePort, ...]]) -> dict[str, Rendering]:
        return {port.identity: render_port(port, self._cidr) for found in ports for port in found}

    async def _forget_flows(self, old: PortsByService, new: PortsByService) -> None:
        """Cut UDP flows off from backends they must not reach any more.

        A UDP client may keep its port for ever, and its flow would keep the backend chosen first.
        """
        patterns = plan_stale_flows(old, new)
        if patterns:
            await asyncio.to_thread(forget_flows, patterns)
