"""Whose selector matches what changed: found by labels, and never by a walk over everybody.

Theory of operation: selectors are read once and kept by namespace and label. A change is compared
at once, until the comparisons of a moment have become many; then changes are gathered by their
labels and compared in steps with pauses between: thousands of selectors that all match thousands of
pods keep their own namespace waiting, and nobody else.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from winkube.api.meta import namespace_of
from winkube.api.selector.index import SelectorIndex
from winkube.api.selector.labels import LabelSelector, from_label_selector
from winkube.base.types import JsonObject
from winkube.client.informer import Informer

# How many requirements of a namespace may be asked until the next pause.
STEP: Final = 2000
PAUSE_SECONDS: Final = 0.02

ReadSelector = Callable[[JsonObject], LabelSelector]
# The keys of those that select what changed, and that itself if it is still there.
Tell = Callable[[Sequence[str], JsonObject | None], None]
_Labels = frozenset[tuple[str, str]]


def read_selector(obj: JsonObject) -> LabelSelector:
    return from_label_selector(obj["spec"].get("selector"))


@dataclass(frozen=True, slots=True, eq=False)
class _Selector:
    key: str
    selector: LabelSelector

    @property
    def effort(self) -> int:
        return 1 + len(self.selector.requirements)


class _Namespace:
    def __init__(self) -> None:
        self.index: SelectorIndex[_Selector] = SelectorIndex()
        self.size = 0
        self.asked = 0
        self.since = 0.0
        # What changed, by its labels: one speaks for all that have the same.
        self.changed: dict[_Labels, JsonObject | None] = {}


class Selecting:
    """``owners`` have selectors; ``tell`` hears which of them select what changed."""

    def __init__(self, owners: Informer, tell: Tell, read: ReadSelector = read_selector) -> None:
        self._read = read
        self._tell = tell
        self._known: dict[str, _Selector] = {}
        self._namespaces: dict[str, _Namespace] = {}
        owners.on_change(self._owner_changed)

    def changed(self, name: str, labels: Mapping[str, str], obj: JsonObject | None = None) -> None:
        """Something with these labels is there, or was, in the namespace of this name."""
        namespace = self._namespaces.get(name)
        if namespace is None:
            return
        loop = asyncio.get_running_loop()
        if not namespace.changed:
            if loop.time() - namespace.since >= PAUSE_SECONDS:
                namespace.asked = 0
            if namespace.asked < STEP:
                namespace.asked += self._compare(namespace, labels, obj)
                namespace.since = loop.time()
                return
            loop.call_later(PAUSE_SECONDS, self._catch_up, namespace)
        alike = frozenset(labels.items())
        namespace.changed[alike] = obj or namespace.changed.get(alike)

    def _catch_up(self, namespace: _Namespace) -> None:
        loop = asyncio.get_running_loop()
        namespace.asked = 0
        while namespace.changed and namespace.asked < STEP:
            labels = next(iter(namespace.changed))
            obj = namespace.changed.pop(labels)
            namespace.asked += self._compare(namespace, dict(labels), obj)
        namespace.since = loop.time()
        if namespace.changed:
            loop.call_later(PAUSE_SECONDS, self._catch_up, namespace)

    def _compare(
        self, namespace: _Namespace, labels: Mapping[str, str], obj: JsonObject | None
    ) -> int:
        """How much had to be asked."""
        keys, asked = [], 1
        for each in namespace.index.about(labels):
            asked += each.effort
            if each.selector.matches(labels):
                keys.append(each.key)
        if keys:
            self._tell(keys, obj)
        return asked

    def _owner_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        known = self._known.get(key)
        if known is not None and old is not None and new is not None and _same(old, new):
            return
        name = namespace_of(new or old or {})
        if known is not None:
            self._forget(name, self._known.pop(key))
        if new is not None:
            entry = self._known[key] = _Selector(key, self._read(new))
            namespace = self._namespaces.setdefault(name, _Namespace())
            namespace.index.add(entry.selector, entry)
            namespace.size += 1

    def _forget(self, name: str, entry: _Selector) -> None:
        namespace = self._namespaces[name]
        namespace.index.remove(entry.selector, entry)
        namespace.size -= 1
        if not namespace.size:
            del self._namespaces[name]


def _same(old: JsonObject, new: JsonObject) -> bool:
    return bool(old["spec"].get("selector") == new["spec"].get("selector"))
