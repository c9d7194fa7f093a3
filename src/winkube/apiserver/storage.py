"""Objects to bytes and into the store; what was answered is in the cache when a call returns.

An object carries its own resourceVersion, which only the store's writer knows. So it is serialised
once with a mark in that place, and the writer puts the number where the mark was.
"""

import secrets
from collections.abc import Callable
from typing import Final

import orjson

from winkube.api.errors import UnexplainedError
from winkube.apiserver.cache import Cache
from winkube.apiserver.item import Item
from winkube.apiserver.served import Served
from winkube.base.types import JsonObject
from winkube.store.types import Entry, Revision, Store

# Not guessable, so no user's text can hold it.
MARK: Final = secrets.token_hex(16)
_FIELD: Final = f'"resourceVersion":"{MARK}"'.encode()

# What etcd takes in one request, and what its client sends in one message.
_MAX_BYTES: Final = 1536 * 1024
_MAX_MESSAGE: Final = 2 * 1024 * 1024

Seal = Callable[[str, bytes], bytes]


class Storage:
    """``seal`` and ``unseal`` are encryption at rest, by resource; identity when there is none."""

    def __init__(
        self, store: Store, cache: Cache, *, seal: Seal | None = None, unseal: Seal | None = None
    ) -> None:
        self._store = store
        self._cache = cache
        self._seal = seal
        self._unseal = unseal

    @property
    def cache(self) -> Cache:
        return self._cache

    async def create(
        self, served: Served, key: str, obj: JsonObject, *, applied: bool = False
    ) -> Item | None:
        """None when the name is taken."""
        return await self.create_text(served, key, _text_of(obj, applied=applied))

    async def create_text(self, served: Served, key: str, text: bytes) -> Item | None:
        """As ``create``; the text has ``MARK`` for its resourceVersion."""
        entry = await self._store.create(key, self._value(served, text))
        return None if entry is None else await self._settled(served, entry)

    async def update(
        self, served: Served, old: Item, obj: JsonObject, *, applied: bool = False
    ) -> Item | None:
        """None when somebody else wrote since ``old``."""
        value = self._value(served, _text_of(obj, applied=applied))
        entry = await self._store.update(old.key, value, Revision(old.revision))
        return None if entry is None else await self._settled(served, entry)

    async def delete(self, served: Served, old: Item) -> Item | None:
        entry = await self._store.delete(old.key, Revision(old.revision))
        return None if entry is None else await self._settled(served, entry)

    def _value(self, served: Served, text: bytes) -> Callable[[Revision], bytes]:
        head, _, tail = text.partition(_FIELD)
        seal, prefix = self._seal, served.prefix

        def value(revision: Revision) -> bytes:
            data = b'%b"resourceVersion":"%d"%b' % (head, revision, tail)
            return data if seal is None else seal(prefix, data)

        return value

    async def _settled(self, served: Served, entry: Entry) -> Item:
        await self._cache.reach(entry.modified)
        item = served.cache.get(entry.key)
        if item is not None and item.revision == entry.modified:
            return item
        data = entry.value if self._unseal is None else self._unseal(served.prefix, entry.value)
        namespace, _, name = entry.key[len(served.prefix) :].rpartition("/")
        return Item(entry.key, data, entry.modified, (namespace, name))


def _text_of(obj: JsonObject, *, applied: bool) -> bytes:
    obj["metadata"]["resourceVersion"] = MARK
    return _encoded(type_first(obj), applied=applied)


def _encoded(obj: JsonObject, *, applied: bool) -> bytes:
    """What is too large for upstream's store is too large for ours.

    Owners go before it fails, unless somebody applied: without owners that means something else.
    """
    data = orjson.dumps(obj)
    if not applied and len(data) > _MAX_BYTES and obj["metadata"].pop("managedFields", None):
        data = orjson.dumps(obj)
    if len(data) > _MAX_MESSAGE:
        fault = f"trying to send message larger than max ({len(data)} vs. {_MAX_MESSAGE})"
        raise UnexplainedError(f"rpc error: code = ResourceExhausted desc = {fault}")
    if len(data) > _MAX_BYTES:
        raise UnexplainedError("etcdserver: request is too large")
    return data


def type_first(obj: JsonObject) -> JsonObject:
    """With kind and version in front, where a list can leave them out without a look inside."""
    return {"kind": obj.pop("kind", ""), "apiVersion": obj.pop("apiVersion", ""), **obj}


def preview(old: Item | None, served: Served, obj: JsonObject) -> Item:
    """What a dry run answers: the object as it would be, under the revision it has now."""
    metadata = obj["metadata"]
    if old is not None:
        metadata["resourceVersion"] = str(old.revision)
    place = (metadata.get("namespace", ""), metadata.get("name", ""))
    key = served.key(*place)
    return Item(key, orjson.dumps(obj), old.revision if old else 0, place)
