"""Pods that wait for a node.

Theory of operation: a pod is *active* (to be tried now, see there in which order),
*backing off* (something changed that may help it, or the last try failed for no fault of its own;
to be tried when its time has come, or earlier when nothing else is active) or *parked* (no node
would take it; it waits for an event that helps one of the rules that refused it, or a long while).

Events are gathered for a moment and then shown to all parked pods at once. Pods that were refused
by the same rules and have the same needs get the same answer, so a burst of events over many alike
pods costs little. A pod is moved only by what happened after it was parked: what was before, its
last try knew. A pod whose victims are being sent away is *held*: it stays parked meanwhile, and
what happened meanwhile does not move it afterwards.
"""

import asyncio
import heapq
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from winkube.aio.backoff import Backoff
from winkube.base.clock import Clock
from winkube.scheduler.active import Active
from winkube.scheduler.events import ClusterEvent
from winkube.scheduler.parked import Parked
from winkube.scheduler.shape import PodInfo

MOVE_INTERVAL: Final = 0.05
# More questions than this at once are not worth asking: the pods left are simply tried.
MOST_QUESTIONS: Final = 50_000
# Back-off times are compared by the second: within one, priority decides.
WINDOW: Final = 1.0

Hint = Callable[[ClusterEvent, "Waiting"], bool]


@dataclass(slots=True, eq=False)
class Waiting:
    pod: PodInfo
    # When it came, or came back from its last try.
    added: float
    attempts: int = 0
    errors: int = 0
    parked: float = 0.0
    # How many events it knew of when it was parked, or let go.
    known_events: int = 0
    message: str = ""
    plugins: frozenset[str] = frozenset()
    # Where it is, by the number of its entry in a heap.
    place: int = 0


# When it may be tried, then the more important first, then who has waited longest.
Rank = tuple[float, int, float, int, Waiting]


