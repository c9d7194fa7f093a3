"""Two pods cannot have the same host port on one node."""

from winkube.scheduler.cycle import Cycle
from winkube.scheduler.events import NODE_ADDED, ClusterEvent
from winkube.scheduler.node import NodeInfo
from winkube.scheduler.plugins.plugin import Plugin, Refusal
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.world import World

REFUSAL = Refusal(("node(s) didn't have free ports for the requested pod ports",))


class NodePorts(Plugin):
    name = "NodePorts"
    filters = True

    def begin(self, cycle: Cycle) -> bool:
        return bool(cycle.shape.ports)

    def filter(self, cycle: Cycle, node: NodeInfo) -> Refusal | None:
        if node.ports and any(node.port_taken(port) for port in cycle.shape.ports):
            return REFUSAL
        return None

    def hint(self, event: ClusterEvent, pod: PodInfo, world: World) -> bool:
        if event.is_node:
            return NODE_ADDED in event.node
        if not event.is_deletion or event.old_pod is None or not event.old_pod.shape.ports:
            return False
        alone = NodeInfo("")
        alone.add(event.old_pod)
        return any(alone.port_taken(port) for port in pod.shape.ports)
