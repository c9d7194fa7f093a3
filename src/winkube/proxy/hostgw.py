"""The host gateway of a node: its pod network and the routes to the other nodes' pods.

Waits for the node's pod CIDR, brings the network up (Linux bridge or HNS L2Bridge), writes the CNI
configuration when, and only when, pods can use it, and then keeps both as they should be.
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Network
from pathlib import Path
from typing import Final

from winkube.aio.command import run
from winkube.aio.queue import WorkQueue
from winkube.aio.supervise import work
from winkube.base.types import JsonObject
from winkube.client.informer import Informer
from winkube.client.resource import NODES
from winkube.client.rest import ApiClient
from winkube.facts.hns import Feature, supports
from winkube.hns.aclient import AsyncHnsClient
from winkube.proxy.errors import ConfigError
from winkube.proxy.family import IPV4, IPV6, Family, Network, by_family
from winkube.proxy.hnsapi import read_version
from winkube.proxy.linux_network import ensure_linux_network
from winkube.proxy.route import NodeRoutes, pod_range
from winkube.proxy.windows_network import WindowsNetwork, ensure_windows_network

_CHECK_SECONDS: Final = 30.0
_KEY: Final = "network"
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HostGatewayConfig:
    node_name: str
    node_ip: str
    os: str
    # Of one family, or of both with a comma between them.
    cluster_cidr: str
    service_cidr: str
    cluster_dns: str
    cluster_domain: str
    cni_conf_dir: Path
    cni_data_dir: Path
    hns_socket: Path | None = None
    network_name: str = "cbr0"

    def __post_init__(self) -> None:
        IPv4Address(self.node_ip)
        if self.os not in ("linux", "windows"):
            raise ConfigError(f"os {self.os!r} is neither linux nor windows")
        if self.os == "windows" and self.hns_socket is None:
            raise ConfigError("a windows host gateway needs hns_socket")
        if self.families != tuple(by_family(self.service_cidr)):
            raise ConfigError("cluster_cidr and service_cidr are not of the same families")

    @property
    def families(self) -> tuple[Family, ...]:
        return tuple(by_family(self.cluster_cidr))


class HostGateway:
    def __init__(self, client: ApiClient, config: HostGatewayConfig) -> None:
        self.ready = asyncio.Event()
        self._config = config
        self._nodes = Informer(client, NODES)
        self._routes = NodeRoutes(self._nodes, config.node_name, config.families)
        self._queue: WorkQueue[str] = WorkQueue()
        self._nodes.on_change(self._on_node)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._nodes.run(), name="host gateway nodes")
            group.create_task(self._routes.run(), name="host gateway routes")
            group.create_task(work(self._queue, self._ensure), name="host gateway network")

    def _on_node(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if key != self._config.node_name or new is None:
            return
        if old is None or self._ranges(old) != self._ranges(new):
            self._queue.add(_KEY)

    async def _ensure(self, key: str) -> None:
        node = self._nodes.get(self._config.node_name)
        ranges = self._ranges(node) if node is not None else {}
        if not ranges:
            return  # the controller has not got to this node yet; its change wakes us
        await self._ensure_network(ranges)
        await self._routes.ready.wait()
        self.ready.set()
        self._queue.add_after(key, _CHECK_SECONDS)

    def _ranges(self, node: JsonObject) -> dict[Family, Network]:
        """By family; those it should have one of and has not are left out."""
        found = {family: pod_range(node, family) for family in self._config.families}
        return {family: cidr for family, cidr in found.items() if cidr is not None}

    async def _ensure_network(self, ranges: Mapping[Family, Network]) -> None:
        config = self._config
        pods, services = by_family(config.cluster_cidr), by_family(config.service_cidr)
        if config.hns_socket is None or config.os == "linux":
            inside = {family: (pods[family], services[family]) for family in ranges}
            await ensure_linux_network(ranges, inside, config.cni_conf_dir, config.cni_data_dir)
            return
        wanted = WindowsNetwork(
            name=config.network_name,
            pod_cidr=IPv4Network(ranges[IPV4]),
            node=await node_interface(config.node_ip),
            cluster_cidr=pods[IPV4],
            service_cidr=services[IPV4],
            cluster_dns=config.cluster_dns,
            cluster_domain=config.cluster_domain,
        )
        async with AsyncHnsClient(config.hns_socket) as hns:
            if IPV6 in ranges and supports(await read_version(hns), Feature.DUAL_STACK):
                second = IPv6Network(ranges[IPV6])
                wanted = replace(wanted, second_cidr=second, second_services=services[IPV6])
            await ensure_windows_network(hns, wanted, config.cni_conf_dir, config.cni_data_dir)


async def node_interface(ip: str) -> IPv4Interface:
    """The node's address with the prefix of the network it is on (the management network)."""
    rows = json.loads(await run(["ip", "-4", "-json", "address", "show"]))
    for row in rows:
        for address in row.get("addr_info") or ():
            if address.get("local") == ip:
                return IPv4Interface(f"{ip}/{address['prefixlen']}")
    return IPv4Interface(f"{ip}/32")
