"""Watchers: a bounded queue each, so that a slow reader is cut off and never waited for."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from winkube.store.errors import LaggedError, StoreClosedError, StoreError
from winkube.store.state import State
from winkube.store.types import Event, Revision

QUEUE_EVENTS = 10_000


class QueueWatcher:
    def __init__(self, prefix: str, after: Revision, limit: int) -> None:
        self._prefix = prefix
        self._after = after
        self._limit = limit
        self._events: deque[Event] = deque()
        self._wake = asyncio.Event()
        self._failure: StoreError | None = None

    def __aiter__(self) -> "QueueWatcher":
        return self

    async def __anext__(self) -> list[Event]:
        while not self._events and self._failure is None:
            self._wake.clear()
            await self._wake.wait()
        if self._failure is not None:
            raise self._failure
        events = list(self._events)
        self._events.clear()
        return events

    def replay(self, events: Sequence[Event]) -> None:
        """The past is not bounded by the queue: it is in memory already."""
        self._events.extend(events)

    def offer(self, events: Sequence[Event]) -> None:
        if self._failure is not None:
            return
        if len(self._events) + len(events) > self._limit and self._events:
            self.fail(LaggedError(self._prefix))
            return
        self._events.extend(event for event in events if event.revision > self._after)
        self._wake.set()

    def fail(self, error: StoreError) -> None:
        self._events.clear()
        self._failure = error
        self._wake.set()


class WatchHub:
    """Watchers grouped by prefix: a batch of events is matched once per prefix in use."""

    def __init__(self, limit: int = QUEUE_EVENTS) -> None:
        self._limit = limit
        self._groups: dict[str, set[QueueWatcher]] = {}
        self._closed = False

    @asynccontextmanager
    async def watch(
        self, state: State, prefix: str, after: Revision
    ) -> AsyncIterator[QueueWatcher]:
        if self._closed:
            raise StoreClosedError
        watcher = QueueWatcher(prefix, after, self._limit)
        watcher.replay(state.since(prefix, after))
        group = self._groups.setdefault(prefix, set())
        group.add(watcher)
        try:
            yield watcher
        finally:
            group.discard(watcher)
            if not group and self._groups.get(prefix) is group:
                del self._groups[prefix]

    def publish(self, events: Sequence[Event]) -> None:
        for prefix, group in self._groups.items():
            matching = [event for event in events if event.entry.key.startswith(prefix)]
            if matching:
                for watcher in group:
                    watcher.offer(matching)

    def close(self) -> None:
        self._closed = True
        for group in self._groups.values():
            for watcher in group:
                watcher.fail(StoreClosedError())
