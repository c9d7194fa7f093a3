"""Pod networks: every node gets its own block of each of the cluster's pod CIDRs, for ever."""

import heapq
import ipaddress
from collections import Counter
from collections.abc import Iterable

from winkube.api.addresses import parse_network
from winkube.api.meta import is_deleting, name_of
from winkube.base.types import JsonObject
from winkube.client.resource import NODES
from winkube.controllers.controller import Context, Controller
from winkube.controllers.node.patch import NODE_WORKERS

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class CidrPool:
    """Blocks of one size, by number; taking the lowest free one does not look at the others."""

    def __init__(self, cluster: str, mask: int) -> None:
        self._whole: Network = ipaddress.ip_network(cluster)
        self._mask = mask
        self._shift = self._whole.max_prefixlen - mask
        self._size = 1 << (mask - self._whole.prefixlen)
        self._used: Counter[int] = Counter()
        self._freed: list[int] = []
        self._fresh = 0

    def take(self) -> Network | None:
        """The lowest free block, now in use; None when the range is used up."""
        while self._freed:
            number = heapq.heappop(self._freed)
            if not self._used[number]:
                return self._give(number)
        while self._fresh < self._size:
            self._fresh += 1
            if not self._used[self._fresh - 1]:
                return self._give(self._fresh - 1)
        return None

    def occupy(self, network: Network) -> None:
        for number in self._numbers(network):
            self._used[number] += 1

    def release(self, network: Network) -> None:
        for number in self._numbers(network):
            self._used[number] -= 1
            if self._used[number] <= 0:
                del self._used[number]
                heapq.heappush(self._freed, number)

    def _give(self, number: int) -> Network:
        self._used[number] += 1
        address = int(self._whole.network_address) + (number << self._shift)
        kind = ipaddress.IPv4Address if self._whole.version == 4 else ipaddress.IPv6Address
        return ipaddress.ip_network((kind(address), self._mask))

    def _numbers(self, network: Network) -> Iterable[int]:
        """The blocks a network touches; one from elsewhere touches none."""
        if network.version != self._whole.version or not network.overlaps(self._whole):
            return ()
        base = int(self._whole.network_address)
        first = max(int(network.network_address), base) - base
        last = min(int(network.broadcast_address), int(self._whole.broadcast_address)) - base
        return range(first >> self._shift, (last >> self._shift) + 1)


def pod_cidrs(node: JsonObject) -> list[Network]:
    spec = node.get("spec") or {}
    texts = spec.get("podCIDRs") or ([spec["podCIDR"]] if spec.get("podCIDR") else [])
    # Read as the API reads them: zeros in front are no reason to end all controllers.
    return [parsed[1] for text in texts if (parsed := parse_network(text)) is not None]


class NodeCidrController(Controller):
    """Many workers: a block is taken before anything is waited for, so none is given twice."""

    name = "node-ipam-controller"
    event_source = "cidrAllocator"
    workers = NODE_WORKERS

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._pools = [CidrPool(*each) for each in context.config.pod_ranges]
        # What each node has, also what was given and the cache may not show yet.
        self._given: dict[str, list[Network]] = {}
        self._hungry: set[str] = set()
        self._nodes = self.informer(NODES)
        self._nodes.on_change(self._node_changed)

    def _node_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is None:
            self._hungry.discard(key)
            self._set(key, [])
            if self._hungry:
                self.queue.add(self._hungry.pop())
        elif old is not None and pod_cidrs(old) and pod_cidrs(old) == pod_cidrs(new):
            return
        elif pod_cidrs(new):
            self._set(key, pod_cidrs(new))
        elif key not in self._hungry:
            self.queue.add(key)

    def _set(self, key: str, networks: list[Network]) -> None:
        before = self._given.pop(key, [])
        if networks:
            self._given[key] = networks
        for pool in self._pools:
            for network in networks:
                pool.occupy(network)
            for network in before:
                pool.release(network)

    def _take(self) -> list[Network] | None:
        """A block of each range, or none at all."""
        found: list[Network] = []
        for pool in self._pools:
            block = pool.take()
            if block is None:
                for taken, source in zip(found, self._pools, strict=False):
                    source.release(taken)
                return None
            found.append(block)
        return found

    async def reconcile(self, key: str) -> None:
        node = self._nodes.get(key)
        if node is None or is_deleting(node) or pod_cidrs(node):
            return
        if key not in self._given:
            found = self._take()
            if found is None:
                self._hungry.add(key)
                message = f"Node {name_of(node)} status is now: CIDRNotAvailable"
                self.event(node, "Normal", "CIDRNotAvailable", message)
                return
            self._given[key] = found
        networks = [str(network) for network in self._given[key]]
        spec = {"podCIDR": networks[0], "podCIDRs": networks}
        await self.context.node_patches.patch(key, {"spec": spec})
