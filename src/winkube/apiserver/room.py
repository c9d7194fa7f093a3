"""Room for writes of large objects: so many bytes at a time, as each takes many times its size.

A parsed object of a megabyte takes fifteen, and its field owners as much again; one thread works on
all of them, so that more at once gain nothing. Tenants take turns, and others' small writes never
wait here.

A write that waits for a webhook keeps its room, for its object is in memory, and may keep it for
long. So those that will ask some are bounded before they are read: all of them have half of the
room, and those that ask the same ones a quarter, of which a tenant has a quarter again. However
slow webhooks are, whoever asks none finds room, and so does who asks others.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, TypeVar

from winkube.aio.fair import FairGate

Flow = TypeVar("Flow", bound=Hashable)
Result = TypeVar("Result")
# The webhooks that a write may ask.
Asked = frozenset[str]

LARGE: Final = 128 * 1024
# In units of a write that is just large: two of the largest bodies that are accepted.
SHARE: Final = 48
SEATS: Final = 8 * SHARE
ASKING_SEATS: Final = SEATS // 2
ASKED_SEATS: Final = ASKING_SEATS // 2
NOBODY: Final[Asked] = frozenset()


class Room:
    def __init__(self) -> None:
        self._gate: FairGate[str] = FairGate(SEATS, SHARE)
        self._asking: FairGate[Asked] = FairGate(ASKING_SEATS, ASKED_SEATS)
        # Lines in front of webhooks, and how many writes are in them or past them.
        self._lines: dict[Asked, tuple[FairGate[str], int]] = {}

    @property
    def lines(self) -> int:
        """In front of how many groups of webhooks somebody stands."""
        return len(self._lines)

    async def write(
        self,
        tenant: str,
        size: int,
        work: Callable[[], Awaitable[Result]],
        asked: Asked = NOBODY,
    ) -> Result:
        weight = max(1, size // LARGE)
        async with AsyncExitStack() as stack:
            if asked:
                await stack.enter_async_context(self._line(asked, tenant, weight))
                await stack.enter_async_context(_seat(self._asking, asked, weight))
            await stack.enter_async_context(_seat(self._gate, tenant, weight))
            return await work()

    @asynccontextmanager
    async def _line(self, asked: Asked, tenant: str, weight: int) -> AsyncIterator[None]:
        new: FairGate[str] = FairGate(ASKED_SEATS, ASKED_SEATS // 4)
        gate, users = self._lines.get(asked, (new, 0))
        self._lines[asked] = gate, users + 1
        try:
            async with _seat(gate, tenant, weight):
                yield
        finally:
            gate, users = self._lines.pop(asked)
            if users > 1:
                self._lines[asked] = gate, users - 1


@asynccontextmanager
async def _seat(gate: FairGate[Flow], flow: Flow, weight: int) -> AsyncIterator[None]:
    await gate.enter(flow, weight)
    try:
        yield
    finally:
        gate.leave(flow, weight)
