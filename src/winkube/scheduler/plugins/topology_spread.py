"""topologySpreadConstraints, and the default spreading of pods that belong together.

The counts come from counters that follow every pod; a decision looks at nodes and domains only.
(kubernetes: plugins/podtopologyspread)
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from winkube.api.meta import labels_of
from winkube.api.selector.label_query import Requirement
from winkube.api.selector.labels import LabelSelector, from_label_selector
from winkube.base.types import JsonObject
from winkube.scheduler.cycle import Cycle
from winkube.scheduler.events import NODE_ADDED, NODE_LABELS, NODE_TAINTS, ClusterEvent
from winkube.scheduler.node import HOSTNAME, ZONE, NodeInfo
from winkube.scheduler.plugins.node_affinity import matches_node
from winkube.scheduler.plugins.plugin import MAX_SCORE, Plugin, Refusal
from winkube.scheduler.plugins.taint_toleration import untolerated
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.terms import Term
from winkube.scheduler.world import World

NOT_MATCHED: Final = Refusal(("node(s) didn't match pod topology spread constraints",))
MISSING_LABEL: Final = Refusal(
    ("node(s) didn't match pod topology spread constraints (missing required label)",),
    resolvable=False,
)
HARD: Final = "DoNotSchedule"
SOFT: Final = "ScheduleAnyway"
HOST_SKEW: Final = 3
ZONE_SKEW: Final = 5
# What pods that belong together get when nothing else is said.
SYSTEM_DEFAULTS: Final[tuple[JsonObject, ...]] = (
    {"topologyKey": HOSTNAME, "whenUnsatisfiable": SOFT, "maxSkew": HOST_SKEW},
    {"topologyKey": ZONE, "whenUnsatisfiable": SOFT, "maxSkew": ZONE_SKEW},
)


@dataclass(frozen=True, slots=True)
class Constraint:
    max_skew: int
    key: str
    selector: LabelSelector
    min_domains: int = 1
    by_affinity: bool = True
    by_taints: bool = False

    def includes(self, pod: PodInfo, node: NodeInfo) -> bool:
        """Say whether pods on the node count at all."""
        if self.by_affinity and not matches_node(pod, node):
            return False
        return not (self.by_taints and untolerated(node.taints, pod) is not None)


def constraints_of(
    given: Iterable[JsonObject], pod: PodInfo, action: str, selector: LabelSelector | None = None
) -> list[Constraint]:
    return [
        Constraint(
            int(each["maxSkew"]),
            each["topologyKey"],
            _selector(each, pod.labels) if selector is None else selector,
            int(each.get("minDomains") or 1),
            (each.get("nodeAffinityPolicy") or "Honor") == "Honor",
            (each.get("nodeTaintsPolicy") or "Ignore") == "Honor",
        )
        for each in given
        if each.get("whenUnsatisfiable") == action
    ]


def _selector(constraint: JsonObject, labels: Mapping[str, str]) -> LabelSelector:
    found = from_label_selector(constraint.get("labelSelector"))
    keys = [key for key in constraint.get("matchLabelKeys") or () if key in labels]
    if found.nothing or not keys:
        return found
    extra = tuple(Requirement(key, "in", frozenset((labels[key],))) for key in keys)
    return LabelSelector((*extra, *found.requirements))


def _keys(constraints: Iterable[Constraint]) -> frozenset[str]:
    return frozenset(each.key for each in constraints)


def _counted(pod: PodInfo, selector: LabelSelector, world: World) -> Mapping[str, int]:
    """Pods like those the selector means, by node; an empty selector means none."""
    if selector.empty or selector.nothing:
        return {}
    return world.counters.of((Term("", selector, frozenset((pod.namespace,))),)).by_node


class _Domains:
    """Matching pods per domain of one constraint, and the least of them."""

    def __init__(self, constraint: Constraint) -> None:
        self.constraint = constraint
        self.counts: dict[str, int] = {}
        self._sizes: Counter[int] = Counter()
        self._least = 0

    def start(self, counts: dict[str, int]) -> None:
        self.counts = counts
        self._sizes = Counter(counts.values())
        self._least = min(self._sizes, default=0)

    def change(self, domain: str, by: int) -> None:
        have = self.counts.get(domain, 0)
        self._sizes[have] -= 1
        self.counts[domain] = have + by
        self._sizes[have + by] += 1
        self._least = min(self._least, have + by)
        while self._sizes[self._least] <= 0:
            self._least += 1

    @property
    def least(self) -> int:
        return 0 if len(self.counts) < self.constraint.min_domains else self._least


class _Included:
    """Nodes whose pods count, by the policies of constraints: those are few, constraints many."""

    def __init__(self, pod: PodInfo, nodes: Iterable[NodeInfo]) -> None:
        self._pod = pod
        self._nodes = list(nodes)
        self._found: dict[tuple[bool, bool], dict[str, NodeInfo]] = {}
        self._empty: dict[tuple[str, bool, bool], dict[str, int]] = {}

    def by(self, constraint: Constraint) -> dict[str, NodeInfo]:
        policies = (constraint.by_affinity, constraint.by_taints)
        found = self._found.get(policies)
        if found is None:
            wanted = (node for node in self._nodes if constraint.includes(self._pod, node))
            found = self._found[policies] = {node.name: node for node in wanted}
        return found

    def domains(self, constraint: Constraint) -> dict[str, int]:
        """Every value of the constraint's key that counts, with no pods."""
        key = (constraint.key, constraint.by_affinity, constraint.by_taints)
        found = self._empty.get(key)
        if found is None:
            nodes = self.by(constraint).values()
            found = self._empty[key] = {node.labels.get(key[0], ""): 0 for node in nodes}
        return found.copy()


