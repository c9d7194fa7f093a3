"""Turns taken fairly: a flow that wants much waits for itself, not others for it.

``FairGate`` hands out seats, to one flow only so many: whoever gets none stands in the line of its
flow, and each seat that comes free goes to the next flow's first. ``FairQueue`` holds items in the
same way. Somebody new waits for at most one turn of every other flow, however long their lines are.
"""

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

Flow = TypeVar("Flow", bound=Hashable)
Item = TypeVar("Item")


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
    """``share`` is how many seats one flow may have."""

    def __init__(self, seats: int, share: int | None = None) -> None:
        self._free = seats
        self._share = seats if share is None else share
        self._taken: dict[Flow, int] = {}
        # Who waits, in the order of the turns; and flows that have their share have no turn.
        self._lines: dict[Flow, deque[asyncio.Future[None]]] = {}
        self._full: dict[Flow, deque[asyncio.Future[None]]] = {}

    def waiting(self, flow: Flow) -> int:
        return len(self._lines.get(flow) or self._full.get(flow) or ())

    async def enter(self, flow: Flow) -> None:
        """Take a seat, which ``leave`` gives back."""
        taken = self._taken.get(flow, 0)
        if self._free and taken < self._share:
            self._free -= 1
            self._taken[flow] = taken + 1
            return
        lines = self._lines if taken < self._share else self._full
        seat: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        lines.setdefault(flow, deque()).append(seat)
        try:
            await seat
        except asyncio.CancelledError:
            if seat.done() and not seat.cancelled():
                # It was given in the same moment: the next one has it.
                self.leave(flow)
            raise

    def leave(self, flow: Flow) -> None:
        self._free += 1
        left = self._taken.pop(flow) - 1
        if left:
            self._taken[flow] = left
        if flow in self._full:
            self._lines[flow] = self._full.pop(flow)
        while self._free and self._lines:
            self._seat_next()

    def _seat_next(self) -> None:
        flow = next(iter(self._lines))
        line = self._lines.pop(flow)
        while line:
            seat = line.popleft()
            if seat.done():
                # Who gave up stands in the way of nobody.
                continue
            self._free -= 1
            taken = self._taken[flow] = self._taken.get(flow, 0) + 1
            seat.set_result(None)
            if line:
                (self._lines if taken < self._share else self._full)[flow] = line
            return
