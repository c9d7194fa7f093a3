"""topologySpreadConstraints, and the default spreading of pods of one controller.

The counts come from counters that follow every pod; a decision looks at nodes and domains only.
"""

from collections.abc import Mapping
from typing import Final

import orjson

from winkube.api.selectors import LabelSelector, from_label_selector
from winkube.base.types import JsonObject
from winkube.scheduler.counters import PodCounter
from winkube.scheduler.node import NodeInfo
from winkube.scheduler.plugins.node_affinity import matches_node
from winkube.scheduler.plugins.plugin import MAX_SCORE, NO_REASON, Plugin
from winkube.scheduler.plugins.taint_toleration import is_tolerated
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.world import World

REASON: Final = "node(s) didn't match pod topology spread constraints"
MISSING_LABEL: Final = f"{REASON} (missing required label)"


def default_score(count: int) -> float:
    """For a node with this many pods of the same controller."""
    return MAX_SCORE / (1 + count)


class PodTopologySpread(Plugin):
    name = "PodTopologySpread"

    def __init__(self) -> None:
        self._kept: tuple[tuple[int, str], dict[int, _Domains]] | None = None

    def filter(self, pod: PodInfo, node: NodeInfo, world: World) -> tuple[str, ...]:
        for number, constraint in enumerate(pod.shape.spread):
            if constraint.get("whenUnsatisfiable") != "DoNotSchedule":
                continue
            domain = node.labels.get(constraint["topologyKey"])
            if domain is None:
                return (MISSING_LABEL,)
            domains = self._domains(pod, world, number, constraint)
            if domains.skew_with(domain) > int(constraint["maxSkew"]):
                return (REASON,)
        return NO_REASON

    def score(self, pod: PodInfo, node: NodeInfo, world: World) -> float:
        """Fewer pods in the node's domains score higher."""
        soft = [
            (number, constraint)
            for number, constraint in enumerate(pod.shape.spread)
            if constraint.get("whenUnsatisfiable") == "ScheduleAnyway"
        ]
        if not soft:
            count = world.counters.owned(pod.owner).get(node.name, 0)
            return default_score(count)
        total = 0.0
        for number, constraint in soft:
            domain = node.labels.get(constraint["topologyKey"])
            if domain is not None:
                domains = self._domains(pod, world, number, constraint)
                total += MAX_SCORE / (1 + domains.above_least(domain))
        return total / len(soft)

    def _domains(
        self, pod: PodInfo, world: World, number: int, constraint: JsonObject
    ) -> "_Domains":
        """The counts are the same for every node of one decision."""
        decision = (world.version, pod.key)
        if self._kept is None or self._kept[0] != decision:
            self._kept = (decision, {})
        kept = self._kept[1]
        if number not in kept:
            kept[number] = _Domains(pod, world, constraint)
        return kept[number]


class _Domains:
    """Matching pods per domain, over the nodes this pod may use at all."""

    def __init__(self, pod: PodInfo, world: World, constraint: JsonObject) -> None:
        counter = _counter(pod, world, constraint)
        self._counts: dict[str, int] = {}
        for node in world.nodes.values():
            domain = node.labels.get(constraint["topologyKey"])
            if domain is not None and _is_eligible(pod, node, constraint):
                have = self._counts.get(domain, 0)
                self._counts[domain] = have + counter.by_node.get(node.name, 0)
        least = min(self._counts.values(), default=0)
        if len(self._counts) < int(constraint.get("minDomains") or 1):
            least = 0
        self._least = least
        self._itself = 1 if counter.matches(pod) else 0

    def skew_with(self, domain: str) -> int:
        return self._counts.get(domain, 0) + self._itself - self._least

    def above_least(self, domain: str) -> int:
        return self._counts.get(domain, 0) - self._least


def _is_eligible(pod: PodInfo, node: NodeInfo, constraint: JsonObject) -> bool:
    if constraint.get("nodeAffinityPolicy", "Honor") == "Honor" and not matches_node(pod, node):
        return False
    if constraint.get("nodeTaintsPolicy", "Ignore") == "Honor":
        blocking = (each for each in node.taints if each.get("effect") != "PreferNoSchedule")
        return all(is_tolerated(pod.shape.tolerations, taint) for taint in blocking)
    return True


def _counter(pod: PodInfo, world: World, constraint: JsonObject) -> PodCounter:
    selector = _selector(constraint, pod.labels)
    key = ("spread", pod.namespace, selector)
    return world.counters.counter(key, frozenset((pod.namespace,)), selector, world.pods)


def _selector(constraint: JsonObject, labels: Mapping[str, str]) -> LabelSelector:
    given = constraint.get("labelSelector")
    extra = {key: labels[key] for key in constraint.get("matchLabelKeys") or () if key in labels}
    if given is None or not extra:
        return from_label_selector(given)
    merged = orjson.loads(orjson.dumps(given))
    merged["matchLabels"] = {**(merged.get("matchLabels") or {}), **extra}
    return from_label_selector(merged)