class _Spread:
    def __init__(self, cycle: Cycle, constraints: list[Constraint]) -> None:
        self._pod = pod = cycle.pod
        self._keys = keys = _keys(constraints)
        self.domains = [_Domains(each) for each in constraints]
        self._own = [each.selector.matches(pod.labels) for each in constraints]
        self._matching: dict[object, list[_Domains]] = {}
        nodes = cycle.world.nodes.values()
        included = _Included(pod, (node for node in nodes if keys <= node.labels.keys()))
        for domains in self.domains:
            constraint = domains.constraint
            counts = included.domains(constraint)
            nodes_by_name = included.by(constraint)
            for name, count in _counted(pod, constraint.selector, cycle.world).items():
                node = nodes_by_name.get(name)
                if node is not None:
                    counts[node.labels[constraint.key]] += count
            domains.start(counts)

    def shift(self, pod: PodInfo, node: NodeInfo, sign: int) -> None:
        if pod.namespace != self._pod.namespace or not self._keys <= node.labels.keys():
            return
        alike = tuple(pod.labels.items())
        matching = self._matching.get(alike)
        if matching is None:
            matching = self._matching[alike] = [
                each for each in self.domains if each.constraint.selector.matches(pod.labels)
            ]
        for domains in matching:
            if domains.constraint.includes(self._pod, node):
                domains.change(node.labels[domains.constraint.key], sign)

    def refusal(self, node: NodeInfo) -> Refusal | None:
        for domains, itself in zip(self.domains, self._own, strict=True):
            constraint = domains.constraint
            value = node.labels.get(constraint.key)
            if value is None:
                return MISSING_LABEL
            if domains.counts.get(value, 0) + itself - domains.least > constraint.max_skew:
                return NOT_MATCHED
        return None


@dataclass(slots=True)
class _Soft:
    """What the scores of one decision are made of."""

    constraints: list[Constraint]
    ignored: set[str]
    by_node: list[Mapping[str, int]]
    by_domain: list[dict[str, int]]
    weights: list[float]

    def shift(self, pod: PodInfo, node: NodeInfo, sign: int) -> None:
        """Scores are not asked for on trial."""


