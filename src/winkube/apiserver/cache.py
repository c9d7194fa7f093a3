"""The watch cache: every object of the store in memory, with a window of recent changes.

Theory of operation. One task follows the store's log in revision order and applies each event to
the cache of its resource; so the cache as a whole stands at one revision, every reader sees a
consistent state, and whoever was answered at revision N waits for the cache to reach N before it
reads. A watch starts from the window of changes; a list at an older revision is today's items with
the later changes undone. What lies before the window is gone: 410, list again.
"""

import asyncio
import itertools
import logging
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Literal, TypeVar

from winkube.api.errors import ExpiredError
from winkube.apiserver.item import Item
from winkube.store.errors import CompactedError, LaggedError
from winkube.store.types import Entry, Event, Revision, Store

log = logging.getLogger(__name__)

ROOT: Final = "/registry/"
WINDOW: Final = 4096  # changes remembered per resource
QUEUE: Final = 8192  # changes a watcher may be behind before it is cut off
# The same in bytes: an object may have a million and more, and whoever changes one all the time
# must not fill the memory with its past.
WINDOW_BYTES: Final = 64 * 1024 * 1024
QUEUE_BYTES: Final = 128 * 1024 * 1024

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]
# A field of TRIGGER_FIELDS and its value.
Trigger = tuple[str, str]
TRIGGER_FIELDS: Final = ("metadata.name", "spec.nodeName")
Place = TypeVar("Place")
Decode = Callable[[str, bytes], bytes]


class Change:
    """One event of one resource; ``frames`` keeps its renderings, shared by all watchers."""

    __slots__ = ("frames", "item", "previous", "revision", "type")

    def __init__(self, kind: ChangeType, item: Item, previous: Item | None, revision: int) -> None:
        self.type = kind
        self.item = item
        self.previous = previous
        self.revision = revision
        self.frames: dict[str, bytes] = {}

    @property
    def cost(self) -> int:
        """Bytes that it keeps: what it replaced, and a rendering."""
        replaced = 0 if self.previous is None else len(self.previous.data)
        return replaced + len(self.item.data)


class Watcher:
    """One reader's bounded queue of changes; once lagged it stays lagged."""

    def __init__(self, limit: int, limit_bytes: int) -> None:
        self.lagged = False
        self._limit = limit
        self._spare = self._limit_bytes = limit_bytes
        self._changes: deque[Change] = deque()
        self._wake = asyncio.Event()

    def offer(self, change: Change) -> None:
        if self.lagged:
            return
        self._spare -= len(change.item.data)
        if len(self._changes) >= self._limit or (self._spare < 0 and self._changes):
            self.cut()
        else:
            self._changes.append(change)
            self._wake.set()

    def cut(self) -> None:
        self.lagged = True
        self._changes.clear()
        self._wake.set()

    async def take(self, timeout: float) -> list[Change]:
        """Everything queued; empty after the timeout or when the reader has lagged."""
        if not self._changes and not self.lagged:
            self._wake.clear()
            timer = asyncio.get_running_loop().call_later(timeout, self._wake.set)
            try:
                await self._wake.wait()
            finally:
                timer.cancel()
        changes = list(self._changes)
        self._changes.clear()
        self._spare = self._limit_bytes
        return changes


