"""Pod networks: every node gets its own block of the cluster's pod CIDR, once and for ever."""

import ipaddress
from collections.abc import Collection, Iterable

from winkube.api.meta import is_deleting, name_of
from winkube.base.types import JsonObject
from winkube.client.resource import NODES
from winkube.controllers.controller import Context, Controller

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def plan_cidr(cluster: str, mask: int, taken: Iterable[Network]) -> Network | None:
    """The lowest free block; None when the cluster's range is used up."""
    whole = ipaddress.ip_network(cluster)
    blocked = [network for network in taken if network.version == whole.version]
    exact = {network for network in blocked if network.prefixlen == mask}
    others = [network for network in blocked if network.prefixlen != mask]
    for candidate in whole.subnets(new_prefix=mask):
        if candidate not in exact and not _overlaps(candidate, others):
            return candidate
    return None


def _overlaps(candidate: Network, others: Collection[Network]) -> bool:
    return any(candidate.overlaps(other) for other in others)


def pod_cidrs(node: JsonObject) -> list[Network]:
    spec = node.get("spec") or {}
    texts = spec.get("podCIDRs") or ([spec["podCIDR"]] if spec.get("podCIDR") else [])
    return [ipaddress.ip_network(text) for text in texts]


class NodeCidrController(Controller):
    """One worker: two could give away the same block."""

    name = "node-ipam-controller"
    event_source = "cidrAllocator"
    workers = 1

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        # What was given and the cache may not show yet, by node.
        self._given: dict[str, list[Network]] = {}
        self._nodes = self.informer(NODES)
        self._nodes.on_change(self._node_changed)

    def _node_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is None:
            self._given.pop(key, None)
        elif pod_cidrs(new):
            self._given[key] = pod_cidrs(new)
        else:
            self.queue.add(key)

    async def reconcile(self, key: str) -> None:
        node = self._nodes.get(key)
        if node is None or is_deleting(node) or pod_cidrs(node):
            return
        block = self._given.get(key)
        if block is None:
            taken = [network for networks in self._given.values() for network in networks]
            config = self.context.config
            found = plan_cidr(config.cluster_cidr, config.node_cidr_mask, taken)
            if found is None:
                self.event(
                    node,
                    "Normal",
                    "CIDRNotAvailable",
                    f"Node {name_of(node)} status is now: CIDRNotAvailable",
                )
                return
            block = self._given[key] = [found]
        spec = {"podCIDR": str(block[0]), "podCIDRs": [str(network) for network in block]}
        await self.client.patch(NODES, key, {"spec": spec})
