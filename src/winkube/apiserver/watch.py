"""Watch: a stream of changes, from the cache's window on, as stored bytes.

A change is rendered once for each form watchers ask for, whatever their number. A watcher that
does not read is cut off: its queue is bounded, and so is the time a write to it may take.
"""

import asyncio
import itertools
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import orjson
from aiohttp import web

from winkube.api.errors import ApiError, ExpiredError, InvalidError
from winkube.api.kinds import Kind
from winkube.api.validation.problems import Problems
from winkube.apiserver.bookmark import Bookmarks
from winkube.apiserver.cache import TRIGGER_FIELDS, Cache, Change, Trigger, Watcher
from winkube.apiserver.call import Call, add_warnings
from winkube.apiserver.form.conversion import item_as_served
from winkube.apiserver.item import Item, with_revision
from winkube.apiserver.options import parse_flag
from winkube.apiserver.registry.listing import Selection, SelectionText, parse_count
from winkube.apiserver.registry.version import ASKED_FOR, parse_version
from winkube.apiserver.render import Renderer, check_include
from winkube.apiserver.streaming.presence import is_connected
from winkube.base.clock import Clock

_BOOKMARK_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 5.0  # how long a client that went away may go unnoticed
_WRITE_SECONDS: Final = 20.0
_MIN_TIMEOUT: Final = 1800.0
# Of one write: somebody with large objects must not have them all copied at once.
_CHUNK: Final = 512
_CHUNK_BYTES: Final = 1 << 20
# Changes that follow so closely go out together: a write costs both ends more than a change. The
# more there are to write to, the longer it takes to come round; but nobody waits for ever because
# many follow.
_GATHER_SECONDS: Final = 0.004
_GATHER_SECONDS_EACH: Final = 0.0001
_GATHER_SECONDS_MOST: Final = 1.0


@dataclass(frozen=True, slots=True)
class WatchParams:
    version: str = ""
    timeout: int = 0
    bookmarks: bool = False
    initial: bool = False
    only_changes: bool = False  # whatever is there, wherever the watch begins

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> "WatchParams":
        said = "sendInitialEvents" in query
        initial = said and parse_flag(query["sendInitialEvents"])
        match = query.get("resourceVersionMatch", "")
        problems, path = Problems(), "resourceVersionMatch"
        if said and match != "NotOlderThan":
            text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            problems.forbidden(path, text)
        elif match and not said:
            text = (
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            )
            problems.forbidden(path, text)
        if match not in ("", "NotOlderThan"):
            problems.unsupported(path, match, ("NotOlderThan",))
        if problems:
            raise InvalidError.of("ListOptions", "", problems.causes, group="meta.k8s.io")
        return cls(
            version=query.get("resourceVersion", ""),
            timeout=parse_count(query.get("timeoutSeconds")),
            bookmarks=parse_flag(query.get("allowWatchBookmarks", "0")),
            initial=initial,
            only_changes=said and not initial,
        )


class WatchServer:
    def __init__(
        self, cache: Cache, renderer: Renderer, bookmarks: Bookmarks, clock: Clock
    ) -> None:
        self._cache = cache
        self._renderer = renderer
        self._bookmarks = bookmarks
        self._clock = clock

    async def serve(self, call: Call) -> web.StreamResponse:
        text = SelectionText.parse(call.query)
        params = WatchParams.parse(call.query)
        selection = text.of(call.served, call.target.name)
        if call.output.shape == "Table":
            check_include(call.include)
        folder = call.served.folder(call.target.namespace)
        stream = _Stream(call, selection, self._renderer, self._bookmarks)
        with call.served.cache.subscribe(folder, _trigger(selection)) as watcher:
            # No await between these: nothing may change between the state and the subscription.
            revision = self._cache.revision
            try:
                frames = self._first(call, stream, params, folder)
            except ExpiredError as error:
                frames, watcher.lagged = iter([_error_frame(error)]), True
            await stream.open()
            try:
                async with stream.limit:
                    for chunk in _chunks(frames):
                        await stream.write(chunk)
                        await asyncio.sleep(0)  # a write may wait for nobody; others have turns
                    if not watcher.lagged:
                        skip = max(revision, _number(params.version))
                        await self._follow(stream, watcher, params, skip)
            except (TimeoutError, ConnectionError):
                stream.abort()
        return stream.response

    def _first(
        self, call: Call, stream: "_Stream", params: WatchParams, folder: str
    ) -> Iterator[bytes]:
        """Of the state as it is now; each frame is made when it is asked for."""
        cache = call.served.cache
        unversioned = params.version in ("", "0")
        if unversioned and params.only_changes:
            return iter(())
        if params.initial or unversioned:
            frames = stream.initial(cache.items(folder))
            if params.initial and params.bookmarks:
                return itertools.chain(frames, stream.initial_end(self._cache.revision))
            return frames
        changes = cache.changes_after(parse_version(params.version, ASKED_FOR))
        return stream.missed([c for c in changes if c.item.key.startswith(folder)])

    async def _follow(
        self, stream: "_Stream", watcher: Watcher, params: WatchParams, skip: int
    ) -> None:
        now = self._clock.monotonic()
        end = now + (params.timeout or _MIN_TIMEOUT * (1 + random.random()))
        bookmark = now + _BOOKMARK_SECONDS
        while now < end and stream.connected:
            changes = await watcher.take(max(0.0, min(end - now, bookmark - now, _POLL_SECONDS)))
            if watcher.lagged:
                return
            # Taken before anything is awaited: what comes meanwhile is in the queue.
            revision = self._cache.revision
            for chunk in _chunks(stream.missed([each for each in changes if each.revision > skip])):
                await stream.write(chunk)
            now = self._clock.monotonic()
            if params.bookmarks and now >= min(bookmark, end):
                await stream.write(stream.bookmark(revision))
                bookmark = now + _BOOKMARK_SECONDS
            if changes:
                await asyncio.sleep(gather_seconds(stream.company))


