"""How many pods of a kind stand where, kept up to date pod by pod.

A *counter* knows the number of pods on each node, and in each zone, that match a set of terms. It
is made when a constraint first asks and then follows every pod that comes or goes, so that no
decision ever walks pods.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from winkube.scheduler.shape import PodInfo
from winkube.scheduler.term_index import TermIndex
from winkube.scheduler.terms import Term

REMEMBERED: Final = 4096

Match = tuple[Term, ...]
# Pods that no term can tell apart, each with its zone.
Alike = Sequence[tuple[PodInfo, str]]


def _no_labels(namespace: str) -> Mapping[str, str]:
    return {}


class PodCounter:
    """Pods that match every one of the terms, whose namespaces are named or are all of them."""

    __slots__ = ("_terms", "_with_terminating", "by_node", "by_zone", "total")

    def __init__(self, terms: Match, *, with_terminating: bool) -> None:
        self._terms = terms
        self._with_terminating = with_terminating
        self.by_node: Counter[str] = Counter()
        self.by_zone: Counter[str] = Counter()
        self.total = 0

    def matches(self, pod: PodInfo) -> bool:
        return all(term.matches(pod, _no_labels) for term in self._terms)

    def counts(self, pod: PodInfo) -> bool:
        return (self._with_terminating or not pod.terminating) and self.matches(pod)

    def change(self, pod: PodInfo, sign: int, zone: str) -> None:
        if self.counts(pod):
            self.count(pod, sign, zone)

    def count(self, pod: PodInfo, sign: int, zone: str) -> None:
        """Without asking whether it matches."""
        self.total += sign
        for places, place in ((self.by_node, pod.node), (self.by_zone, zone)):
            places[place] += sign
            if not places[place]:
                del places[place]


class Counters:
    def __init__(self, pods_about: Callable[[Term], Iterable[Alike]]) -> None:
        """``pods_about`` gives pods that might match a term, in groups that do or do not."""
        self._pods_about = pods_about
        self._counters: OrderedDict[tuple[Match, bool], PodCounter] = OrderedDict()
        self._index: TermIndex[PodCounter] = TermIndex()

    def of(self, terms: Match, *, with_terminating: bool = False) -> PodCounter:
        key = (terms, with_terminating)
        found = self._counters.get(key)
        if found is not None:
            self._counters.move_to_end(key)
            return found
        found = self._counters[key] = PodCounter(terms, with_terminating=with_terminating)
        for alike in self._pods_about(terms[0]):
            for pod, zone in alike if found.counts(alike[0][0]) else ():
                found.count(pod, 1, zone)
        self._index.add(terms[0], found)
        if len(self._counters) > REMEMBERED:
            (old, _), counter = self._counters.popitem(last=False)
            self._index.remove(old[0], counter)
        return found

    def rezone(self, pods: Iterable[PodInfo], old: str, new: str) -> None:
        """The node of these pods is in another zone than we thought."""
        for pod in pods if old != new else ():
            self.change(pod, -1, old)
            self.change(pod, 1, new)

    def change(self, pod: PodInfo, sign: int, zone: str) -> None:
        for counter in self._index.about(pod.namespace, pod.labels, _no_labels):
            counter.change(pod, sign, zone)
