"""nodeSelector and nodeAffinity: which nodes a pod wants, and which it would like."""

from collections.abc import Mapping, Sequence
from typing import Final

from winkube.api.meta import labels_of, name_of
from winkube.base.types import JsonObject
from winkube.scheduler.cycle import Cycle
from winkube.scheduler.events import NODE_ADDED, NODE_LABELS, ClusterEvent
from winkube.scheduler.node import NodeInfo
from winkube.scheduler.node_terms import preferred_terms, required_terms
from winkube.scheduler.plugins.plugin import Plugin, Refusal, by_largest
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.terms import REQUIRED
from winkube.scheduler.world import World

POD: Final = Refusal(("node(s) didn't match Pod's node affinity/selector",), resolvable=False)
ENFORCED: Final = Refusal(
    ("node(s) didn't match scheduler-enforced node affinity",), resolvable=False
)
CONFLICT: Final = Refusal(("pod affinity terms conflict",), resolvable=False)

Labels = Mapping[str, str]


def is_wanted(pod: PodInfo, name: str, labels: Labels) -> bool:
    selector, required = pod.shape.node_selector, pod.shape.wanted_nodes
    if selector and not selector.items() <= labels.items():
        return False
    return required is None or required.match(name, labels)


def matches_node(pod: PodInfo, node: NodeInfo) -> bool:
    return is_wanted(pod, node.name, node.labels)


class NodeAffinity(Plugin):
    name = "NodeAffinity"
    static = True
    filters = True
    scores = True

    def __init__(self, added: JsonObject | None = None) -> None:
        self._required = required_terms(added or {})
        self._preferred = preferred_terms(added or {})

    def refuse(self, cycle: Cycle) -> Refusal | None:
        return CONFLICT if self.only(cycle) == frozenset() else None

    def only(self, cycle: Cycle) -> frozenset[str] | None:
        required = cycle.shape.node_affinity.get(REQUIRED)
        terms = (required or {}).get("nodeSelectorTerms") or ()
        found: frozenset[str] = frozenset()
        for term in terms:
            names = _named(term)
            if names is None:
                return None
            found |= names
        return found if terms else None

    def begin(self, cycle: Cycle) -> bool:
        shape = cycle.shape
        own = shape.node_selector or shape.wanted_nodes is not None
        return bool(own or self._required is not None)

    def filter(self, cycle: Cycle, node: NodeInfo) -> Refusal | None:
        if self._required is not None and not self._required.match(node.name, node.labels):
            return ENFORCED
        return None if matches_node(cycle.pod, node) else POD

    def begin_scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> bool:
        return bool(self._preferred or cycle.shape.liked_nodes)

    def score(self, cycle: Cycle, node: NodeInfo) -> int:
        """The weights of the preferences this node meets."""
        name, labels = node.name, node.labels
        return sum(each.weight(name, labels) for each in (self._preferred, cycle.shape.liked_nodes))

    def normalize(self, cycle: Cycle, nodes: Sequence[NodeInfo], raw: list[int]) -> list[int]:
        return by_largest(raw)

    def hint(self, event: ClusterEvent, pod: PodInfo, world: World) -> bool:
        if not event.node & {NODE_ADDED, NODE_LABELS} or event.new_node is None:
            return False
        name, labels = name_of(event.new_node), labels_of(event.new_node)
        if self._required is not None and not self._required.match(name, labels):
            return False
        if not is_wanted(pod, name, labels):
            return False
        return event.old_node is None or not is_wanted(pod, name, labels_of(event.old_node))


def _named(term: JsonObject) -> frozenset[str] | None:
    """The names of the nodes a term speaks of, None when it speaks of others too."""
    found: frozenset[str] | None = None
    for each in term.get("matchFields") or ():
        if each["key"] == "metadata.name" and each.get("operator") == "In":
            names = frozenset(each.get("values") or ())
            found = names if found is None else found & names
    return found
