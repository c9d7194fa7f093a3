"""The durable store: one SQLite file, one writer thread, state answered from memory.

Theory of operation. The event loop hands writes to the writer thread: what came in during one round
of the loop, or while the batch before was made durable, goes over together, since every hand-over
costs both threads a wait for the interpreter's lock. The writer decides each write against the
entries it has already decided (``plan_write``), appends the resulting events to the log in one
transaction, and commits: that is one fsync however many writers wait. Only then does it send the
batch back to the event loop, which updates the in-memory state, feeds the watchers and answers the
callers, in this order and in revision order. So nobody sees a write that could still be lost, and
every answered write can be read at once.

The log is the only table that matters: ``revision`` is its rowid, a row is a put or a delete, and
the entries are what remains when it is read in order. Compaction removes rows that no watch can
ask for and that are not a current entry.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from winkube.store.decide import Write
from winkube.store.errors import StoreClosedError, StoreError
from winkube.store.log import SqliteLog
from winkube.store.memory import HISTORY_BYTES, HISTORY_EVENTS
from winkube.store.types import Entry, Event, Listing, Revision, Value, Watcher
from winkube.store.watch import QUEUE_EVENTS, WatchHub
from winkube.store.writer import Batch, Compaction, Outcome, Request, Writer


class SqliteStore:
    """Made by ``open``; belongs to the event loop that opened it."""

    def __init__(self, log: SqliteLog, *, limits: tuple[int, int], watch_events: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._limits = limits
        self._state = log.load()
        self._hub = WatchHub(watch_events)
        self._writer = Writer(log, dict(self._state.entries), self._state.revision, self._receive)
        self._outbox: list[Request | Compaction] = []
        self._busy = False  # the writer has a batch that it has not answered yet

    @classmethod
    async def open(
        cls,
        path: Path | str,
        *,
        history_bytes: int = HISTORY_BYTES,
        history_events: int = HISTORY_EVENTS,
        watch_events: int = QUEUE_EVENTS,
    ) -> "SqliteStore":
        log = SqliteLog(str(path))
        limits = (history_bytes, history_events)
        store = cls(log, limits=limits, watch_events=watch_events)
        store._writer.start()
        return store

    async def get(self, key: str) -> Entry | None:
        return self._state.entries.get(key)

    async def list(self, prefix: str, *, start_after: str = "", limit: int = 0) -> Listing:
        return self._state.range(prefix, start_after, limit)

    async def create(self, key: str, value: Value) -> Entry | None:
        return await self._request(Write("create", key, value))

    async def update(self, key: str, value: Value, expected: Revision) -> Entry | None:
        return await self._request(Write("update", key, value, expected))

    async def delete(self, key: str, expected: Revision | None = None) -> Entry | None:
        return await self._request(Write("delete", key, expected=expected))

    def watch(self, prefix: str, after: Revision) -> AbstractAsyncContextManager[Watcher]:
        return self._hub.watch(self._state, prefix, after)

    async def revision(self) -> Revision:
        return self._state.revision

    async def compact(self, before: Revision) -> None:
        self._forget(before)
        await self.flush()

    async def flush(self) -> None:
        await self._request(None)

    async def close(self) -> None:
        self._hub.close()
        with contextlib.suppress(StoreError):
            await self.flush()
        await self._loop.run_in_executor(None, self._writer.stop)

    async def _request(self, write: Write | None) -> Entry | None:
        future: asyncio.Future[Event | None] = self._loop.create_future()
        self._send(Request(write, future))
        event = await future
        return event.entry if event is not None else None

    def _send(self, item: Request | Compaction) -> None:
        if not self._outbox and not self._busy:
            self._loop.call_soon(self._hand_over)
        self._outbox.append(item)

    def _hand_over(self) -> None:
        if self._busy or not self._outbox:
            return
        items, self._outbox = self._outbox, []
        self._busy = self._writer.submit(items)
        if not self._busy:
            requests = [item for item in items if isinstance(item, Request)]
            self._answer([(request, StoreClosedError()) for request in requests])

    def _receive(self, batch: Batch) -> None:
        """Called by the writer thread: carry a finished batch over to the event loop."""
        # The loop may be gone when the process ends without close(); nobody waits then.
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._deliver, batch)

    def _deliver(self, batch: Batch) -> None:
        self._busy = False
        events = batch.events
        for event in events:
            self._state.apply(event)
        if events:
            self._hub.publish(events)
            excess = self._state.excess(*self._limits)
            if excess is not None:
                self._forget(excess)
        self._hand_over()
        self._answer(batch.outcomes)

    def _answer(self, outcomes: Sequence[tuple[Request, Outcome]]) -> None:
        for request, outcome in outcomes:
            if request.future.done():
                continue
            if isinstance(outcome, BaseException):
                request.future.set_exception(outcome)
            else:
                request.future.set_result(outcome)

    def _forget(self, before: Revision) -> None:
        dropped = self._state.forget(before)
        self._send(Compaction.of(self._state.compacted, dropped))
