"""Who owns whom, by uid.

An owner that was named but never seen is *virtual*: its dependents may be garbage, or the owner may
only be unknown to us, so a virtual owner is looked up at the server before anything is deleted.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from winkube.api.meta import is_deleting, metadata, name_of, namespace_of, owner_references, uid_of
from winkube.base.types import JsonObject
from winkube.client.resource import Resource

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"


@dataclass(frozen=True, slots=True)
class Owner:
    api_version: str
    kind: str
    name: str
    uid: str
    blocking: bool


@dataclass(frozen=True, slots=True)
class Item:
    """What the collector remembers of an object."""

    uid: str
    resource: Resource
    namespace: str
    name: str
    owners: tuple[Owner, ...]
    deleting: bool
    finalizers: tuple[str, ...]
    version: str = ""

    @property
    def waits_for_dependents(self) -> bool:
        return self.deleting and FOREGROUND in self.finalizers

    @property
    def orphans_dependents(self) -> bool:
        return self.deleting and ORPHAN in self.finalizers


def to_item(resource: Resource, obj: JsonObject) -> Item:
    return Item(
        uid=uid_of(obj),
        resource=resource,
        namespace=namespace_of(obj),
        name=name_of(obj),
        owners=tuple(
            Owner(
                entry["apiVersion"],
                entry["kind"],
                entry["name"],
                entry["uid"],
                bool(entry.get("blockOwnerDeletion")),
            )
            for entry in owner_references(obj)
        ),
        deleting=is_deleting(obj),
        finalizers=tuple(metadata(obj).get("finalizers") or ()),
        version=metadata(obj).get("resourceVersion") or "",
    )


class Graph:
    def __init__(self) -> None:
        self._items: dict[str, Item] = {}
        self._dependents: dict[str, set[str]] = defaultdict(set)

    def get(self, uid: str) -> Item | None:
        return self._items.get(uid)

    def dependents(self, uid: str) -> list[Item]:
        uids = self._dependents.get(uid, ())
        return [self._items[each] for each in uids if each in self._items]

    def put(self, item: Item) -> Iterable[str]:
        """Add or replace; the uids that need a look because of it."""
        old = self._items.get(item.uid)
        self._items[item.uid] = item
        self._relink(old, item)
        if item.waits_for_dependents or item.orphans_dependents:
            yield item.uid
        if item.waits_for_dependents and (old is None or not old.waits_for_dependents):
            # All of them go, also those that do not hold the owner up.
            yield from list(self._dependents.get(item.uid, ()))
        for owner in item.owners:
            known = self._items.get(owner.uid)
            if known is None:
                yield item.uid
            elif known.waits_for_dependents:
                yield item.uid
                yield owner.uid
        for owner in () if old is None else set(old.owners) - set(item.owners):
            # It no longer holds up the deletion of the owner it left.
            yield owner.uid

    def remove(self, uid: str) -> Iterable[str]:
        old = self._items.pop(uid, None)
        if old is None:
            return
        self._relink(old, None)
        for owner in old.owners:
            known = self._items.get(owner.uid)
            if known is not None and known.waits_for_dependents:
                yield owner.uid
        yield from list(self._dependents.get(uid, ()))

    def _relink(self, old: Item | None, new: Item | None) -> None:
        before = {owner.uid for owner in old.owners} if old else set()
        after = {owner.uid for owner in new.owners} if new else set()
        uid = (new or old or _NOBODY).uid
        for gone in before - after:
            self._dependents[gone].discard(uid)
            if not self._dependents[gone]:
                del self._dependents[gone]
        for owner in after - before:
            self._dependents[owner].add(uid)


_NOBODY: Final = Item("", Resource("", "", "", False), "", "", (), False, ())
