"""A local cache of one resource, kept current by list and watch.

Theory of operation: the informer lists (in pages) and remembers the list's resourceVersion, then
watches from there. Every event and bookmark moves the remembered version forward, so a broken
stream is resumed where it ended. When the server no longer has that version (410), or does not
know it, the informer lists again and reports the *difference* to its handlers: nothing that
happened in between is lost, it is only merged. Objects in the cache are shared: never change them.
They come without managedFields, which are as large as the rest; the server keeps its own when an
update does not speak of them.
"""

import asyncio
import builtins
import contextlib
import logging
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from winkube.aio.backoff import Backoff
from winkube.api.errors import (
    ApiError,
    ExpiredError,
    TooManyRequestsError,
    UnavailableError,
)
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.lean import LEAN
from winkube.client.resource import Resource
from winkube.client.rest import ApiClient

PAGE_SIZE: Final = 2000
RECONNECT: Final = Backoff(first=0.05, ceiling=5.0)
# A stream that ends sooner than this without an event counts as a failure, or we would spin.
SHORT_WATCH_SECONDS: Final = 1.0
TURN_SECONDS: Final = 0.05  # how long one cache of many may hold up the next
LASTING_FAILURES: Final = 10

Handler = Callable[[str, JsonObject | None, JsonObject | None], None]
IndexFunction = Callable[[JsonObject], Iterable[str]]

log = logging.getLogger(__name__)


def key_of(obj: JsonObject) -> str:
    """``namespace/name``, or the bare name of a cluster-scoped object."""
    metadata = obj["metadata"]
    namespace = metadata.get("namespace")
    name: str = metadata["name"]
    return f"{namespace}/{name}" if namespace else name


