"""The writer thread: group commit.

It owns the log and its own view of the entries, which runs ahead of the event loop's by at most
the batch in flight. A batch that cannot be committed is refused whole and leaves no trace.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from winkube.base.errors import WinkubeError
from winkube.store.decide import Write, plan_write
from winkube.store.errors import StoreClosedError, StoreError
from winkube.store.log import SqliteLog
from winkube.store.types import Entry, Event, Revision

# One transaction takes what waits, up to this: a bound on latency and on memory.
BATCH_REQUESTS = 1024
# What a value's callable may raise without harm to the other writes of its batch.
_CALLERS_FAULT = (
    WinkubeError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError,
    RuntimeError, AssertionError,
)  # fmt: skip


class Request(NamedTuple):
    """``write`` is None for a barrier: answered when all before it is durable."""

    write: Write | None
    future: asyncio.Future[Event | None]


class Compaction(NamedTuple):
    """Rows that no watch can ask for any more, and that are not a current entry."""

    compacted: Revision
    rows: tuple[Revision, ...]

    @classmethod
    def of(cls, compacted: Revision, dropped: Sequence[Event]) -> "Compaction":
        rows = [event.previous.modified for event in dropped if event.previous is not None]
        rows += [event.revision for event in dropped if event.kind == "DELETE"]
        return cls(compacted, tuple(rows))


Outcome = Event | BaseException | None


@dataclass(slots=True)
class Batch:
    events: list[Event] = field(default_factory=list)
    outcomes: list[tuple[Request, Outcome]] = field(default_factory=list)


class Writer:
    def __init__(
        self,
        log: SqliteLog,
        entries: dict[str, Entry],
        revision: Revision,
        deliver: Callable[[Batch], None],
    ) -> None:
        self._log = log
        self._entries = entries
        self._revision = revision
        self._deliver = deliver
        # Unbounded on purpose: each item is a caller that waits, and callers are bounded upstream.
        self._queue: queue.SimpleQueue[Sequence[Request | Compaction] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._accepting = True

    def start(self) -> None:
        self._thread.start()

    def submit(self, items: Sequence[Request | Compaction]) -> bool:
        """Hand over what is to be durable together, or as far as one batch has room."""
        if not self._accepting:
            return False
        self._queue.put(items)
        return True

    def stop(self) -> None:
        if self._accepting:
            self._accepting = False
            self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        items: list[Request | Compaction] = []
        try:
            while self._take(items):
                self._commit(items)
                items.clear()
            self._commit(items)
            items.clear()
        finally:
            # Also when this thread dies of a bug: nobody may wait for it for ever.
            self._accepting = False
            self._log.close()
            self._refuse(items)

    def _take(self, items: list[Request | Compaction]) -> bool:
        """Fill with everything handed over, at least once; False when told to stop."""
        given = self._queue.get()
        while given is not None:
            items += given
            if len(items) >= BATCH_REQUESTS:
                return True
            try:
                given = self._queue.get_nowait()
            except queue.Empty:
                return True
        return False

    def _commit(self, items: Sequence[Request | Compaction]) -> None:
        batch = Batch()
        ahead: dict[str, Entry | None] = {}
        compactions = []
        for item in items:
            if isinstance(item, Compaction):
                compactions.append(item)
            else:
                batch.outcomes.append((item, self._decide(item, batch.events, ahead)))
        try:
            self._log.append(batch.events)
            for compaction in compactions:
                self._log.remove(compaction.compacted, compaction.rows)
            self._log.commit()
        except StoreError as error:
            self._log.rollback()
            batch.events = []
            batch.outcomes = [(request, error) for request, _ in batch.outcomes]
        else:
            self._advance(batch.events)
        self._deliver(batch)

    def _decide(
        self, request: Request, events: list[Event], ahead: dict[str, Entry | None]
    ) -> Outcome:
        write = request.write
        if write is None or request.future.cancelled():
            return None
        current = ahead[write.key] if write.key in ahead else self._entries.get(write.key)
        try:
            event = plan_write(write, current, Revision(self._revision + len(events) + 1))
        except _CALLERS_FAULT as error:
            return error
        if event is not None:
            events.append(event)
            ahead[write.key] = event.entry if event.kind == "PUT" else None
        return event

    def _advance(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.kind == "PUT":
                self._entries[event.entry.key] = event.entry
            else:
                self._entries.pop(event.entry.key, None)
            self._revision = event.revision

    def _refuse(self, items: Sequence[Request | Compaction]) -> None:
        left = [*items]
        while not self._queue.empty():
            left += self._queue.get() or ()
        requests = [item for item in left if isinstance(item, Request)]
        self._deliver(Batch(outcomes=[(request, StoreClosedError()) for request in requests]))
