"""A pod that names its node runs nowhere else."""

from winkube.scheduler.cycle import Cycle
from winkube.scheduler.events import ClusterEvent
from winkube.scheduler.node import NodeInfo
from winkube.scheduler.plugins.plugin import Plugin, Refusal
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.world import World

REFUSAL = Refusal(("node(s) didn't match the requested node name",), resolvable=False)


class NodeName(Plugin):
    name = "NodeName"
    static = True
    filters = True

    def begin(self, cycle: Cycle) -> bool:
        return bool(cycle.pod.node)

    def filter(self, cycle: Cycle, node: NodeInfo) -> Refusal | None:
        return REFUSAL if cycle.pod.node and cycle.pod.node != node.name else None

    def hint(self, event: ClusterEvent, pod: PodInfo, world: World) -> bool:
        return "added" in event.node
