"""How many pods of a kind stand where, kept up to date pod by pod.

A *counter* is a namespace set and a label selector; it knows the number of matching pods on each
node. It is made when a constraint first asks and then follows every pod that comes or goes, so that
no decision ever walks pods. Pods of one controller are always counted, by the controller's uid.
"""

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final

from winkube.api.selectors import LabelSelector
from winkube.scheduler.shape import PodInfo

REMEMBERED: Final = 256


class PodCounter:
    def __init__(self, namespaces: frozenset[str] | None, selector: LabelSelector) -> None:
        self._namespaces = namespaces
        self._selector = selector
        self.by_node: Counter[str] = Counter()

    def matches(self, pod: PodInfo) -> bool:
        in_scope = self._namespaces is None or pod.namespace in self._namespaces
        return in_scope and self._selector.matches(pod.labels)

    def change(self, pod: PodInfo, node: str, sign: int) -> None:
        if self.matches(pod):
            self.by_node[node] += sign
            if not self.by_node[node]:
                del self.by_node[node]

    def by_domain(self, domain_of: Callable[[str], str | None]) -> Mapping[str, int]:
        found: Counter[str] = Counter()
        for node, count in self.by_node.items():
            domain = domain_of(node)
            if domain is not None:
                found[domain] += count
        return found


class Counters:
    def __init__(self) -> None:
        self._owners: dict[str, Counter[str]] = defaultdict(Counter)
        self._zones: dict[str, Counter[str]] = defaultdict(Counter)
        self._counters: OrderedDict[Hashable, PodCounter] = OrderedDict()

    def owned(self, owner: str) -> Mapping[str, int]:
        """Pods of one controller, by node."""
        return self._owners.get(owner, {}) if owner else {}

    def owned_by_zone(self, owner: str) -> Mapping[str, int]:
        return self._zones.get(owner, {}) if owner else {}

    def counter(
        self,
        key: Hashable,
        namespaces: frozenset[str] | None,
        selector: LabelSelector,
        pods: Callable[[], Iterable[PodInfo]],
    ) -> PodCounter:
        found = self._counters.get(key)
        if found is None:
            found = self._counters[key] = PodCounter(namespaces, selector)
            for pod in pods():
                found.change(pod, pod.node, 1)
            if len(self._counters) > REMEMBERED:
                self._counters.popitem(last=False)
        else:
            self._counters.move_to_end(key)
        return found

    def rezone(self, pods: Iterable[PodInfo], old: str, new: str) -> None:
        """The node of these pods is in another zone than we thought."""
        for pod in pods:
            if pod.owner and old != new:
                _count(self._zones, pod.owner, old, -1)
                _count(self._zones, pod.owner, new, 1)

    def change(self, pod: PodInfo, sign: int, zone: str) -> None:
        if pod.owner:
            _count(self._owners, pod.owner, pod.node, sign)
            _count(self._zones, pod.owner, zone, sign)
        for counter in self._counters.values():
            counter.change(pod, pod.node, sign)


def _count(table: dict[str, Counter[str]], owner: str, place: str, sign: int) -> None:
    places = table[owner]
    places[place] += sign
    if not places[place]:
        del places[place]
    if not places:
        del table[owner]
