"""What a controller has asked for and its cache has not shown yet.

A cache runs behind the server. A controller that just created three pods must not create three
more because the cache shows none; it waits until it has seen what it did, or until it has waited
so long that the cache can be trusted more than the memory (kubernetes: controller_utils.go).
"""

from dataclasses import dataclass, field
from typing import Final

from winkube.api.meta import is_deleting, uid_of
from winkube.base.clock import Clock
from winkube.base.types import JsonObject

FORGET_SECONDS: Final = 300.0


@dataclass(slots=True)
class _Expected:
    at: float
    creations: int = 0
    deletions: set[str] = field(default_factory=set)


class Expectations:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._expected: dict[str, _Expected] = {}

    def satisfied(self, key: str) -> bool:
        expected = self._expected.get(key)
        if expected is None:
            return True
        met = expected.creations <= 0 and not expected.deletions
        if met or self._clock.monotonic() - expected.at > FORGET_SECONDS:
            del self._expected[key]
            return True
        return False

    def left(self, key: str) -> float:
        """Seconds until the cache is trusted again: what was missed calls nobody."""
        expected = self._expected.get(key)
        if expected is None:
            return 0.0
        return max(0.0, expected.at + FORGET_SECONDS - self._clock.monotonic()) + 1.0

    def expect_creations(self, key: str, count: int) -> None:
        self._of(key).creations += count

    def expect_deletion(self, key: str, uid: str) -> None:
        self._of(key).deletions.add(uid)

    def created(self, key: str, count: int = 1) -> None:
        """Seen, or given up."""
        expected = self._expected.get(key)
        if expected is not None:
            expected.creations -= count

    def deleted(self, key: str, uid: str) -> None:
        expected = self._expected.get(key)
        if expected is not None:
            expected.deletions.discard(uid)

    def observe(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        """Take note of what the cache shows."""
        if old is None and new is not None:
            self.created(key)
        if new is None or is_deleting(new):
            self.deleted(key, uid_of(new or old or {}))

    def forget(self, key: str) -> None:
        self._expected.pop(key, None)

    def _of(self, key: str) -> _Expected:
        expected = self._expected.setdefault(key, _Expected(self._clock.monotonic()))
        expected.at = self._clock.monotonic()
        return expected
