"""Finds the terms that could speak of a pod, without looking at those that cannot.

Namespaces that are named part the terms before their selectors do, and selectors of namespaces are
found by their labels likewise.
"""

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from winkube.api.selector.index import SelectorIndex, handles
from winkube.api.selector.labels import LabelSelector
from winkube.scheduler.terms import NamespaceLabels, Term

T = TypeVar("T")


class _Elsewhere(Generic[T]):
    """The terms that mean namespaces by one selector."""

    def __init__(self, selector: LabelSelector) -> None:
        self.selector = selector
        self.items: SelectorIndex[T] = SelectorIndex()


class TermIndex(Generic[T]):
    def __init__(self) -> None:
        self._named: dict[str, SelectorIndex[T]] = {}
        self._selected: dict[LabelSelector, _Elsewhere[T]] = {}
        self._selectors: SelectorIndex[_Elsewhere[T]] = SelectorIndex()

    def __bool__(self) -> bool:
        return bool(self._named or self._selected)

    def add(self, term: Term, item: T) -> None:
        if handles(term.selector) == ():
            # It can match nobody.
            return
        for name in term.namespaces:
            self._named.setdefault(name, SelectorIndex()).add(term.selector, item)
        selector = term.namespace_selector
        if not selector.nothing:
            found = self._selected.get(selector)
            if found is None:
                found = self._selected[selector] = _Elsewhere(selector)
                self._selectors.add(selector, found)
            found.items.add(term.selector, item)

    def remove(self, term: Term, item: T) -> None:
        if handles(term.selector) == ():
            return
        for name in term.namespaces:
            index = self._named[name]
            index.remove(term.selector, item)
            if not index:
                del self._named[name]
        selector = term.namespace_selector
        if not selector.nothing:
            found = self._selected[selector]
            found.items.remove(term.selector, item)
            if not found.items:
                del self._selected[selector]
                self._selectors.remove(selector, found)

    def about(
        self, namespace: str, labels: Mapping[str, str], labels_of: NamespaceLabels
    ) -> Iterator[T]:
        """Those that mean the namespace and could match the labels, none of them twice."""
        named = self._named.get(namespace)
        if not self._selected:
            if named is not None:
                yield from named.about(labels)
            return
        met = {}
        if named is not None:
            met = {id(item): item for item in named.about(labels)}
            yield from met.values()
        own = labels_of(namespace)
        for elsewhere in self._selectors.about(own):
            if elsewhere.selector.matches(own):
                for item in elsewhere.items.about(labels):
                    if id(item) not in met:
                        yield item
