"""Pod affinity terms: which pods they speak of."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from winkube.api.selector.labels import NOTHING, LabelSelector, from_label_selector
from winkube.base.types import JsonObject

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"

NamespaceLabels = Callable[[str], Mapping[str, str]]


class Labelled(Protocol):
    @property
    def namespace(self) -> str: ...

    @property
    def labels(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class Term:
    topology_key: str
    selector: LabelSelector
    namespaces: frozenset[str]
    # Namespaces by their labels; an empty selector means every one.
    namespace_selector: LabelSelector = NOTHING
    weight: int = 0

    def matches(self, pod: Labelled, labels_of: NamespaceLabels) -> bool:
        if pod.namespace not in self.namespaces and not self._selects(pod.namespace, labels_of):
            return False
        return self.selector.matches(pod.labels)

    def _selects(self, namespace: str, labels_of: NamespaceLabels) -> bool:
        selector = self.namespace_selector
        if selector.nothing:
            return False
        return selector.empty or selector.matches(labels_of(namespace))


@dataclass(frozen=True, slots=True)
class Terms:
    """Everything a pod says about other pods."""

    affinity: tuple[Term, ...] = ()
    anti_affinity: tuple[Term, ...] = ()
    preferred: tuple[Term, ...] = ()
    avoided: tuple[Term, ...] = ()

    @property
    def any(self) -> bool:
        return bool(self.affinity or self.anti_affinity or self.preferred or self.avoided)

    @property
    def soft(self) -> bool:
        return bool(self.preferred or self.avoided)


NO_TERMS: Final = Terms()


def parse_terms(affinity: JsonObject, namespace: str) -> Terms:
    together, apart = affinity.get("podAffinity") or {}, affinity.get("podAntiAffinity") or {}
    if not together and not apart:
        return NO_TERMS
    return Terms(
        tuple(_term(term, namespace) for term in together.get(REQUIRED) or ()),
        tuple(_term(term, namespace) for term in apart.get(REQUIRED) or ()),
        tuple(_weighted(together.get(PREFERRED) or (), namespace)),
        tuple(_weighted(apart.get(PREFERRED) or (), namespace)),
    )


def _weighted(entries: Iterable[JsonObject], namespace: str) -> Iterable[Term]:
    for entry in entries:
        yield _term(entry["podAffinityTerm"], namespace, int(entry["weight"]))


def _term(term: JsonObject, namespace: str, weight: int = 0) -> Term:
    named, selected = term.get("namespaces") or (), term.get("namespaceSelector")
    # Neither names nor a selector mean the pod's own namespace.
    own = (namespace,) if not named and selected is None else ()
    return Term(
        term["topologyKey"],
        from_label_selector(term.get("labelSelector")),
        frozenset((*named, *own)),
        from_label_selector(selected),
        weight,
    )
