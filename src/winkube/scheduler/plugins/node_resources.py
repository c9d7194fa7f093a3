"""Room on a node: what fits, which node is least used, which stays balanced."""

from winkube.scheduler.node import NodeInfo
from winkube.scheduler.plugins.plugin import MAX_SCORE, NO_REASON, Plugin
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.world import World


class NodeResourcesFit(Plugin):
    name = "NodeResourcesFit"

    def filter(self, pod: PodInfo, node: NodeInfo, world: World) -> tuple[str, ...]:
        if fits(pod, node):
            return NO_REASON
        reasons = ["Too many pods"] if len(node.pods) + 1 > node.pod_limit else []
        for name, amount in pod.shape.requests.items():
            if amount > node.allocatable.get(name, 0) - node.requested[name]:
                reasons.append(f"Insufficient {name}")
        return tuple(reasons)

    def score(self, pod: PodInfo, node: NodeInfo, world: World) -> float:
        """LeastAllocated: the mean share of cpu and memory left free."""
        cpu, memory = shares(pod, node)
        return MAX_SCORE * (2.0 - cpu - memory) / 2


class NodeResourcesBalancedAllocation(Plugin):
    name = "NodeResourcesBalancedAllocation"

    def score(self, pod: PodInfo, node: NodeInfo, world: World) -> float:
        cpu, memory = shares(pod, node)
        return MAX_SCORE * (1.0 - abs(cpu - memory) / 2)


def fits(pod: PodInfo, node: NodeInfo) -> bool:
    if len(node.pods) >= node.pod_limit:
        return False
    free, used = node.allocatable, node.requested
    return all(
        amount <= free.get(name, 0) - used[name] for name, amount in pod.shape.requests.items()
    )


def shares(pod: PodInfo, node: NodeInfo) -> tuple[float, float]:
    """How full cpu and memory would be with the pod, 0 to 1."""
    cpu = (node.weight_cpu + pod.shape.weight_cpu) / node.cpu if node.cpu else 1.0
    memory = (node.weight_memory + pod.shape.weight_memory) / node.memory if node.memory else 1.0
    return min(cpu, 1.0), min(memory, 1.0)