class ResourceCache:
    """The objects of one resource, by store key, in key order."""

    def __init__(
        self,
        prefix: str,
        *,
        window: int = WINDOW,
        window_bytes: int = WINDOW_BYTES,
        queue: int = QUEUE,
        queue_bytes: int = QUEUE_BYTES,
    ) -> None:
        self.prefix = prefix
        self.expired = 0  # changes up to this revision are no longer in the window
        self.compacted = 0  # lists as of before this revision are no longer given
        self._items: dict[str, Item] = {}
        self._keys: list[str] = []
        self._window: deque[Change] = deque()
        self._window_bytes = 0
        self._limit = window
        self._limit_bytes = window_bytes
        self._queue = (queue, queue_bytes)
        # By what they follow: a change is shown to nobody in vain.
        self._watchers: dict[str, dict[Watcher, None]] = {}
        self._triggered: dict[tuple[Trigger, str], dict[Watcher, None]] = {}

    def __len__(self) -> int:
        return len(self._items)

    @property
    def changed(self) -> int:
        """The revision of the last change: whoever remembers it need not look again."""
        return self._window[-1].revision if self._window else self.expired

    @property
    def watchers(self) -> int:
        return sum(map(len, (*self._watchers.values(), *self._triggered.values())))

    def followers(self, prefix: str) -> int:
        """Watchers that every change under a prefix concerns: of all there is, or of that alone."""
        return sum(len(self._watchers.get(each, ())) for each in {self.prefix, prefix})

    def get(self, key: str) -> Item | None:
        return self._items.get(key)

    def items(self, prefix: str = "") -> list[Item]:
        """In key order; ``prefix`` (a namespace's folder) narrows without a scan."""
        items, keys = self._items, self._keys
        if not prefix or prefix == self.prefix:
            return [items[key] for key in keys]
        start = bisect_left(keys, prefix)
        end = bisect_left(keys, prefix[:-1] + chr(ord(prefix[-1]) + 1))
        return [items[key] for key in keys[start:end]]

    def items_at(self, prefix: str, revision: int) -> list[Item]:
        """As of an older revision: today's items with the later changes undone."""
        oldest = max(self.expired, self.compacted)
        if revision < oldest:
            raise ExpiredError(f"too old resource version: {revision} ({oldest})")
        undone: dict[str, Item | None] = {}
        for change in reversed(self._window):
            if change.revision <= revision:
                break
            undone[change.item.key] = change.previous
        if not undone:
            return self.items(prefix)
        kept = [item for item in self.items(prefix) if item.key not in undone]
        kept += [old for key, old in undone.items() if old is not None and key.startswith(prefix)]
        return sorted(kept, key=lambda item: item.key)

    def changes_after(self, revision: int) -> list[Change]:
        if revision < self.expired:
            raise ExpiredError(f"too old resource version: {revision} ({self.expired})")
        recent: list[Change] = []
        for change in reversed(self._window):
            if change.revision <= revision:
                break
            recent.append(change)
        recent.reverse()
        return recent

    @contextmanager
    def subscribe(self, prefix: str = "", trigger: Trigger | None = None) -> Iterator[Watcher]:
        """Follow the keys under a prefix; with a trigger, only objects that have this value.

        Thousands of kubelets each watch the pods of one node: a change must not wake them all.
        """
        watcher = Watcher(*self._queue)
        prefix = prefix or self.prefix
        if trigger is None:
            with _standing(self._watchers, prefix, watcher):
                yield watcher
        else:
            with _standing(self._triggered, (trigger, prefix), watcher):
                yield watcher

    def load(self, items: Sequence[Item], revision: int) -> None:
        """Start over from a listing; whoever watches has to list again."""
        self._items = {item.key: item for item in items}
        self._keys = sorted(self._items)
        self._window.clear()
        self._window_bytes = 0
        self.expired = revision
        for watchers in (*self._watchers.values(), *self._triggered.values()):
            for watcher in watchers:
                watcher.cut()

    def put(self, item: Item, revision: int) -> None:
        previous = self._items.get(item.key)
        self._items[item.key] = item
        if previous is None:
            insort(self._keys, item.key)
        kind: ChangeType = "ADDED" if previous is None else "MODIFIED"
        self._record(Change(kind, item, previous, revision))

    def remove(self, key: str, revision: int) -> None:
        previous = self._items.pop(key, None)
        if previous is None:
            return
        del self._keys[bisect_left(self._keys, key)]
        self._record(Change("DELETED", previous, previous, revision))

    def _record(self, change: Change) -> None:
        self._window.append(change)
        self._window_bytes += change.cost
        while len(self._window) > self._limit or self._window_bytes > self._limit_bytes:
            oldest = self._window.popleft()
            self._window_bytes -= oldest.cost
            self.expired = oldest.revision
        self._offer(change)

    def _offer(self, change: Change) -> None:
        key = change.item.key
        folder = key[: key.rindex("/") + 1]
        prefixes = (self.prefix,) if folder == self.prefix else (self.prefix, folder)
        for prefix in prefixes:
            for watcher in self._watchers.get(prefix, ()):
                watcher.offer(change)
        if self._triggered:
            for place in itertools.product(_triggers(change), prefixes):
                for watcher in self._triggered.get(place, ()):
                    watcher.offer(change)


