"""The committed state in memory: entries in key order, and the recent history for watches.

Both stores answer reads from here. It knows nothing of durability; whoever applies an event has
made it durable first, and applies events in revision order.
"""

from bisect import bisect_left, bisect_right, insort
from collections import deque

from winkube.store.errors import CompactedError
from winkube.store.types import Entry, Event, Listing, Revision

# U+10FFFF sorts after every character a key can hold: prefix + LAST bounds the prefix's range.
_LAST = "\U0010ffff"


class State:
    def __init__(self, revision: Revision) -> None:
        self.entries: dict[str, Entry] = {}
        self.revision = revision
        self.compacted = revision
        self.history: deque[Event] = deque()
        self.history_bytes = 0
        self._keys: list[str] = []

    def load(self, entries: dict[str, Entry]) -> None:
        """Replace the entries wholesale (opening a file); history is left alone."""
        self.entries = entries
        self._keys = sorted(entries)

    def apply(self, event: Event) -> None:
        key = event.entry.key
        if event.kind == "PUT":
            if key not in self.entries:
                insort(self._keys, key)
            self.entries[key] = event.entry
        elif self.entries.pop(key, None) is not None:
            del self._keys[bisect_left(self._keys, key)]
        self.remember(event)

    def remember(self, event: Event) -> None:
        self.history.append(event)
        self.history_bytes += _cost(event)
        self.revision = event.revision

    def forget(self, before: Revision) -> list[Event]:
        """Drop and return the history up to ``before``, which cannot lie in the future."""
        before = min(before, self.revision)
        dropped = []
        while self.history and self.history[0].revision <= before:
            event = self.history.popleft()
            self.history_bytes -= _cost(event)
            dropped.append(event)
        self.compacted = max(self.compacted, before)
        return dropped

    def excess(self, limit_bytes: int, limit_events: int) -> Revision | None:
        """The revision to compact at so that history falls to three quarters of its limits."""
        if self.history_bytes <= limit_bytes and len(self.history) <= limit_events:
            return None
        spare_bytes = self.history_bytes - limit_bytes * 3 // 4
        spare_events = len(self.history) - limit_events * 3 // 4
        last = self.compacted
        for index, event in enumerate(self.history):
            if spare_bytes <= 0 and index >= spare_events:
                break
            spare_bytes -= _cost(event)
            last = event.revision
        return last

    def range(self, prefix: str, start_after: str, limit: int) -> Listing:
        first = bisect_left(self._keys, prefix)
        if start_after and start_after >= prefix:
            first = max(first, bisect_right(self._keys, start_after))
        end = bisect_left(self._keys, prefix + _LAST)
        last = min(end, first + limit) if limit > 0 else end
        entries = tuple([self.entries[key] for key in self._keys[first:last]])
        return Listing(entries, self.revision, more=last < end)

    def since(self, prefix: str, after: Revision) -> list[Event]:
        if after < self.compacted:
            raise CompactedError(after, self.compacted)
        missed = []
        for event in reversed(self.history):
            if event.revision <= after:
                break
            if event.entry.key.startswith(prefix):
                missed.append(event)
        missed.reverse()
        return missed


def _cost(event: Event) -> int:
    """Bytes only history keeps alive: what this event replaced, or removed."""
    return len(event.previous.value) if event.previous is not None else 0
