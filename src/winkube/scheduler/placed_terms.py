"""What pods that run say about others, each distinct term once, with the nodes they run on.

Required anti-affinity keeps others away. Everything else (preferences, and required affinity, which
counts as one) only draws others near or pushes them off a little.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from winkube.scheduler.shape import PodInfo
from winkube.scheduler.terms import NamespaceLabels, SelectorIndex, Term

ANTI: Final = "anti-affinity"
HARD: Final = "affinity"
PREFERRED: Final = "preferred"
AVOIDED: Final = "avoided"

_SOFT: Final = (HARD, PREFERRED, AVOIDED)


class PlacedTerm:
    __slots__ = ("by_node", "kind", "term")

    def __init__(self, kind: str, term: Term) -> None:
        self.kind = kind
        self.term = term
        self.by_node: Counter[str] = Counter()


class PlacedTerms:
    def __init__(self) -> None:
        self._terms: dict[tuple[str, Term], PlacedTerm] = {}
        self._anti: SelectorIndex[PlacedTerm] = SelectorIndex()
        self._soft: SelectorIndex[PlacedTerm] = SelectorIndex()

    def change(self, pod: PodInfo, sign: int) -> None:
        said = pod.terms
        groups = (
            (ANTI, said.anti_affinity),
            (HARD, said.affinity),
            (PREFERRED, said.preferred),
            (AVOIDED, said.avoided),
        )
        for kind, terms in groups:
            for term in terms:
                self._change(kind, term, pod.node, sign)

    def _change(self, kind: str, term: Term, node: str, sign: int) -> None:
        index = self._soft if kind in _SOFT else self._anti
        found = self._terms.get((kind, term))
        if found is None:
            found = self._terms[(kind, term)] = PlacedTerm(kind, term)
            index.add(term.selector, found)
        found.by_node[node] += sign
        if found.by_node[node] <= 0:
            del found.by_node[node]
        if not found.by_node:
            del self._terms[(kind, term)]
            index.remove(term.selector, found)

    def against(self, pod: PodInfo, labels_of: NamespaceLabels) -> list[PlacedTerm]:
        """The terms of running pods that keep this pod at a distance."""
        return _matching(self._anti.about(pod.labels), pod, labels_of)

    def about(self, pod: PodInfo, labels_of: NamespaceLabels) -> list[PlacedTerm]:
        """The terms of running pods that would have this pod near them or away."""
        return _matching(self._soft.about(pod.labels), pod, labels_of)

    def __bool__(self) -> bool:
        return bool(self._terms)


def _matching(
    terms: Iterable[PlacedTerm], pod: PodInfo, labels_of: NamespaceLabels
) -> list[PlacedTerm]:
    return [each for each in terms if each.term.matches(pod, labels_of)]
