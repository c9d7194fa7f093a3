"""Pods that wait for a node.

Theory of operation: a pod is *active* (to be tried now, highest priority first, then oldest),
*backing off* (to be tried when its time has come) or *parked* (no node would take it; tried again
when something changes that could help, or after a long while). A change moves all parked pods at
once, but at most once per short interval, so that a burst of changes costs one pass.
"""

import asyncio
import heapq
from dataclasses import dataclass
from typing import Final

from winkube.aio.backoff import Backoff
from winkube.base.clock import Clock
from winkube.scheduler.shape import PodInfo

MOVE_INTERVAL: Final = 0.05


@dataclass(slots=True, eq=False)
class Waiting:
    pod: PodInfo
    added: float
    attempts: int = 0
    parked: float = 0.0
    message: str = ""


class SchedulingQueue:
    def __init__(self, clock: Clock, backoff: Backoff, parked_seconds: float) -> None:
        self._clock = clock
        self._backoff = backoff
        self._parked_seconds = parked_seconds
        self._entries: dict[str, Waiting] = {}
        self._active: list[tuple[int, float, int, Waiting]] = []
        self._later: list[tuple[float, int, Waiting]] = []
        self._parked: dict[str, Waiting] = {}
        self._sequence = 0
        self._move_wanted = False
        self._moved = clock.monotonic()
        self._wake = asyncio.Event()

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, pod: PodInfo) -> None:
        """New or changed: try it now."""
        old = self._entries.get(pod.key)
        if old is not None and old.pod.uid == pod.uid:
            entry = Waiting(pod, old.added, old.attempts, old.parked, old.message)
        else:
            entry = Waiting(pod, self._clock.monotonic())
        self._parked.pop(pod.key, None)
        self._entries[pod.key] = entry
        self._activate(entry)

    def remove(self, key: str) -> None:
        self._entries.pop(key, None)
        self._parked.pop(key, None)

    def knows(self, key: str) -> Waiting | None:
        return self._entries.get(key)

    def park(self, entry: Waiting) -> None:
        """No node takes it now."""
        if self._entries.get(entry.pod.key) is entry:
            entry.parked = self._clock.monotonic()
            self._parked[entry.pod.key] = entry

    def retry(self, entry: Waiting) -> None:
        """Something went wrong that has nothing to do with the pod: try again after a while."""
        current = self._entries.setdefault(entry.pod.key, entry)
        if current is entry:
            entry.parked = self._clock.monotonic()
            self._back_off(entry)

    def move_all(self) -> None:
        """Something changed that may help parked pods."""
        if self._parked:
            self._move_wanted = True
            self._wake.set()

    async def pop(self) -> Waiting:
        while True:
            entry = self.pop_now()
            if entry is not None:
                return entry
            self._wake.clear()
            try:
                async with asyncio.timeout(self._pause()):
                    await self._wake.wait()
            except TimeoutError:
                continue

    def pop_now(self) -> Waiting | None:
        self._flush()
        while self._active:
            entry = heapq.heappop(self._active)[3]
            if self._entries.get(entry.pod.key) is entry and entry.pod.key not in self._parked:
                entry.attempts += 1
                return entry
        return None

    def _pause(self) -> float | None:
        """Seconds until time alone can make a pod active."""
        now = self._clock.monotonic()
        times = [self._later[0][0]] if self._later else []
        if self._move_wanted:
            times.append(self._moved + MOVE_INTERVAL)
        if self._parked:
            times.append(now + self._parked_seconds / 10)
        return max(0.001, min(times) - now) if times else None

    def _flush(self) -> None:
        now = self._clock.monotonic()
        if self._move_wanted and now - self._moved >= MOVE_INTERVAL:
            self._move_wanted, self._moved = False, now
            parked, self._parked = self._parked, {}
            for entry in parked.values():
                self._back_off(entry)
        while self._later and self._later[0][0] <= now:
            entry = heapq.heappop(self._later)[2]
            if self._entries.get(entry.pod.key) is entry:
                self._activate(entry)
        if self._parked:
            self._unpark_old(now)

    def _unpark_old(self, now: float) -> None:
        oldest = next(iter(self._parked.values()))
        while now - oldest.parked >= self._parked_seconds:
            del self._parked[oldest.pod.key]
            self._activate(oldest)
            if not self._parked:
                return
            oldest = next(iter(self._parked.values()))

    def _back_off(self, entry: Waiting) -> None:
        ready = entry.parked + self._backoff.delay(max(1, entry.attempts))
        if ready <= self._clock.monotonic():
            self._activate(entry)
            return
        self._sequence += 1
        heapq.heappush(self._later, (ready, self._sequence, entry))
        self._wake.set()

    def _activate(self, entry: Waiting) -> None:
        self._sequence += 1
        rank = (-entry.pod.shape.priority, entry.added, self._sequence, entry)
        heapq.heappush(self._active, rank)
        self._wake.set()