@contextmanager
def _standing(
    watchers: dict[Place, dict[Watcher, None]], place: Place, watcher: Watcher
) -> Iterator[None]:
    watchers.setdefault(place, {})[watcher] = None
    try:
        yield
    finally:
        there = watchers[place]
        del there[watcher]
        if not there:
            del watchers[place]


def _triggers(change: Change) -> set[Trigger]:
    """The indexed values an object has now or had before."""
    found: set[Trigger] = {("metadata.name", change.item.name)}
    for item in (change.item, change.previous):
        if item is not None:
            found.add(("spec.nodeName", (item.view.get("spec") or {}).get("nodeName") or ""))
    return found


class Cache:
    """All resources; stands at ``revision``."""

    def __init__(
        self, store: Store, prefixes: Sequence[str], *, decode: Decode | None = None
    ) -> None:
        self.revision = 0
        self._store = store
        self._decode = decode
        self._resources = {prefix: ResourceCache(prefix) for prefix in prefixes}
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    def resource(self, prefix: str) -> ResourceCache:
        return self._resources[prefix]

    def resources(self) -> Iterator[ResourceCache]:
        return iter(self._resources.values())

    def compact(self, before: int) -> None:
        """Lists as of earlier revisions are over; watches still begin where the window does."""
        for resource in self._resources.values():
            resource.compacted = before

    async def reach(self, revision: int) -> None:
        """Return once the cache stands at this revision or later."""
        if self.revision >= revision:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((revision, future))
        await future

    async def load(self) -> None:
        """Read everything the store has; needed once before ``run``, and after a lag."""
        listing = await self._store.list(ROOT)
        found: dict[str, list[Item]] = {prefix: [] for prefix in self._resources}
        for entry in listing.entries:
            prefix = self._prefix_of(entry.key)
            if prefix is not None:
                found[prefix].append(self._item(prefix, entry))
        for prefix, items in found.items():
            self._resources[prefix].load(items, listing.revision)
        self._advance(listing.revision)

    async def run(self) -> None:
        """Follow the store until cancelled."""
        while True:
            try:
                async with self._store.watch(ROOT, Revision(self.revision)) as watcher:
                    async for events in watcher:
                        for event in events:
                            self._apply(event)
                        self._advance(events[-1].revision)
            except (CompactedError, LaggedError) as error:
                log.warning("watch cache starts over", extra={"cause": str(error)})
                await self.load()

    def _apply(self, event: Event) -> None:
        key = event.entry.key
        prefix = self._prefix_of(key)
        if prefix is None:
            return
        resource = self._resources[prefix]
        if event.kind == "PUT":
            resource.put(self._item(prefix, event.entry), event.revision)
        else:
            resource.remove(key, event.revision)

    def _advance(self, revision: int) -> None:
        self.revision = revision
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        for wanted, future in waiting:
            if wanted > revision:
                self._waiting.append((wanted, future))
            elif not future.done():
                future.set_result(None)

    def _prefix_of(self, key: str) -> str | None:
        first = key.find("/", len(ROOT)) + 1
        prefix = key[:first]
        if prefix in self._resources:
            return prefix
        prefix = key[: key.find("/", first) + 1]
        return prefix if prefix in self._resources else None

    def _item(self, prefix: str, entry: Entry) -> Item:
        data = entry.value if self._decode is None else self._decode(prefix, entry.value)
        namespace, _, name = entry.key[len(prefix) :].rpartition("/")
        return Item(entry.key, data, entry.modified, (namespace, name))