def gather_seconds(company: int) -> float:
    return min(_GATHER_SECONDS + _GATHER_SECONDS_EACH * company, _GATHER_SECONDS_MOST)


def _chunks(frames: Iterable[bytes]) -> Iterator[bytes]:
    """Frames together, as many as make a write worth while; each is made when it is its turn."""
    chunk: list[bytes] = []
    size = 0
    for frame in frames:
        chunk.append(frame)
        size += len(frame)
        if size >= _CHUNK_BYTES or len(chunk) == _CHUNK:
            yield b"".join(chunk)
            chunk, size = [], 0
    if chunk:
        yield b"".join(chunk)


def _trigger(selection: Selection) -> Trigger | None:
    for field in TRIGGER_FIELDS:
        value = selection.fields.exact(field)
        if value is not None:
            return field, value
    return None


class _Stream:
    """One watcher's connection, and how changes look on it."""

    def __init__(
        self, call: Call, selection: Selection, renderer: Renderer, bookmarks: Bookmarks
    ) -> None:
        self.selection = selection
        self.response = web.StreamResponse(
            headers={"Content-Type": call.output.media, "Cache-Control": "no-cache, private"}
        )
        add_warnings(self.response.headers, call.warnings)
        # Of the write under way: one for all, as making one costs more than writing.
        self.limit = asyncio.timeout(None)
        self._call = call
        self._renderer = renderer
        self._bookmarks = bookmarks
        # Of the first table alone: those that follow have the same.
        self._with_columns = call.output.shape == "Table"
        self._everything = selection.everything
        # Of a table alone: who says it of something else must not have renderings of their own.
        self._include = call.include if call.output.shape == "Table" else ""
        # Renderings are shared between watchers of the same form; under words, which are found
        # quicker than what they are made of.
        form = f"{call.served.kind.api_version} {call.output} {self._include}"
        self._keys = {kind: f"{kind} {form}" for kind in ("ADDED", "MODIFIED", "DELETED")}

    @property
    def connected(self) -> bool:
        return is_connected(self._call.request)

    @property
    def company(self) -> int:
        """Those who have to be told what this one is told."""
        served = self._call.served
        return served.cache.followers(served.folder(self._call.target.namespace))

    async def open(self) -> None:
        await self.response.prepare(self._call.request)

    async def write(self, data: bytes) -> None:
        self.limit.reschedule(asyncio.get_running_loop().time() + _WRITE_SECONDS)
        await self.response.write(data)
        self.limit.reschedule(None)

    def abort(self) -> None:
        transport = self._call.request.transport
        if transport is not None:
            transport.abort()

    def initial(self, items: Sequence[Item]) -> Iterator[bytes]:
        return (self.frame("ADDED", item) for item in items if self._matches(item))

    def missed(self, changes: Iterable[Change]) -> Iterator[bytes]:
        return filter(None, map(self._seen, changes))

    def _seen(self, change: Change) -> bytes:
        """What this change means to somebody who sees only the selection; it may be nothing."""
        kind: str = change.type
        if not self._everything:
            now = kind != "DELETED" and self._matches(change.item)
            before = change.previous is not None and self._matches(change.previous)
            if not now and not before:
                return b""
            kind = ("MODIFIED" if before else "ADDED") if now else "DELETED"
        if self._with_columns:
            return self.frame(kind, _shown(change, kind))
        key = self._keys[kind]
        frame = change.frames.get(key)
        if frame is None:
            frame = change.frames[key] = self.frame(kind, _shown(change, kind))
        return frame

    def _matches(self, item: Item) -> bool:
        return self.selection.matches(item_as_served(self._call.served, item))

    def frame(self, kind: str, item: Item) -> bytes:
        served = self._call.served
        return self._written(kind, served.kind, item_as_served(served, item))

    def initial_end(self, revision: int) -> Iterator[bytes]:
        yield self.bookmark(revision, initial_end=True)

    def bookmark(self, revision: int, *, initial_end: bool = False) -> bytes:
        served, call = self._call.served, self._call
        # A row is made of the stored form, in which nothing is set either.
        row = call.output.shape == "Table" and self._include != "Object"
        kind = served.stored if row else served.kind
        item = self._bookmarks.item(kind, revision, initial_end=initial_end)
        return self._written("BOOKMARK", kind, item)

    def _written(self, event: str, kind: Kind, shown: Item) -> bytes:
        data = self._renderer.item(
            kind, shown, self._call.output, self._include, columns=self._with_columns
        )
        self._with_columns = False
        return b'{"type":"%b","object":%b}\n' % (event.encode(), data)


def _shown(change: Change, kind: str) -> Item:
    """What leaves a selection is shown as it was, under the revision at which it left."""
    if kind != "DELETED":
        return change.item
    old = change.previous or change.item
    data = with_revision(old.data, change.revision)
    return Item(old.key, data, change.revision, (old.namespace, old.name))


def _error_frame(error: ApiError) -> bytes:
    return orjson.dumps({"type": "ERROR", "object": error.to_status()}) + b"\n"


def _number(version: str) -> int:
    return int(version[:20]) if version.isascii() and version.isdigit() else 0
