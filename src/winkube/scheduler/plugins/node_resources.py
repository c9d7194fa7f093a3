"""Room on a node: what fits, which node is used least or most, which stays balanced.

(kubernetes: plugins/noderesources)
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from winkube.base.types import JsonObject
from winkube.scheduler.cycle import Cycle
from winkube.scheduler.events import NODE_ADDED, NODE_ALLOCATABLE, ClusterEvent
from winkube.scheduler.node import NodeInfo
from winkube.scheduler.plugins.plugin import MAX_SCORE, Plugin, Refusal
from winkube.scheduler.resources import CPU, MEMORY, PODS, is_extended, is_scalar, resource_amount
from winkube.scheduler.shape import PodInfo, Shape
from winkube.scheduler.world import World

LEAST: Final = "LeastAllocated"
MOST: Final = "MostAllocated"
RATIO: Final = "RequestedToCapacityRatio"

# Resources that count, with their weights, in the order of the configuration.
Weights = tuple[tuple[str, int], ...]
Point = tuple[int, int]

DEFAULT_WEIGHTS: Final[Weights] = ((CPU, 1), (MEMORY, 1))


def _least(requested: int, capacity: int) -> int:
    return 0 if requested > capacity else (capacity - requested) * MAX_SCORE // capacity


def _most(requested: int, capacity: int) -> int:
    return min(requested, capacity) * MAX_SCORE // capacity


def _ratio(points: tuple[Point, ...]) -> Callable[[int, int], int]:
    """Straight lines between the points; scores are given as 0 to 10."""

    def score(requested: int, capacity: int) -> int:
        used = 100 if requested > capacity else requested * 100 // capacity
        before: Point | None = None
        for utilization, value in points:
            if used <= utilization:
                if before is None:
                    return value * 10
                rise, run = (value - before[1]) * 10, utilization - before[0]
                return before[1] * 10 + _truncated(rise * (used - before[0]), run)
            before = (utilization, value)
        return points[-1][1] * 10

    return score


def _truncated(number: int, divisor: int) -> int:
    """Division toward zero."""
    quotient = abs(number) // abs(divisor)
    return quotient if (number < 0) == (divisor < 0) else -quotient


@dataclass(frozen=True, slots=True)
class Strategy:
    kind: str = LEAST
    weights: Weights = DEFAULT_WEIGHTS
    points: tuple[Point, ...] = ()

    @property
    def each(self) -> Callable[[int, int], int]:
        return {LEAST: _least, MOST: _most}.get(self.kind) or _ratio(self.points)


def filled(node: NodeInfo, shape: Shape, name: str, *, weighed: bool) -> tuple[int, int] | None:
    """How much of a resource is taken with the pod, and how much there is; None for nothing."""
    if name == CPU:
        taken = node.weight_cpu + shape.weight_cpu if weighed else _taken(node, shape, CPU)
        return (taken, node.cpu) if node.cpu else None
    if name == MEMORY:
        taken = node.weight_memory + shape.weight_memory if weighed else _taken(node, shape, MEMORY)
        return (taken, node.memory) if node.memory else None
    if is_scalar(name) and not shape.requests.get(name):
        return None
    capacity = node.allocatable.get(name, 0)
    return (_taken(node, shape, name), capacity) if capacity else None


def _taken(node: NodeInfo, shape: Shape, name: str) -> int:
    return node.requested[name] + shape.requests.get(name, 0)


class NodeResourcesFit(Plugin):
    name = "NodeResourcesFit"
    filters = True
    scores = True

    def __init__(
        self,
        strategy: Strategy | None = None,
        *,
        ignored: frozenset[str] = frozenset(),
        ignored_groups: frozenset[str] = frozenset(),
    ) -> None:
        self._strategy = strategy or Strategy()
        self._each = self._strategy.each
        self._ratio = self._strategy.kind == RATIO
        self._ignored = ignored
        self._ignored_groups = ignored_groups
        self._plain = self._strategy == Strategy()

    def filter(self, cycle: Cycle, node: NodeInfo) -> Refusal | None:
        requests = cycle.shape.requests
        short = len(node.pods) >= node.pod_limit
        if not short:
            free, used = node.allocatable, node.requested
            for name, amount in requests.items():
                if amount > free.get(name, 0) - used[name]:
                    short = True
                    break
        return self._explain(requests, node) if short else None

    def _explain(self, requests: Mapping[str, int], node: NodeInfo) -> Refusal | None:
        reasons = ["Too many pods"] if len(node.pods) >= node.pod_limit else []
        resolvable = True
        for name, amount in requests.items():
            capacity = node.allocatable.get(name, 0)
            if amount > capacity - node.requested[name] and not self._is_ignored(name):
                reasons.append(f"Insufficient {name}")
                resolvable &= amount <= capacity
        return Refusal(tuple(reasons), resolvable) if reasons else None

    def _is_ignored(self, name: str) -> bool:
        if not is_extended(name):
            return False
        return name in self._ignored or name.partition("/")[0] in self._ignored_groups

    def score(self, cycle: Cycle, node: NodeInfo) -> int:
        shape = cycle.shape
        if self._plain and node.cpu and node.memory:
            cpu, memory = node.weight_cpu + shape.weight_cpu, node.weight_memory
            return (_least(cpu, node.cpu) + _least(memory + shape.weight_memory, node.memory)) // 2
        total = weights = 0
        for name, weight in self._strategy.weights:
            found = filled(node, shape, name, weighed=True)
            value = self._each(*found) if found is not None else 0
            if found is not None and (value > 0 or not self._ratio):
                total += value * weight
                weights += weight
        if not weights:
            return 0
        # The ratio is rounded, half away from zero; the others are cut off.
        return math.floor(total / weights + 0.5) if self._ratio else total // weights

    def hint(self, event: ClusterEvent, pod: PodInfo, world: World) -> bool:
        if event.is_node:
            return bool(event.node & {NODE_ADDED, NODE_ALLOCATABLE}) and _helps(event, pod)
        if event.is_deletion:
            return True
        old, new = event.old_pod, event.new_pod
        if old is None or new is None:
            return False
        return any(
            old.shape.requests.get(name, 0) > new.shape.requests.get(name, 0)
            for name in pod.shape.requests
        )


def _helps(event: ClusterEvent, pod: PodInfo) -> bool:
    """Say whether the node is large enough, and larger than before in something the pod wants."""
    now, before = _amounts(event.new_node), _amounts(event.old_node)
    requests = pod.shape.requests
    if now.get(PODS, 0) < 1 or any(n > now.get(name, 0) for name, n in requests.items()):
        return False
    if event.old_node is None:
        return True
    return any(now.get(name, 0) > before.get(name, 0) for name in (PODS, *requests))


def _amounts(node: JsonObject | None) -> dict[str, int]:
    given = ((node or {}).get("status") or {}).get("allocatable") or {}
    return {name: resource_amount(name, value) for name, value in given.items()}


class NodeResourcesBalancedAllocation(Plugin):
    name = "NodeResourcesBalancedAllocation"
    scores = True

    def __init__(self, weights: Weights = DEFAULT_WEIGHTS) -> None:
        self._names = tuple(name for name, _ in weights)

    def begin_scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> bool:
        return any(cycle.shape.requests.get(name) for name in self._names)

    def score(self, cycle: Cycle, node: NodeInfo) -> int:
        shares: list[float] = []
        for name in self._names:
            found = filled(node, cycle.shape, name, weighed=False)
            if found is not None:
                shares.append(min(1.0, found[0] / found[1]))
        deviation = 0.0
        if len(shares) == 2:
            deviation = abs((shares[0] - shares[1]) / 2)
        elif len(shares) > 2:
            mean = sum(shares) / len(shares)
            deviation = math.sqrt(sum((each - mean) ** 2 for each in shares) / len(shares))
        return int((1 - deviation) * MAX_SCORE)
