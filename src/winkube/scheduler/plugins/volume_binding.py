"""A pod goes where its volumes are, or where they can be made."""

from winkube.scheduler.node import NodeInfo
from winkube.scheduler.plugins.plugin import NO_REASON, Plugin
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.world import World


class VolumeBinding(Plugin):
    name = "VolumeBinding"
    resolvable = False

    def refuse(self, pod: PodInfo, world: World) -> str:
        return world.volumes.refuse(pod.claims) if pod.claims else ""

    def filter(self, pod: PodInfo, node: NodeInfo, world: World) -> tuple[str, ...]:
        if not pod.claims:
            return NO_REASON
        return world.volumes.choose(pod.claims, (node.name, node.labels)).refusals
