"""Finds the terms that could speak of a pod, without looking at those that cannot.

A selector that asks for one of some values of a label is found by each of them, one that asks for
a label by its key; only what merely excludes has to be looked at for everybody. Namespaces that are
named part the terms before that, and selectors of namespaces are found by their labels likewise.
"""

from collections.abc import Iterator, Mapping
from typing import Final, Generic, TypeVar

from winkube.api.selectors import LabelSelector
from winkube.scheduler.terms import NamespaceLabels, Term

T = TypeVar("T")
# A label, or its key with no value.
Handle = tuple[str, str | None]

_NEEDS_KEY: Final = ("exists", "gt", "lt")


def exact_label(selector: LabelSelector) -> tuple[str, str] | None:
    """A label that every pod the selector matches has."""
    for requirement in selector.requirements:
        if requirement.operator == "in" and len(requirement.values) == 1:
            return requirement.key, next(iter(requirement.values))
    return None


def _handles(selector: LabelSelector) -> tuple[Handle, ...] | None:
    """One of these every match has; None when nothing of the kind can be said."""
    choices = [each for each in selector.requirements if each.operator == "in"]
    if choices:
        fewest = min(choices, key=lambda each: len(each.values))
        return tuple((fewest.key, value) for value in fewest.values)
    for each in selector.requirements:
        if each.operator in _NEEDS_KEY:
            return ((each.key, None),)
    return () if selector.nothing else None


class SelectorIndex(Generic[T]):
    """Items found by the labels of a pod: only those whose selector could match are returned."""

    def __init__(self) -> None:
        # Items are told apart by what they are, and stay in the order they came.
        self._by_label: dict[Handle, dict[int, T]] = {}
        self._by_key: dict[Handle, dict[int, T]] = {}
        self._loose: dict[int, T] = {}

    def __bool__(self) -> bool:
        return bool(self._by_label or self._by_key or self._loose)

    def add(self, selector: LabelSelector, item: T) -> None:
        handles = _handles(selector)
        if handles is None:
            self._loose[id(item)] = item
            return
        for handle in handles:
            where = self._by_key if handle[1] is None else self._by_label
            where.setdefault(handle, {})[id(item)] = item

    def remove(self, selector: LabelSelector, item: T) -> None:
        handles = _handles(selector)
        if handles is None:
            del self._loose[id(item)]
            return
        for handle in handles:
            where = self._by_key if handle[1] is None else self._by_label
            items = where[handle]
            del items[id(item)]
            if not items:
                del where[handle]

    def about(self, labels: Mapping[str, str]) -> Iterator[T]:
        if self._by_label:
            for label in labels.items():
                if (found := self._by_label.get(label)) is not None:
                    yield from found.values()
        if self._by_key:
            for key in labels:
                if (found := self._by_key.get((key, None))) is not None:
                    yield from found.values()
        if self._loose:
            yield from self._loose.values()


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
        if _handles(term.selector) == ():
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
        if _handles(term.selector) == ():
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