class PodTopologySpread(Plugin):
    name = "PodTopologySpread"
    relational = True
    filters = True
    scores = True

    def __init__(self, defaults: tuple[JsonObject, ...] | None = None) -> None:
        """``defaults`` are a list of one's own, or None for the system's."""
        self.system_defaulted = defaults is None
        self._defaults = SYSTEM_DEFAULTS if defaults is None else defaults

    def _constraints(self, pod: PodInfo, world: World, action: str) -> list[Constraint]:
        if pod.shape.spread:
            return constraints_of(pod.shape.spread, pod, action)
        if not any(each.get("whenUnsatisfiable") == action for each in self._defaults):
            return []
        selector = world.spreading.selector(pod)
        return [] if selector is None else constraints_of(self._defaults, pod, action, selector)

    def begin(self, cycle: Cycle) -> bool:
        constraints = self._constraints(cycle.pod, cycle.world, HARD)
        if constraints:
            cycle.states[self.name] = _Spread(cycle, constraints)
        return bool(constraints)

    def filter(self, cycle: Cycle, node: NodeInfo) -> Refusal | None:
        state = cycle.states[self.name]
        return state.refusal(node) if isinstance(state, _Spread) else None

    # -- scores

    def begin_scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> bool:
        pod, world = cycle.pod, cycle.world
        constraints = self._constraints(pod, world, SOFT)
        if not constraints:
            return False
        strict = bool(pod.shape.spread) or not self.system_defaulted
        keys = _keys(constraints) if strict else frozenset[str]()
        ignored = {node.name for node in nodes if not keys <= node.labels.keys()}
        left = [node for node in nodes if node.name not in ignored]
        state = _Soft(constraints, ignored, [], [], [])
        counted = (node for node in world.nodes.values() if keys <= node.labels.keys())
        included = _Included(pod, counted)
        for each in constraints:
            by_node = _counted(pod, each.selector, world)
            state.by_node.append(by_node)
            counts: dict[str, int] = {}
            if each.key != HOSTNAME:
                counts = {node.labels.get(each.key, ""): 0 for node in left}
                nodes_by_name = included.by(each) if by_node else {}
                for name, count in by_node.items():
                    node = nodes_by_name.get(name)
                    value = "" if node is None else node.labels.get(each.key, "")
                    if node is not None and value in counts:
                        counts[value] += count
            state.by_domain.append(counts)
            size = len(left) if each.key == HOSTNAME else len(counts)
            state.weights.append(math.log(size + 2))
        cycle.states[f"{self.name} scores"] = state
        return True

    def score(self, cycle: Cycle, node: NodeInfo) -> int:
        state = cycle.states[f"{self.name} scores"]
        if not isinstance(state, _Soft) or node.name in state.ignored:
            return 0
        total = 0.0
        for number, each in enumerate(state.constraints):
            value = node.labels.get(each.key)
            if value is None:
                continue
            here = each.key == HOSTNAME
            counts, place = (
                (state.by_node[number], node.name) if here else (state.by_domain[number], value)
            )
            total += counts.get(place, 0) * state.weights[number] + (each.max_skew - 1)
        return math.floor(total + 0.5)

    def normalize(self, cycle: Cycle, nodes: Sequence[NodeInfo], raw: list[int]) -> list[int]:
        state = cycle.states[f"{self.name} scores"]
        ignored = state.ignored if isinstance(state, _Soft) else set()
        valid = [score for node, score in zip(nodes, raw, strict=True) if node.name not in ignored]
        least, most = min(valid, default=0), max(valid, default=0)
        return [
            0 if node.name in ignored else spread_score(score, least, most)
            for node, score in zip(nodes, raw, strict=True)
        ]

    # -- hints

    def hint(self, event: ClusterEvent, pod: PodInfo, world: World) -> bool:
        constraints = self._constraints(pod, world, HARD)
        if event.is_node:
            return _node_helps(event, constraints)
        old, new = event.old_pod, event.new_pod
        if any(each is not None and each.namespace != pod.namespace for each in (old, new)):
            return False
        if old is not None and new is not None:
            return any(
                each.selector.matches(old.labels) != each.selector.matches(new.labels)
                for each in constraints
            )
        either = new or old
        labels = either.labels if either is not None else {}
        return any(each.selector.matches(labels) for each in constraints)


def _node_helps(event: ClusterEvent, constraints: list[Constraint]) -> bool:
    if not event.node & {NODE_ADDED, NODE_LABELS, NODE_TAINTS, "removed"}:
        return False
    old, new = event.old_node, event.new_node
    keys = _keys(constraints)
    before = old is not None and keys <= labels_of(old).keys()
    after = new is not None and keys <= labels_of(new).keys()
    if old is None or new is None:
        return before or after
    if before != after:
        return True
    moved = any(labels_of(old).get(key) != labels_of(new).get(key) for key in keys)
    return after and (moved or NODE_TAINTS in event.node)


def spread_score(score: int, least: int, most: int) -> int:
    return MAX_SCORE * (most + least - score) // most if most else MAX_SCORE
