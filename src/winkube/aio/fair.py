"""Turns taken fairly: a flow that wants much waits for itself, not others for it.

``FairGate`` hands out seats, to one flow only so many: whoever gets none stands in the line of its
flow, and each seat that comes free goes to the first of a flow that has fewest. ``FairQueue`` holds
items in the same way. Somebody new waits for at most one turn of every other flow, however long
their lines are.

Seats may be held for long (by who waits for somebody else). So where flows have shares, no flow
gets a seat that would leave it with more than are free: the fewer there are, the fewer are given to
who has some, and the last ones go to who has none.
"""

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

Flow = TypeVar("Flow", bound=Hashable)
Item = TypeVar("Item")
# Who waits, and how much for.
_Seat = tuple[asyncio.Future[None], int]


class Lines(Generic[Flow, Item]):
    """First come, first served within a flow; flows take turns."""

    def __init__(self) -> None:
        # In the order of the turns.
        self._lines: dict[Flow, deque[Item]] = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def length(self, flow: Flow) -> int:
        return len(self._lines.get(flow, ()))

    def put(self, flow: Flow, item: Item) -> None:
        self._size += 1
        line = self._lines.get(flow)
        if line is None:
            self._lines[flow] = deque((item,))
        else:
            line.append(item)

    def take(self) -> tuple[Flow, Item]:
        """The first of the flow whose turn it is; there has to be one."""
        flow = next(iter(self._lines))
        line = self._lines.pop(flow)
        item = line.popleft()
        self._size -= 1
        if line:
            self._lines[flow] = line
        return flow, item


class FairQueue(Generic[Flow, Item]):
    """Without a bound: for items whose number something else bounds."""

    def __init__(self) -> None:
        self._lines: Lines[Flow, Item] = Lines()
        self._wake = asyncio.Event()

    def __len__(self) -> int:
        return len(self._lines)

    def length(self, flow: Flow) -> int:
        return self._lines.length(flow)

    def put(self, flow: Flow, item: Item) -> None:
        self._lines.put(flow, item)
        self._wake.set()

    async def get(self) -> Item:
        while not self._lines:
            self._wake.clear()
            await self._wake.wait()
        return self._lines.take()[1]


class FairGate(Generic[Flow]):
    """``share`` is how many seats one flow may have.

    Who enters may take several at once (``weight``), also more than there are or than its share:
    then others wait for that much longer.
    """

    def __init__(self, seats: int, share: int | None = None) -> None:
        self._free = seats
        self._share = seats if share is None else share
        self._reserves = share is not None
        self._taken: dict[Flow, int] = {}
        # Who waits: flows by how many seats they have, and then in the order of the turns.
        self._lines: dict[int, dict[Flow, deque[_Seat]]] = {}

    def waiting(self, flow: Flow) -> int:
        lines = self._lines.get(self._taken.get(flow, 0))
        return len(lines.get(flow, ())) if lines else 0

    async def enter(self, flow: Flow, weight: int = 1) -> None:
        """Take a seat, which ``leave`` gives back."""
        taken = self._taken.get(flow, 0)
        # Whoever waits for a seat that is free has more than this flow, or has its share.
        if taken < self._limit:
            self._free -= weight
            self._taken[flow] = taken + weight
            return
        seat: _Seat = asyncio.get_running_loop().create_future(), weight
        self._lines.setdefault(taken, {}).setdefault(flow, deque()).append(seat)
        try:
            await seat[0]
        except asyncio.CancelledError:
            if seat[0].done() and not seat[0].cancelled():
                # It was given in the same moment: the next one has it.
                self.leave(flow, weight)
            raise

    def leave(self, flow: Flow, weight: int = 1) -> None:
        self._free += weight
        taken = self._taken.pop(flow)
        if taken > weight:
            self._taken[flow] = taken - weight
        if self._lines:
            line = self._stand_up(flow, taken)
            if line:
                self._lines.setdefault(taken - weight, {})[flow] = line
            while self._seat_next():
                pass

    @property
    def _limit(self) -> int:
        """Flows that have fewer seats than this get another."""
        return min(self._share, self._free) if self._reserves else self._free

    def _seat_next(self) -> bool:
        for taken in range(self._limit):
            if taken in self._lines:
                flow = next(iter(self._lines[taken]))
                self._seat_first(flow, taken, self._stand_up(flow, taken))
                return True
        return False

    def _seat_first(self, flow: Flow, taken: int, line: "deque[_Seat]") -> None:
        while line:
            future, weight = line.popleft()
            if future.done():
                # Who gave up stands in the way of nobody.
                continue
            self._free -= weight
            taken = self._taken[flow] = taken + weight
            future.set_result(None)
            break
        if line:
            self._lines.setdefault(taken, {})[flow] = line

    def _stand_up(self, flow: Flow, taken: int) -> "deque[_Seat]":
        """Take the line of a flow from its place."""
        lines = self._lines.get(taken, {})
        line = lines.pop(flow, deque())
        if not lines:
            self._lines.pop(taken, None)
        return line
