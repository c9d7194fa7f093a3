"""Host-gateway routes: each other node's pod range through that node's address.

Owns the routes with its own protocol number and no others, so that a stale one is recognised
after a crash. Usable alone where pods have to be reachable without running any (the control plane).
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from winkube.aio.command import run
from winkube.aio.queue import WorkQueue
from winkube.aio.supervise import work
from winkube.api.simulation import is_simulated
from winkube.base.types import JsonObject
from winkube.client.informer import Informer
from winkube.client.resource import NODES
from winkube.client.rest import ApiClient
from winkube.proxy.family import IPV4, ONLY_IPV4, Family, Network

ROUTE_PROTOCOL: Final = 174
_CHECK_SECONDS: Final = 10.0
_KEY: Final = "routes"
TABLES: Final = {4: Path("/proc/self/net/route"), 6: Path("/proc/self/net/ipv6_route")}
# Makes the routes as wanted; says whether anything was to be done.
Change = Callable[[Mapping[str, str]], Awaitable[bool]]
log = logging.getLogger(__name__)


def node_address(node: JsonObject, family: Family = IPV4) -> str | None:
    """The node's own word, so it counts only as an address: it becomes part of a command."""
    addresses = (node.get("status") or {}).get("addresses") or ()
    return family.first(a.get("address") for a in addresses if a.get("type") == "InternalIP")


def pod_range(node: JsonObject, family: Family = IPV4) -> Network | None:
    """The node's pod CIDR of the family, once the controller has given it one."""
    spec = node.get("spec") or {}
    return family.find_range((spec.get("podCIDR"), *(spec.get("podCIDRs") or ())))


def plan_routes(nodes: Iterable[JsonObject], own: str, family: Family = IPV4) -> dict[str, str]:
    """Prefix -> next hop for all nodes but ``own``; behind simulated ones there is nobody."""
    wanted: dict[str, str] = {}
    for node in nodes:
        if is_simulated(node):
            continue
        cidr, address = pod_range(node, family), node_address(node, family)
        if node["metadata"]["name"] != own and cidr is not None and address:
            wanted[str(cidr)] = address
    return wanted


def plan_route_commands(wanted: Mapping[str, str], present: Mapping[str, str]) -> list[str]:
    """Lines for ``ip -batch`` that lead from what is there to what is wanted."""
    gone = [
        f"route del {prefix} proto {ROUTE_PROTOCOL}" for prefix in present if prefix not in wanted
    ]
    return gone + [
        f"route replace {prefix} via {hop} proto {ROUTE_PROTOCOL}"
        for prefix, hop in wanted.items()
        if present.get(prefix) != hop
    ]


class NodeRoutes:
    """Keeps the routes of the current network namespace; ``nodes`` is run by the owner."""

    def __init__(self, nodes: Informer, own: str, families: Iterable[Family] = ONLY_IPV4) -> None:
        self.ready = asyncio.Event()
        self._nodes, self._own = nodes, own
        self._queue: WorkQueue[str] = WorkQueue()
        self._tables = {family: RouteTable(family) for family in families}
        nodes.on_change(self._on_node)

    async def run(self) -> None:
        await self._nodes.synced.wait()
        self._queue.add(_KEY)
        await work(self._queue, self._sync)

    def _on_node(self, _key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        # Heartbeats change a node every few seconds; only these two fields are of interest.
        if any(_facts(old, family) != _facts(new, family) for family in self._tables):
            self._queue.add(_KEY)

    async def _sync(self, key: str) -> None:
        for family, table in self._tables.items():
            await table.ensure(plan_routes(self._nodes.list(), self._own, family))
        self.ready.set()
        self._queue.add_after(key, _CHECK_SECONDS)


class PodRoutes:
    """The routes alone, for a namespace without pods that has to reach them: control plane, tor."""

    def __init__(self, client: ApiClient, families: Iterable[Family] = ONLY_IPV4) -> None:
        self._nodes = Informer(client, NODES)
        self._routes = NodeRoutes(self._nodes, "", families)
        self.ready = self._routes.ready

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._nodes.run(), name="pod routes nodes")
            group.create_task(self._routes.run(), name="pod routes")


def _facts(node: JsonObject | None, family: Family) -> tuple[str | None, Network | None]:
    return (None, None) if node is None else (node_address(node, family), pod_range(node, family))


class RouteTable:
    """Ours among the kernel's routes of a family."""

    def __init__(
        self, family: Family = IPV4, shown: Path | None = None, change: Change | None = None
    ) -> None:
        self._shown = shown or TABLES[family.version]
        self._change = change or partial(_change, family)
        # What was wanted, and the table when nothing was missing from it.
        self._settled: tuple[Mapping[str, str], bytes] | None = None

    async def ensure(self, wanted: Mapping[str, str]) -> None:
        # It does not say whose a route is, but it shows without a program that none has changed.
        found = wanted, self._shown.read_bytes()
        if found != self._settled:
            self._settled = None if await self._change(wanted) else found


async def _change(family: Family, wanted: Mapping[str, str]) -> bool:
    commands = plan_route_commands(wanted, await _present_routes(family))
    if commands:
        text = "\n".join(commands) + "\n"
        await run(["ip", "-force", "-batch", "-"], stdin=text.encode())
        log.info("routes changed", extra={"commands": commands})
    return bool(commands)


async def _present_routes(family: Family) -> dict[str, str]:
    listing = ["ip", f"-{family.version}", "-json", "route", "show"]
    text = await run([*listing, "proto", str(ROUTE_PROTOCOL)])
    return {row["dst"]: row.get("gateway", "") for row in json.loads(text or b"[]")}
