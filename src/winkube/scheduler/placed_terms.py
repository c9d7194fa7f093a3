"""What pods that run say about others, each distinct term once, with the nodes they run on.

Required anti-affinity keeps others away. Everything else (preferences, and required affinity, which
counts as one) only draws others near or pushes them off a little.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from winkube.scheduler.shape import PodInfo
from winkube.scheduler.term_index import TermIndex
from winkube.scheduler.terms import NamespaceLabels, Term

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
        self._anti: TermIndex[PlacedTerm] = TermIndex()
        self._soft: TermIndex[PlacedTerm] = TermIndex()
        self._version = 0
        self._kept: dict[int, _Heard] = {}

    def change(self, pod: PodInfo, sign: int) -> None:
        self._version += 1
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
            index.add(term, found)
        found.by_node[node] += sign
        if found.by_node[node] <= 0:
            del found.by_node[node]
        if not found.by_node:
            del self._terms[(kind, term)]
            index.remove(term, found)

    def against(self, pod: PodInfo, labels_of: NamespaceLabels) -> list[PlacedTerm]:
        """The terms of running pods that keep this pod at a distance."""
        return self._heard(self._anti, pod, labels_of) if self._anti else []

    def about(self, pod: PodInfo, labels_of: NamespaceLabels) -> list[PlacedTerm]:
        """The terms of running pods that would have this pod near them or away."""
        return self._heard(self._soft, pod, labels_of) if self._soft else []

    def _heard(
        self, index: TermIndex[PlacedTerm], pod: PodInfo, labels_of: NamespaceLabels
    ) -> list[PlacedTerm]:
        # One decision asks several times, and there may be many terms.
        namespace = labels_of(pod.namespace)
        kept = self._kept.get(id(index))
        if kept is not None and kept.pod is pod and kept.is_fresh(self._version, namespace):
            return kept.terms
        found = [
            each
            for each in index.about(pod.namespace, pod.labels, labels_of)
            if each.term.selector.matches(pod.labels)
        ]
        self._kept[id(index)] = _Heard(pod, self._version, namespace, found)
        return found

    def __bool__(self) -> bool:
        return bool(self._terms)


class _Heard:
    """What was found for a pod last."""

    __slots__ = ("_namespace", "_version", "pod", "terms")

    def __init__(
        self, pod: PodInfo, version: int, namespace: Mapping[str, str], terms: list[PlacedTerm]
    ) -> None:
        self.pod = pod
        self.terms = terms
        self._version = version
        self._namespace = namespace

    def is_fresh(self, version: int, namespace: Mapping[str, str]) -> bool:
        return self._version == version and self._namespace == namespace
