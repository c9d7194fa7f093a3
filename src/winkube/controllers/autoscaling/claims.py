"""Which pods each autoscaler counts as its own, as far as is known."""

from collections.abc import Iterable
from dataclasses import dataclass

from winkube.api.meta import labels_of, split_key
from winkube.api.selector.index import SelectorIndex
from winkube.api.selector.labels import LabelSelector
from winkube.base.types import JsonObject


@dataclass(frozen=True, slots=True, eq=False)
class _Claim:
    key: str
    selector: LabelSelector


class Claims:
    def __init__(self) -> None:
        self._known: dict[str, _Claim] = {}
        self._indexes: dict[str, SelectorIndex[_Claim]] = {}

    def put(self, key: str, selector: LabelSelector) -> None:
        known = self._known.get(key)
        if known is not None and known.selector == selector:
            return
        self.forget(key)
        claim = self._known[key] = _Claim(key, selector)
        self._indexes.setdefault(split_key(key)[0], SelectorIndex()).add(selector, claim)

    def forget(self, key: str) -> None:
        known = self._known.pop(key, None)
        if known is None:
            return
        namespace = split_key(key)[0]
        index = self._indexes[namespace]
        index.remove(known.selector, known)
        if not index:
            del self._indexes[namespace]

    def on(self, namespace: str, pods: Iterable[JsonObject]) -> list[str]:
        """The keys of those that count any of the pods."""
        index = self._indexes.get(namespace)
        if index is None:
            return []
        found: set[str] = set()
        for labels in {frozenset(labels_of(pod).items()): labels_of(pod) for pod in pods}.values():
            for claim in index.about(labels):
                if claim.key not in found and claim.selector.matches(labels):
                    found.add(claim.key)
        return sorted(found)
