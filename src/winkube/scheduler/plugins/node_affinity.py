"""nodeSelector and nodeAffinity: which nodes a pod wants, and which it would like."""

from winkube.api import node_selector
from winkube.base.types import JsonObject
from winkube.scheduler.node import NodeInfo
from winkube.scheduler.plugins.plugin import MAX_SCORE, NO_REASON, Plugin
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.world import World


def matches_term(node: NodeInfo, term: JsonObject) -> bool:
    return node_selector.matches_term(node.name, node.labels, term)


def matches_node(pod: PodInfo, node: NodeInfo) -> bool:
    if not pod.shape.node_selector.items() <= node.labels.items():
        return False
    required = pod.shape.node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(matches_term(node, term) for term in required.get("nodeSelectorTerms") or ())


class NodeAffinity(Plugin):
    name = "NodeAffinity"
    static = True
    resolvable = False

    def filter(self, pod: PodInfo, node: NodeInfo, world: World) -> tuple[str, ...]:
        if matches_node(pod, node):
            return NO_REASON
        return ("node(s) didn't match Pod's node affinity/selector",)

    def score(self, pod: PodInfo, node: NodeInfo, world: World) -> float:
        """The share of the preferences, by weight, that this node meets."""
        preferred = pod.shape.node_affinity.get("preferredDuringSchedulingIgnoredDuringExecution")
        if not preferred:
            return 0.0
        whole = sum(entry["weight"] for entry in preferred)
        met = sum(
            entry["weight"]
            for entry in preferred
            if not _is_empty(entry["preference"]) and matches_term(node, entry["preference"])
        )
        return MAX_SCORE * met / whole if whole else 0.0


def _is_empty(term: JsonObject) -> bool:
    return not term.get("matchExpressions") and not term.get("matchFields")
