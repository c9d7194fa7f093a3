"""podAffinity and podAntiAffinity, also the anti-affinity of pods that run already."""

from collections.abc import Iterable, Mapping
from typing import Final

from winkube.api.selectors import from_label_selector
from winkube.base.types import JsonObject
from winkube.scheduler.counters import PodCounter
from winkube.scheduler.node import NodeInfo
from winkube.scheduler.plugins.plugin import MAX_SCORE, NO_REASON, Plugin
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.world import World, term_namespaces

AFFINITY: Final = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY: Final = "node(s) didn't match pod anti-affinity rules"
EXISTING: Final = "node(s) didn't satisfy existing pods anti-affinity rules"
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


class InterPodAffinity(Plugin):
    name = "InterPodAffinity"

    def __init__(self) -> None:
        self._kept: tuple[tuple[int, str], _Terms] | None = None

    def filter(self, pod: PodInfo, node: NodeInfo, world: World) -> tuple[str, ...]:
        shape = pod.shape
        if not shape.pod_affinity and not shape.pod_anti_affinity and not world.anti_terms:
            return NO_REASON
        terms = self._terms(pod, world)
        if not terms.meets_affinity(node):
            return (AFFINITY,)
        if terms.meets_any(terms.apart, node):
            return (ANTI_AFFINITY,)
        if terms.meets_any(terms.existing, node):
            return (EXISTING,)
        return NO_REASON

    def score(self, pod: PodInfo, node: NodeInfo, world: World) -> float:
        wanted = pod.shape.pod_affinity.get(PREFERRED) or ()
        unwanted = pod.shape.pod_anti_affinity.get(PREFERRED) or ()
        whole = sum(entry["weight"] for entry in (*wanted, *unwanted))
        if not whole:
            return 0.0
        terms = self._terms(pod, world)
        met = sum(weight for domains, weight in terms.preferred if domains.holds(node))
        return float(MAX_SCORE * (met + whole) / (2 * whole))

    def _terms(self, pod: PodInfo, world: World) -> "_Terms":
        decision = (world.version, pod.key)
        if self._kept is None or self._kept[0] != decision:
            self._kept = (decision, _Terms(pod, world))
        return self._kept[1]


class _Domain:
    """Where pods of a term stand: the values of its topology key that have at least one."""

    def __init__(self, key: str, by_node: Mapping[str, int], world: World) -> None:
        self._key = key
        nodes = (world.nodes.get(name) for name, count in by_node.items() if count > 0)
        self.values = {
            node.labels[key] for node in nodes if node is not None and key in node.labels
        }

    def holds(self, node: NodeInfo) -> bool:
        value = node.labels.get(self._key)
        return value is not None and value in self.values

    def known(self, node: NodeInfo) -> bool:
        return self._key in node.labels


class _Terms:
    def __init__(self, pod: PodInfo, world: World) -> None:
        self._pod, self._world = pod, world
        required = pod.shape.pod_affinity.get(REQUIRED) or ()
        self.together = [self._domain(term) for term in required]
        apart = pod.shape.pod_anti_affinity.get(REQUIRED) or ()
        self.apart = [self._domain(term)[0] for term in apart]
        self.existing = [
            _Domain(term.topology_key, term.counter.by_node, world)
            for term in world.anti_terms.values()
            if term.counter.matches(pod)
        ]
        self.preferred = [
            *self._weighted(pod.shape.pod_affinity, 1),
            *self._weighted(pod.shape.pod_anti_affinity, -1),
        ]

    def meets_affinity(self, node: NodeInfo) -> bool:
        if not self.together:
            return True
        if not all(domain.known(node) for domain, _ in self.together):
            return False
        if all(domain.holds(node) for domain, _ in self.together):
            return True
        # The first pod of a group that wants its own company may go anywhere.
        nobody = not any(domain.values for domain, _ in self.together)
        return nobody and all(counter.matches(self._pod) for _, counter in self.together)

    def meets_any(self, domains: Iterable[_Domain], node: NodeInfo) -> bool:
        return any(domain.holds(node) for domain in domains)

    def _weighted(self, affinity: JsonObject, sign: int) -> list[tuple[_Domain, int]]:
        return [
            (self._domain(entry["podAffinityTerm"])[0], sign * int(entry["weight"]))
            for entry in affinity.get(PREFERRED) or ()
        ]

    def _domain(self, term: JsonObject) -> tuple[_Domain, PodCounter]:
        namespaces = term_namespaces(term, self._pod.namespace)
        selector = from_label_selector(term.get("labelSelector"))
        key = ("affinity", namespaces, selector)
        counter = self._world.counters.counter(key, namespaces, selector, self._world.pods)
        return _Domain(term["topologyKey"], counter.by_node, self._world), counter
