"""Restart and image-pull back-off: how long a thing that keeps failing has to wait.

As upstream's flowcontrol.Backoff: the first failure is free, then 10 s doubling to 5 minutes,
forgotten after a quiet time of twice the longest wait.
"""

from dataclasses import dataclass, field
from typing import Final

FIRST: Final = 10.0
LONGEST: Final = 300.0


@dataclass(slots=True)
class _Entry:
    delay: float
    updated: float


@dataclass(slots=True)
class Backoffs:
    first: float = FIRST
    longest: float = LONGEST
    _entries: dict[str, _Entry] = field(default_factory=dict)

    def wait(self, key: str, since: float, now: float) -> float:
        """Seconds still to wait, counted from ``since``; 0 when it may go on."""
        entry = self._entries.get(key)
        if entry is None or self._stale(entry, since):
            return 0.0
        return max(0.0, since + entry.delay - now)

    def delay(self, key: str) -> float:
        entry = self._entries.get(key)
        return 0.0 if entry is None else entry.delay

    def advance(self, key: str, since: float, now: float) -> None:
        """Another attempt is made: the next wait is longer."""
        entry = self._entries.get(key)
        if entry is None or self._stale(entry, since):
            self._entries[key] = _Entry(self.first, now)
        else:
            entry.delay = min(entry.delay * 2, self.longest)
            entry.updated = now

    def forget(self, prefix: str) -> None:
        for key in [key for key in self._entries if key.startswith(prefix)]:
            del self._entries[key]

    def _stale(self, entry: _Entry, since: float) -> bool:
        return since - entry.updated > 2 * self.longest


def to_duration(seconds: float) -> str:
    """As Go prints a duration: 10s, 1m20s, 5m0s."""
    whole = int(seconds)
    return f"{whole // 60}m{whole % 60}s" if whole >= 60 else f"{whole}s"
