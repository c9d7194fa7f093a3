"""Terms about nodes, found by the labels of a node: those that cannot match are not looked at."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from winkube.api.selector.nodes import matches_term
from winkube.base.types import JsonObject
from winkube.scheduler.terms import PREFERRED, REQUIRED

# A label, or its key with no value.
Handle = tuple[str, str | None]

_NEEDS_KEY: Final = ("Exists", "Gt", "Lt")


def _handles(term: JsonObject) -> Iterable[Handle] | None:
    """One of these every node that matches has; None when nothing of the kind can be said."""
    for each in term.get("matchExpressions") or ():
        if each.get("operator") == "In":
            return {(each["key"], value) for value in each.get("values") or ()}
        if each.get("operator") in _NEEDS_KEY:
            return ((each["key"], None),)
    return None


class NodeTerms:
    """Each term with what it weighs."""

    def __init__(self, terms: Iterable[JsonObject], weights: Iterable[int] | None = None) -> None:
        self._terms = list(terms)
        self._weights: Sequence[int] = [1] * len(self._terms) if weights is None else list(weights)
        self._found: dict[Handle, list[int]] = {}
        self._loose: list[int] = []
        for number, term in enumerate(self._terms):
            handles = _handles(term)
            if handles is None:
                self._loose.append(number)
            for handle in handles or ():
                self._found.setdefault(handle, []).append(number)

    def __bool__(self) -> bool:
        return bool(self._terms)

    def match(self, name: str, labels: Mapping[str, str]) -> bool:
        return next(self._matching(name, labels), None) is not None

    def weight(self, name: str, labels: Mapping[str, str]) -> int:
        """What the terms that match weigh together."""
        return sum(self._weights[number] for number in self._matching(name, labels))

    def _matching(self, name: str, labels: Mapping[str, str]) -> Iterator[int]:
        for number in self._possible(labels):
            if matches_term(name, labels, self._terms[number]):
                yield number

    def _possible(self, labels: Mapping[str, str]) -> Iterator[int]:
        for key, value in labels.items() if self._found else ():
            yield from self._found.get((key, value), ())
            yield from self._found.get((key, None), ())
        yield from self._loose


NO_NODE_TERMS: Final = NodeTerms(())


def required_terms(affinity: JsonObject) -> NodeTerms | None:
    """Of a node affinity; an empty list of terms, unlike none at all, matches no node."""
    found = affinity.get(REQUIRED)
    return None if not found else NodeTerms(found.get("nodeSelectorTerms") or ())


def preferred_terms(affinity: JsonObject) -> NodeTerms:
    found = affinity.get(PREFERRED) or ()
    return NodeTerms((each["preference"] for each in found), (int(e["weight"]) for e in found))
