"""The keyed work queue of a reconcile loop.

Theory of operation: a key is *waiting* (in the queue), *running* (handed to a worker) or *dirty*
(added again while running). A key is never handed to two workers at once, and an add while it runs
is not lost: the key is queued again when its worker is done. Keys are level-triggered: adding a
waiting key twice is one piece of work. A key that was told to *rest* is queued when it has.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from winkube.aio.backoff import Backoff
from winkube.aio.fair import Lines

Key = TypeVar("Key", bound=Hashable)


class WorkQueue(Generic[Key]):
    """``flow`` says with whom a key waits: flows take turns, in one all keys come in order."""

    def __init__(
        self, backoff: Backoff | None = None, flow: Callable[[Key], Hashable] | None = None
    ) -> None:
        self._backoff = backoff or Backoff()
        self._flow = flow
        self._waiting: Lines[Hashable, Key] = Lines()
        self._queued: set[Key] = set()
        self._running: set[Key] = set()
        self._dirty: set[Key] = set()
        self._failures: dict[Key, int] = {}
        self._later: dict[Key, asyncio.TimerHandle] = {}
        # Keys whose last run seemed to take long.
        self.suspects: set[Key] = set()
        # Whether it was added meanwhile.
        self._resting: dict[Key, bool] = {}
        self._wake = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    def flow_of(self, key: Key) -> Hashable:
        return None if self._flow is None else self._flow(key)

    def add(self, key: Key) -> None:
        if key in self._running:
            self._dirty.add(key)
        elif key in self._resting:
            self._resting[key] = True
        elif key not in self._queued:
            self._queued.add(key)
            self._waiting.put(self.flow_of(key), key)
            self._wake.set()

    def add_after(self, key: Key, seconds: float) -> None:
        """Add once this time has passed; the earliest of several requests wins."""
        loop = asyncio.get_running_loop()
        pending = self._later.get(key)
        if pending is not None:
            if pending.when() <= loop.time() + seconds:
                return
            pending.cancel()
        self._later[key] = loop.call_later(max(0.0, seconds), self._ripen, key)

    def rest(self, key: Key, seconds: float) -> None:
        """Hand the key, which is running, to nobody before this time has passed."""
        if key not in self._resting:
            self._resting[key] = False
            asyncio.get_running_loop().call_later(seconds, self._end_rest, key)

    def retry(self, key: Key) -> float:
        """Add again after this key's back-off; say how long that is."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay = self._backoff.delay(failures)
        self.add_after(key, delay)
        return delay

    def forget(self, key: Key) -> None:
        """The key succeeded: its next failure starts from the first delay."""
        self._failures.pop(key, None)

    def failures(self, key: Key) -> int:
        return self._failures.get(key, 0)

    @asynccontextmanager
    async def take(self) -> AsyncIterator[Key]:
        """Hold the next key; no other worker gets it until this block ends."""
        while not self._waiting:
            self._wake.clear()
            await self._wake.wait()
        _, key = self._waiting.take()
        self._queued.discard(key)
        self._running.add(key)
        try:
            yield key
        finally:
            self._running.discard(key)
            if key in self._dirty:
                self._dirty.discard(key)
                self.add(key)

    def _end_rest(self, key: Key) -> None:
        if self._resting.pop(key):
            self.add(key)

    def _ripen(self, key: Key) -> None:
        self._later.pop(key, None)
        self.add(key)
