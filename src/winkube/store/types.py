"""What a store is: a log of revisions over keys, and the Protocol every implementation meets.

Revisions are dense: each successful write takes the next number, a refused one takes none. A write
is answered when it is durable, and a reader that was answered sees it.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, NewType, Protocol, TypeAlias

Revision = NewType("Revision", int)

# A callable is run by the writer, once, with the revision that the write gets, so that a value
# can carry its own revision. It must be pure and quick: every other write waits for it.
Value: TypeAlias = bytes | Callable[[Revision], bytes]


@dataclass(frozen=True, slots=True)
class Entry:
    key: str
    value: bytes
    created: Revision
    modified: Revision


@dataclass(frozen=True, slots=True)
class Event:
    """``entry`` of a DELETE holds the last value, with the revision of the deletion."""

    kind: Literal["PUT", "DELETE"]
    entry: Entry
    previous: Entry | None
    revision: Revision


@dataclass(frozen=True, slots=True)
class Listing:
    """Entries in key order, as of ``revision``; ``more`` when a limit cut the list short."""

    entries: tuple[Entry, ...]
    revision: Revision
    more: bool = False


class Watcher(Protocol):
    def __aiter__(self) -> "Watcher": ...

    async def __anext__(self) -> list[Event]:
        """The next events in order, at least one; CompactedError and LaggedError end the watch."""
        ...


class Store(Protocol):
    async def get(self, key: str) -> Entry | None: ...

    async def list(self, prefix: str, *, start_after: str = "", limit: int = 0) -> Listing: ...

    async def create(self, key: str, value: Value) -> Entry | None:
        """None when the key exists."""
        ...

    async def update(self, key: str, value: Value, expected: Revision) -> Entry | None:
        """None when the key is absent or was modified since ``expected``."""
        ...

    async def delete(self, key: str, expected: Revision | None = None) -> Entry | None:
        """The deleted entry; None when absent or modified since ``expected``."""
        ...

    def watch(self, prefix: str, after: Revision) -> AbstractAsyncContextManager[Watcher]:
        """Every event with a revision above ``after``, first the past, then as it happens."""
        ...

    async def revision(self) -> Revision: ...

    async def compact(self, before: Revision) -> None:
        """Forget history up to and including this revision; current entries stay."""
        ...

    async def flush(self) -> None:
        """Return once every write requested so far is durable or refused."""
        ...

    async def close(self) -> None: ...