class _Index:
    def __init__(self, function: IndexFunction) -> None:
        self._function = function
        self._members: dict[str, dict[str, JsonObject]] = defaultdict(dict)

    def change(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        kept = set() if new is None else set(self._function(new))
        if old is not None:
            for value in set(self._function(old)) - kept:
                members = self._members[value]
                members.pop(key, None)
                if not members:
                    del self._members[value]
        if new is not None:
            for value in kept:
                self._members[value][key] = new

    def count(self, value: str) -> int:
        return len(self._members[value]) if value in self._members else 0

    def members(self, value: str) -> Sequence[JsonObject]:
        return tuple(self._members[value].values()) if value in self._members else ()


class Informer:
    def __init__(
        self,
        client: ApiClient,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> None:
        self.resource = resource
        self.synced = asyncio.Event()
        self._client = client
        self._namespace = namespace
        self._labels = label_selector
        self._fields = field_selector
        self._objects: dict[str, JsonObject] = {}
        self._handlers: list[Handler] = []
        self._indexes: dict[str, _Index] = {}
        self._version: str | None = None
        self._failures = 0

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, key: str) -> JsonObject | None:
        return self._objects.get(key)

    def list(self) -> builtins.list[JsonObject]:
        return [*self._objects.values()]

    def keys(self) -> Sequence[str]:
        return [*self._objects]

    def on_change(self, handler: Handler) -> None:
        """Call ``handler(key, old, new)`` for each change; what is cached already is replayed."""
        self._handlers.append(handler)
        for key, obj in [*self._objects.items()]:
            handler(key, None, obj)

    def add_index(self, name: str, function: IndexFunction) -> None:
        """Let ``by_index(name, value)`` find the objects for which ``function`` gives ``value``."""
        if name in self._indexes:
            return
        index = self._indexes[name] = _Index(function)
        for key, obj in self._objects.items():
            index.change(key, None, obj)

    def by_index(self, name: str, value: str) -> Sequence[JsonObject]:
        return self._indexes[name].members(value)

    def count(self, name: str, value: str) -> int:
        return self._indexes[name].count(value)

    async def run(self) -> None:
        """Keep the cache current until cancelled."""
        while True:
            try:
                if self._version is None:
                    await self._relist()
                await self._follow(self._version or "")
            except ExpiredError:
                log.debug("watch expired", extra={"resource": self.resource.plural})
                await self._pause(None)
                self._version = None
            except (ApiError, TransportError) as error:
                if not isinstance(error, TransportError | TooManyRequestsError | UnavailableError):
                    # The server does not accept our version (restored from older data, say).
                    self._version = None
                await self._pause(error)

    async def _pause(self, error: Exception | None) -> None:
        self._failures += 1
        delay = RECONNECT.delay(self._failures) * random.uniform(0.5, 1.0)
        facts = {"resource": self.resource.plural, "error": str(error), "retry": round(delay, 3)}
        # A server that restarts interrupts everybody once: say it when it lasts, and then rarely.
        lasting = self._failures % LASTING_FAILURES == 0
        log.log(
            logging.WARNING if error is not None and lasting else logging.DEBUG,
            "list-watch interrupted",
            extra=facts,
        )
        await asyncio.sleep(delay)

    async def _follow(self, version: str) -> None:
        started = asyncio.get_running_loop().time()
        async with self._client.watch(
            self.resource,
            namespace=self._namespace,
            label_selector=self._labels,
            field_selector=self._fields,
            resource_version=version,
            lean=self.resource in LEAN,
        ) as events:
            async for kind, obj in events:
                self._failures = 0
                if kind != "BOOKMARK":
                    self._store(key_of(obj), None if kind == "DELETED" else obj, last=obj)
                self._version = obj["metadata"]["resourceVersion"]
        if asyncio.get_running_loop().time() - started < SHORT_WATCH_SECONDS:
            await self._pause(None)

    async def _relist(self) -> None:
        found, version = await self._pages()
        for key in [key for key in self._objects if key not in found]:
            self._store(key, None)
        for key, obj in found.items():
            old = self._objects.get(key)
            if old is not None and _same_object(old, obj):
                continue
            if old is not None and old["metadata"].get("uid") != obj["metadata"].get("uid"):
                # Deleted and made again while we were not looking: handlers see both.
                self._store(key, None)
            self._store(key, obj)
        self._version = version
        self.synced.set()

    async def _pages(self) -> tuple[dict[str, JsonObject], str]:
        found: dict[str, JsonObject] = {}
        token: str | None = None
        limit: int | None = PAGE_SIZE
        while True:
            try:
                page = await self._client.list(
                    self.resource,
                    namespace=self._namespace,
                    label_selector=self._labels,
                    field_selector=self._fields,
                    limit=limit,
                    continue_token=token,
                )
            except ExpiredError:
                if token is None:
                    raise
                # The pages outlived their snapshot: take everything at once (client-go: pager).
                found, token, limit = {}, None, None
                continue
            # Items of a list carry no kind of their own; events do.
            kind = {"apiVersion": page.get("apiVersion", ""), "kind": _item_kind(page)}
            for item in page.get("items") or ():
                found[key_of(item)] = {**kind, **item}
            token = page["metadata"].get("continue") or None
            if token is None:
                return found, page["metadata"]["resourceVersion"]

    def _store(self, key: str, new: JsonObject | None, *, last: JsonObject | None = None) -> None:
        old = self._objects.get(key)
        if new is not None:
            new["metadata"].pop("managedFields", None)
            self._objects[key] = new
        elif old is not None:
            del self._objects[key]
        else:
            return
        # A deletion is reported with the object's last state, which the event carries.
        before = last if new is None and last is not None else old
        for index in self._indexes.values():
            index.change(key, old, new)
        for handler in self._handlers:
            handler(key, before, new)


def _same_object(old: JsonObject, new: JsonObject) -> bool:
    before, after = old["metadata"], new["metadata"]
    return bool(
        before.get("resourceVersion") == after.get("resourceVersion")
        and before.get("uid") == after.get("uid")
    )


def _item_kind(page: JsonObject) -> str:
    return str(page.get("kind", "")).removesuffix("List")


class InformerPool:
    """One informer per resource, shared by everything in a process that reads it."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client
        self._informers: dict[Resource, Informer] = {}

    def __getitem__(self, resource: Resource) -> Informer:
        """The informer of a resource; ask before ``run`` is called."""
        if resource not in self._informers:
            self._informers[resource] = Informer(self._client, resource)
        return self._informers[resource]

    def existing(self, resource: Resource) -> Informer | None:
        return self._informers.get(resource)

    async def synced(self) -> None:
        for informer in self._informers.values():
            await informer.synced.wait()

    async def run(self) -> None:
        """Fill the caches one after the other, in the order in which they were asked for.

        All at once would be forty connections and lists that everybody else's requests stand
        behind; one that is not answered holds up the next only for a moment.
        """
        async with asyncio.TaskGroup() as group:
            for resource, informer in self._informers.items():
                group.create_task(informer.run(), name=f"informer {resource.plural}")
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(TURN_SECONDS):
                        await informer.synced.wait()
