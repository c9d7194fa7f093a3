"""Taints keep pods away unless they are tolerated; cordoned nodes are a taint in disguise."""

from collections.abc import Iterable, Sequence
from typing import Final

from winkube.base.types import JsonObject
from winkube.scheduler.cycle import Cycle
from winkube.scheduler.events import NODE_ADDED, NODE_TAINTS, ClusterEvent
from winkube.scheduler.node import NodeInfo
from winkube.scheduler.plugins.plugin import Plugin, Refusal, by_largest
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.world import World

UNSCHEDULABLE: Final = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
CORDONED: Final = Refusal(("node(s) were unschedulable",), resolvable=False)
_HARD: Final = ("NoSchedule", "NoExecute")


def untolerated(taints: Iterable[JsonObject], pod: PodInfo) -> JsonObject | None:
    """The first taint that keeps the pod away."""
    for taint in taints:
        if taint.get("effect") in _HARD and not pod.shape.tolerated.tolerate(taint):
            return taint
    return None


class NodeUnschedulable(Plugin):
    name = "NodeUnschedulable"
    static = True
    filters = True

    def filter(self, cycle: Cycle, node: NodeInfo) -> Refusal | None:
        if node.unschedulable and not cycle.shape.tolerated.tolerate(UNSCHEDULABLE):
            return CORDONED
        return None

    def hint(self, event: ClusterEvent, pod: PodInfo, world: World) -> bool:
        if not event.node & {NODE_ADDED, NODE_TAINTS} or event.new_node is None:
            return False
        was = event.old_node is None or bool((event.old_node.get("spec") or {}).get(_FIELD))
        return was and not (event.new_node.get("spec") or {}).get(_FIELD)


_FIELD: Final = "unschedulable"


class TaintToleration(Plugin):
    name = "TaintToleration"
    static = True
    filters = True
    scores = True

    def filter(self, cycle: Cycle, node: NodeInfo) -> Refusal | None:
        taint = untolerated(node.taints, cycle.pod) if node.taints else None
        if taint is None:
            return None
        shown = f"{{{taint['key']}: {taint.get('value') or ''}}}"
        return Refusal((f"node(s) had untolerated taint {shown}",), resolvable=False)

    def score(self, cycle: Cycle, node: NodeInfo) -> int:
        """The number of taints that ask the pod to stay away."""
        if not node.taints:
            return 0
        tolerated = cycle.shape.tolerated
        return sum(
            1
            for taint in node.taints
            if taint.get("effect") == "PreferNoSchedule" and not tolerated.tolerate(taint)
        )

    def normalize(self, cycle: Cycle, nodes: Sequence[NodeInfo], raw: list[int]) -> list[int]:
        return by_largest(raw, reverse=True)

    def hint(self, event: ClusterEvent, pod: PodInfo, world: World) -> bool:
        if not event.node & {NODE_ADDED, NODE_TAINTS} or event.new_node is None:
            return False
        was = event.old_node is None or untolerated(_taints(event.old_node), pod) is not None
        return was and untolerated(_taints(event.new_node), pod) is None


def _taints(node: JsonObject) -> list[JsonObject]:
    return (node.get("spec") or {}).get("taints") or []
