"""The store that forgets: for tests and throw-away clusters."""

from contextlib import AbstractAsyncContextManager

from winkube.store.decide import Write, plan_write
from winkube.store.errors import StoreClosedError
from winkube.store.state import State
from winkube.store.types import Entry, Listing, Revision, Value, Watcher
from winkube.store.watch import QUEUE_EVENTS, WatchHub

HISTORY_BYTES = 32 * 1024 * 1024
HISTORY_EVENTS = 100_000


class MemoryStore:
    def __init__(
        self,
        *,
        history_bytes: int = HISTORY_BYTES,
        history_events: int = HISTORY_EVENTS,
        watch_events: int = QUEUE_EVENTS,
    ) -> None:
        self._limits = (history_bytes, history_events)
        self._state = State(Revision(0))
        self._hub = WatchHub(watch_events)
        self._closed = False

    async def get(self, key: str) -> Entry | None:
        return self._state.entries.get(key)

    async def list(self, prefix: str, *, start_after: str = "", limit: int = 0) -> Listing:
        return self._state.range(prefix, start_after, limit)

    async def create(self, key: str, value: Value) -> Entry | None:
        return self._write(Write("create", key, value))

    async def update(self, key: str, value: Value, expected: Revision) -> Entry | None:
        return self._write(Write("update", key, value, expected))

    async def delete(self, key: str, expected: Revision | None = None) -> Entry | None:
        return self._write(Write("delete", key, expected=expected))

    def watch(self, prefix: str, after: Revision) -> AbstractAsyncContextManager[Watcher]:
        return self._hub.watch(self._state, prefix, after)

    async def revision(self) -> Revision:
        return self._state.revision

    async def compact(self, before: Revision) -> None:
        self._state.forget(before)

    async def flush(self) -> None:
        return

    async def close(self) -> None:
        self._closed = True
        self._hub.close()

    def _write(self, write: Write) -> Entry | None:
        if self._closed:
            raise StoreClosedError
        state = self._state
        event = plan_write(write, state.entries.get(write.key), Revision(state.revision + 1))
        if event is None:
            return None
        state.apply(event)
        self._hub.publish([event])
        excess = state.excess(*self._limits)
        if excess is not None:
            state.forget(excess)
        return event.entry
