"""Pods to be tried now: the more important first, then who has waited longest.

So upstream orders them, too, and so a namespace that wants a few pods waits for one that wants a
million. Here only so many pods of one namespace and priority stand in the line at a time. The
others wait behind it, the workloads of the namespace in turns, and join its end one by one: who
comes with a few pods waits for a line that does not grow with what others want.

A namespace whose pods take long to decide about steps aside once it is in debt: whoever is not goes
first, whatever the priorities, and among debtors the one that owes least.
"""

import heapq
from collections import Counter
from typing import TYPE_CHECKING, Final

from winkube.aio.fair import Lines
from winkube.scheduler.debt import Debts
from winkube.scheduler.shape import Owner, PodInfo

if TYPE_CHECKING:
    from winkube.scheduler.queue import Waiting

CROWD: Final = 32

Flow = tuple[int, str]
# The more important first, then who has waited longest; then who stood here first.
Rank = tuple[int, float, int, int, "Waiting"]


class Active:
    def __init__(self) -> None:
        self._line: list[Rank] = []
        self._stood = 0
        self._standing: Counter[Flow] = Counter()
        self._behind: dict[Flow, Lines[Owner | None, tuple[int, Waiting]]] = {}
        # All pods that wait for a node, whether they are tried now or not.
        self._known: Counter[Flow] = Counter()
        self.debts = Debts()
        # Those of the line that let others go first, by namespace.
        self._aside: dict[str, list[Rank]] = {}

    def know(self, pod: PodInfo) -> None:
        self._known[_flow(pod)] += 1

    def forget(self, pod: PodInfo) -> None:
        flow = _flow(pod)
        self._known[flow] -= 1
        if self._known[flow] <= 0:
            del self._known[flow]

    def push(self, entry: "Waiting", number: int, now: float) -> None:
        flow = _flow(entry.pod)
        if self._known[flow] <= CROWD:
            self._stand(flow, entry.added, number, entry)
        elif self._standing[flow] < CROWD:
            # Its age counts for nothing, or those that were refused often would come first.
            self._stand(flow, now, number, entry)
        else:
            behind = self._behind.setdefault(flow, Lines())
            behind.put(entry.pod.controller, (number, entry))

    def pop(self, now: float) -> tuple[int, "Waiting"] | None:
        """The first, with the number it was pushed under."""
        rank = self._first(now)
        if rank is None:
            return None
        *_, number, entry = rank
        flow = _flow(entry.pod)
        self._standing[flow] -= 1
        if not self._standing[flow]:
            del self._standing[flow]
        behind = self._behind.get(flow)
        if behind is not None:
            _, (following, successor) = behind.take()
            if not behind:
                del self._behind[flow]
            self._stand(flow, now, following, successor)
        return number, entry

    def _first(self, now: float) -> Rank | None:
        for namespace in [each for each in self._aside if not self.debts.is_indebted(each, now)]:
            for rank in self._aside.pop(namespace):
                heapq.heappush(self._line, rank)
        while self._line:
            rank = heapq.heappop(self._line)
            namespace = rank[-1].pod.namespace
            if not self.debts.is_indebted(namespace, now):
                return rank
            heapq.heappush(self._aside.setdefault(namespace, []), rank)
        if not self._aside:
            return None
        least = min(self._aside, key=lambda namespace: self.debts.of(namespace, now))
        rank = heapq.heappop(self._aside[least])
        if not self._aside[least]:
            del self._aside[least]
        return rank

    def _stand(self, flow: Flow, since: float, number: int, entry: "Waiting") -> None:
        self._standing[flow] += 1
        self._stood += 1
        heapq.heappush(self._line, (-flow[0], since, self._stood, number, entry))


def _flow(pod: PodInfo) -> Flow:
    return pod.priority, pod.namespace