class SchedulingQueue:
    def __init__(
        self, clock: Clock, backoff: Backoff, parked_seconds: float, hint: Hint | None = None
    ) -> None:
        self._clock = clock
        self._backoff = backoff
        self._parked_seconds = parked_seconds
        self._hint: Hint = hint or (lambda event, entry: True)
        self._entries: dict[str, Waiting] = {}
        self._active = Active()
        self._later: list[Rank] = []
        self._failed: list[Rank] = []
        self._parked = Parked()
        self._held: set[str] = set()
        self._sequence = 0
        self._events: list[ClusterEvent] = []
        self._shown_events = 0
        self._moved = clock.monotonic()
        self._wake = asyncio.Event()

    def __len__(self) -> int:
        return len(self._entries)

    # -- pods come and go

    def add(self, pod: PodInfo) -> None:
        """A new pod, or one that is another one now: try it."""
        self._forget(pod.key)
        self._activate(self._know(Waiting(pod, self._clock.monotonic())))

    def update(self, pod: PodInfo, *, try_now: bool) -> None:
        """The pod was changed; ``try_now`` when that may let it in."""
        entry = self._entries.get(pod.key)
        if entry is None or entry.pod.uid != pod.uid:
            self.add(pod)
            return
        entry.pod = pod
        if pod.key not in self._parked:
            return
        if try_now and pod.uid not in self._held:
            self._parked.discard(pod.key)
            self._back_off(entry)
        else:
            self._parked.changed(pod.key)

    def remove(self, key: str) -> None:
        entry = self._forget(key)
        if entry is not None:
            self._held.discard(entry.pod.uid)

    def _know(self, entry: Waiting) -> Waiting:
        self._entries[entry.pod.key] = entry
        self._active.know(entry.pod)
        return entry

    def _forget(self, key: str) -> Waiting | None:
        entry = self._entries.pop(key, None)
        self._parked.discard(key)
        if entry is not None:
            self._active.forget(entry.pod)
        return entry

    def knows(self, key: str) -> Waiting | None:
        return self._entries.get(key)

    # -- after a try

    def spent(self, pod: PodInfo, seconds: float) -> None:
        """The decision about the pod took this long: others may go before its namespace."""
        self._active.debts.charge(pod.namespace, seconds, self._clock.monotonic())

    def park(self, entry: Waiting, plugins: frozenset[str] = frozenset()) -> None:
        """No node takes it now; without a rule that says so it is tried again after a while."""
        if self._entries.get(entry.pod.key) is not entry:
            return
        entry.plugins = plugins
        entry.parked = entry.added = self._clock.monotonic()
        entry.known_events = self._event_count
        if plugins:
            entry.errors = 0
            self._parked.add(entry)
        else:
            entry.errors += 1
            self._back_off(entry)

    def retry(self, entry: Waiting) -> None:
        """Something went wrong that has nothing to do with the pod: try again after a while."""
        current = self._entries.get(entry.pod.key)
        if current is None:
            current = self._know(entry)
        if current is entry:
            entry.plugins = frozenset()
            entry.parked = entry.added = self._clock.monotonic()
            entry.errors += 1
            self._back_off(entry)

    def hold(self, uid: str) -> None:
        self._held.add(uid)

    def release(self, key: str, uid: str, *, try_now: bool = False) -> None:
        """Its victims are on their way; try it at once if no event will tell of their going."""
        self._held.discard(uid)
        entry = self._entries.get(key)
        if entry is None or entry.pod.uid != uid:
            return
        entry.known_events = self._event_count
        if try_now and key in self._parked:
            self._parked.discard(key)
            self._activate(entry)

    # -- events

    @property
    def _event_count(self) -> int:
        """How many have been gathered, shown or not."""
        return self._shown_events + len(self._events)

    def happened(self, event: ClusterEvent) -> None:
        """Something changed that may help parked pods."""
        if self._parked:
            self._events.append(event)
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
        entry = self._first_active()
        if entry is None:
            # Nothing better to do: those that only wait out their time are tried early.
            entry = self._first(self._later)
        if entry is not None:
            entry.attempts += 1
            entry.place = 0
        return entry

    def _first_active(self) -> Waiting | None:
        now = self._clock.monotonic()
        while (found := self._active.pop(now)) is not None:
            number, entry = found
            if entry.place == number and self._entries.get(entry.pod.key) is entry:
                return entry
        return None

    def _first(self, heap: list[Rank]) -> Waiting | None:
        while heap:
            *_, number, entry = heapq.heappop(heap)
            if entry.place == number and self._entries.get(entry.pod.key) is entry:
                return entry
        return None

    def _pause(self) -> float | None:
        """Seconds until time alone can make a pod active."""
        now = self._clock.monotonic()
        times = [heap[0][0] for heap in (self._later, self._failed) if heap]
        if self._events:
            times.append(self._moved + MOVE_INTERVAL)
        if self._parked:
            times.append(now + self._parked_seconds / 10)
        return max(0.001, min(times) - now) if times else None

    def _flush(self) -> None:
        now = self._clock.monotonic()
        if self._events and now - self._moved >= MOVE_INTERVAL:
            self._moved = now
            self._show_events()
        for heap in (self._later, self._failed):
            while heap and heap[0][0] <= now:
                *_, number, entry = heapq.heappop(heap)
                if entry.place == number and self._entries.get(entry.pod.key) is entry:
                    self._activate(entry)
        if self._parked:
            self._unpark_old(now)

    def _show_events(self) -> None:
        events, first = self._events, self._shown_events
        self._events, self._shown_events = [], first + len(events)
        asked = 0
        for group in self._parked.groups():
            free = [entry for entry in group if entry.pod.uid not in self._held]
            if not free:
                continue
            asked += len(events) * free[0].pod.shape.demands
            last = first + len(events) if asked > MOST_QUESTIONS else self._last_help(free, events)
            for entry in free:
                if entry.known_events < last:
                    self._parked.discard(entry.pod.key)
                    self._back_off(entry)

    def _last_help(self, alike: list[Waiting], events: list[ClusterEvent]) -> int:
        """The number of the last event that helps pods alike; none helps who knew it already."""
        oldest = min(entry.known_events for entry in alike)
        for number, event in zip(itertools.count(self._shown_events, -1), reversed(events)):
            if number <= oldest:
                break
            if self._hint(event, alike[0]):
                return number
        return 0

    def _unpark_old(self, now: float) -> None:
        oldest = self._parked.oldest()
        due = itertools.takewhile(lambda e: now - e.parked >= self._parked_seconds, oldest)
        for entry in list(due):
            if entry.pod.uid not in self._held:
                self._parked.discard(entry.pod.key)
                self._activate(entry)

    def _back_off(self, entry: Waiting) -> None:
        failures = entry.errors or max(1, entry.attempts)
        ready = entry.parked + self._backoff.delay(failures)
        if ready <= self._clock.monotonic():
            self._activate(entry)
            return
        self._sequence += 1
        entry.place = self._sequence
        heap = self._later if entry.plugins else self._failed
        window = ready if self._backoff.first < WINDOW else math.floor(ready / WINDOW) * WINDOW
        rank = (window, -entry.pod.priority, entry.added, self._sequence, entry)
        heapq.heappush(heap, rank)
        self._wake.set()

    def _activate(self, entry: Waiting) -> None:
        self._sequence += 1
        entry.place = self._sequence
        self._active.push(entry, self._sequence, self._clock.monotonic())
        self._wake.set()
