"""What a write does to the entry it meets: pure, shared by every store so that they agree."""

from typing import Literal, NamedTuple

from winkube.store.types import Entry, Event, Revision, Value


class Write(NamedTuple):
    kind: Literal["create", "update", "delete"]
    key: str
    value: Value = b""
    expected: Revision | None = None


def plan_write(write: Write, current: Entry | None, revision: Revision) -> Event | None:
    """The event that takes place as ``revision``; None when the write is refused."""
    if (current is None) != (write.kind == "create"):
        return None
    if current is None:
        value = _render(write.value, revision)
        return Event("PUT", Entry(write.key, value, revision, revision), None, revision)
    if write.expected is not None and current.modified != write.expected:
        return None
    if write.kind == "delete":
        last = Entry(write.key, current.value, current.created, revision)
        return Event("DELETE", last, current, revision)
    value = _render(write.value, revision)
    return Event("PUT", Entry(write.key, value, current.created, revision), current, revision)


def _render(value: Value, revision: Revision) -> bytes:
    return value if isinstance(value, bytes) else value(revision)
