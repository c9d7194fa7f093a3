"""A pod that names its node runs nowhere else."""

from winkube.scheduler.node import NodeInfo
from winkube.scheduler.plugins.plugin import NO_REASON, Plugin
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.world import World


class NodeName(Plugin):
    name = "NodeName"
    static = True
    resolvable = False

    def filter(self, pod: PodInfo, node: NodeInfo, world: World) -> tuple[str, ...]:
        if pod.node and pod.node != node.name:
            return ("node(s) didn't match the requested node name",)
        return NO_REASON
