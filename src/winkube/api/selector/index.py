"""Finds the selectors that could match some labels, without looking at those that cannot.

A selector that asks for one of some values of a label is found by each of them, one that asks for
a label by its key; only what merely excludes has to be looked at for everybody.
"""

from collections.abc import Iterator, Mapping
from typing import Final, Generic, TypeVar

from winkube.api.selector.labels import LabelSelector

T = TypeVar("T")
# A label, or its key with no value.
Handle = tuple[str, str | None]

_NEEDS_KEY: Final = ("in", "exists", "gt", "lt")
# More values than these are not worth an entry each: the key alone says enough.
_FEW_VALUES: Final = 32


def exact_label(selector: LabelSelector) -> tuple[str, str] | None:
    """A label that every pod the selector matches has."""
    for requirement in selector.requirements:
        if requirement.operator == "in" and len(requirement.values) == 1:
            return requirement.key, next(iter(requirement.values))
    return None


def handles(selector: LabelSelector) -> tuple[Handle, ...] | None:
    """One of these every match has; None when nothing of the kind can be said."""
    choices = [each for each in selector.requirements if each.operator == "in"]
    fewest = min(choices, key=lambda each: len(each.values), default=None)
    if fewest is not None and len(fewest.values) <= _FEW_VALUES:
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
        found = handles(selector)
        if found is None:
            self._loose[id(item)] = item
            return
        for handle in found:
            where = self._by_key if handle[1] is None else self._by_label
            where.setdefault(handle, {})[id(item)] = item

    def remove(self, selector: LabelSelector, item: T) -> None:
        found = handles(selector)
        if found is None:
            del self._loose[id(item)]
            return
        for handle in found:
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
