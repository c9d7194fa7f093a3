"""podAffinity and podAntiAffinity, also what pods that run already say about others.

(kubernetes: plugins/interpodaffinity)
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from winkube.api.meta import labels_of
from winkube.api.selector.labels import NOTHING
from winkube.scheduler import placed_terms
from winkube.scheduler.cycle import Cycle
from winkube.scheduler.events import NODE_ADDED, NODE_LABELS, ClusterEvent
from winkube.scheduler.node import NodeInfo
from winkube.scheduler.plugins.plugin import MAX_SCORE, Plugin, Refusal
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.terms import Term
from winkube.scheduler.world import World

AFFINITY: Final = Refusal(("node(s) didn't match pod affinity rules",), resolvable=False)
ANTI_AFFINITY: Final = Refusal(("node(s) didn't match pod anti-affinity rules",))
EXISTING: Final = Refusal(("node(s) didn't satisfy existing pods anti-affinity rules",))

# A topology key with a value.
Place = tuple[str, str]


def resolved(terms: Iterable[Term], world: World) -> tuple[Term, ...]:
    """The terms with the namespaces their selectors mean now spelled out."""
    return tuple(_resolved(term, world) for term in terms)


def _resolved(term: Term, world: World) -> Term:
    selector = term.namespace_selector
    if selector.nothing or selector.empty:
        return term
    named = term.namespaces | world.namespaces_of(selector)
    return replace(term, namespaces=named, namespace_selector=NOTHING)


def matches_all(terms: Sequence[Term], pod: PodInfo, world: World) -> bool:
    return bool(terms) and all(term.matches(pod, world.labels_of_namespace) for term in terms)


def _places(by_node: Mapping[str, int], key: str, world: World) -> Iterable[tuple[Place, int]]:
    for name, count in by_node.items():
        node = world.nodes.get(name)
        if node is not None and key in node.labels:
            yield (key, node.labels[key]), count


class _Counts:
    def __init__(self, cycle: Cycle) -> None:
        self._pod, self._world = pod, world = cycle.pod, cycle.world
        self.together = resolved(pod.terms.affinity, world)
        self.apart = resolved(pod.terms.anti_affinity, world)
        # Terms may be many, the keys they speak of are few.
        self._near = tuple({term.topology_key: None for term in self.together})
        self._far = tuple({term.topology_key: None for term in self.apart})
        self.affinity: Counter[Place] = Counter()
        self.anti: Counter[Place] = Counter()
        self.existing: Counter[Place] = Counter()
        self._itself: bool | None = None
        self._shifts: dict[object, list[tuple[Counter[Place], str, int]]] = {}
        for each in world.terms.against(pod, world.labels_of_namespace):
            self._count(self.existing, each.by_node, each.term.topology_key)
        if self.together:
            matching = world.counters.of(self.together, with_terminating=True)
            for key in self._near:
                self._count(self.affinity, matching.by_node, key)
        for term in self.apart:
            matching = world.counters.of((term,), with_terminating=True)
            if matching.total:
                self._count(self.anti, matching.by_node, term.topology_key)

    def _count(self, counts: Counter[Place], by_node: Mapping[str, int], key: str) -> None:
        for place, count in _places(by_node, key, self._world):
            counts[place] += count

    def shift(self, pod: PodInfo, node: NodeInfo, sign: int) -> None:
        alike = (id(pod.terms), pod.namespace, *pod.labels.items())
        shifts = self._shifts.get(alike)
        if shifts is None:
            shifts = self._shifts[alike] = self._shifts_by(pod)
        for counts, key, by in shifts:
            value = node.labels.get(key)
            if value is not None:
                counts[(key, value)] += sign * by

    def _shifts_by(self, pod: PodInfo) -> list[tuple[Counter[Place], str, int]]:
        """What such a pod more or less changes."""
        world = self._world
        labels_of = world.labels_of_namespace
        existing = Counter(
            term.topology_key
            for term in pod.terms.anti_affinity
            if term.matches(self._pod, labels_of)
        )
        anti = Counter(term.topology_key for term in self.apart if term.matches(pod, labels_of))
        near = self._near if matches_all(self.together, pod, world) else ()
        return [
            *((self.existing, key, by) for key, by in existing.items()),
            *((self.affinity, key, 1) for key in near),
            *((self.anti, key, by) for key, by in anti.items()),
        ]

    def refusal(self, node: NodeInfo) -> Refusal | None:
        if self.together and not self._meets_affinity(node):
            return AFFINITY
        labels = node.labels
        for key in self._far if self.anti else ():
            value = labels.get(key)
            if value is not None and self.anti[(key, value)] > 0:
                return ANTI_AFFINITY
        if self.existing and any(self.existing[place] > 0 for place in labels.items()):
            return EXISTING
        return None

    def _meets_affinity(self, node: NodeInfo) -> bool:
        present = True
        for key in self._near:
            value = node.labels.get(key)
            if value is None:
                return False
            present &= self.affinity[(key, value)] > 0
        # The first pod of a group that wants its own company may go anywhere.
        alone = not any(self.affinity.values())
        return present or (alone and self._meets_itself())

    def _meets_itself(self) -> bool:
        if self._itself is None:
            self._itself = matches_all(self.together, self._pod, self._world)
        return self._itself


class _Scores:
    def __init__(self) -> None:
        self.by_key: dict[str, Counter[str]] = defaultdict(Counter)

    def shift(self, pod: PodInfo, node: NodeInfo, sign: int) -> None:
        """Scores are not asked for on trial."""

    def add(self, term: Term, by_node: Mapping[str, int], weight: int, world: World) -> None:
        for (key, value), count in _places(by_node, term.topology_key, world):
            self.by_key[key][value] += weight * count


class InterPodAffinity(Plugin):
    name = "InterPodAffinity"
    relational = True
    filters = True
    scores = True

    def __init__(self, hard_weight: int = 1, *, ignore_existing: bool = False) -> None:
        self._hard_weight = hard_weight
        self._ignore_existing = ignore_existing

    def begin(self, cycle: Cycle) -> bool:
        pod, world = cycle.pod, cycle.world
        own = pod.terms.affinity or pod.terms.anti_affinity
        if not own and not world.terms.against(pod, world.labels_of_namespace):
            return False
        cycle.states[self.name] = _Counts(cycle)
        return True

    def filter(self, cycle: Cycle, node: NodeInfo) -> Refusal | None:
        state = cycle.states[self.name]
        return state.refusal(node) if isinstance(state, _Counts) else None

    # -- scores

    def begin_scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> bool:
        pod, world = cycle.pod, cycle.world
        if self._ignore_existing and not pod.terms.soft:
            return False
        scores = _Scores()
        for sign, terms in ((1, pod.terms.preferred), (-1, pod.terms.avoided)):
            for term in resolved(terms, world):
                counter = world.counters.of((replace(term, weight=0),), with_terminating=True)
                scores.add(term, counter.by_node, sign * term.weight, world)
        for each in world.terms.about(pod, world.labels_of_namespace):
            weight = self._weight(each.kind, each.term)
            if weight:
                scores.add(each.term, each.by_node, weight, world)
        cycle.states[f"{self.name} scores"] = scores
        return bool(scores.by_key)

    def _weight(self, kind: str, term: Term) -> int:
        if kind == placed_terms.HARD:
            return self._hard_weight
        return term.weight if kind == placed_terms.PREFERRED else -term.weight

    def score(self, cycle: Cycle, node: NodeInfo) -> int:
        state = cycle.states[f"{self.name} scores"]
        if not isinstance(state, _Scores):
            return 0
        return sum(
            values[node.labels[key]] for key, values in state.by_key.items() if key in node.labels
        )

    def normalize(self, cycle: Cycle, nodes: Sequence[NodeInfo], raw: list[int]) -> list[int]:
        least, most = min(raw), max(raw)
        if most == least:
            return [0] * len(raw)
        return [int(float(MAX_SCORE) * (float(each - least) / (most - least))) for each in raw]

    # -- hints

    def hint(self, event: ClusterEvent, pod: PodInfo, world: World) -> bool:
        if event.is_node:
            return _node_helps(event, pod)
        old, new = event.old_pod, event.new_pod
        together, apart = pod.terms.affinity, pod.terms.anti_affinity
        if old is not None and new is not None:
            comes = not matches_all(together, old, world) and matches_all(together, new, world)
            goes = matches_all(apart, old, world) and not matches_all(apart, new, world)
            return comes or goes
        if new is not None:
            return matches_all(together, new, world)
        if old is None:
            return False
        # Upstream looks only at the pod's own terms; the terms of the one that left count as well,
        # or a pod they kept away would wait for the long flush.
        freed = any(t.matches(pod, world.labels_of_namespace) for t in old.terms.anti_affinity)
        return freed or matches_all(apart, old, world)


def _node_helps(event: ClusterEvent, pod: PodInfo) -> bool:
    if not event.node & {NODE_ADDED, NODE_LABELS} or event.new_node is None:
        return False
    new = labels_of(event.new_node)
    if event.old_node is None:
        wanted = any(term.topology_key in new for term in pod.terms.affinity)
        return wanted or bool(pod.terms.anti_affinity) or not pod.terms.any
    old = labels_of(event.old_node)
    for term in (*pod.terms.affinity, *pod.terms.anti_affinity):
        before, after = old.get(term.topology_key), new.get(term.topology_key)
        if before != after and (after is not None or term in pod.terms.anti_affinity):
            return True
    return not pod.terms.any
