"""Two pods cannot have the same host port on one node."""

from winkube.scheduler.node import NodeInfo
from winkube.scheduler.plugins.plugin import NO_REASON, Plugin
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.world import World


class NodePorts(Plugin):
    name = "NodePorts"

    def filter(self, pod: PodInfo, node: NodeInfo, world: World) -> tuple[str, ...]:
        if any(node.port_taken(port) for port in pod.shape.ports):
            return ("node(s) didn't have free ports for the requested pod ports",)
        return NO_REASON
