"""Room for writes of large objects: so many bytes at a time, as each takes many times its size.

A parsed object of a megabyte takes fifteen, and its field owners as much again; one thread works on
all of them, so that more at once gain nothing. Tenants take turns, and others' small writes never
wait here. A write that waits for a webhook keeps its room, for its object is in memory: that is why
one tenant has an eighth of it, and those who come when little is left find some (``FairGate``).
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from winkube.aio.fair import FairGate

Result = TypeVar("Result")

LARGE: Final = 128 * 1024
# In units of a write that is just large: two of the largest bodies that are accepted.
SHARE: Final = 48
SEATS: Final = 8 * SHARE


class Room:
    def __init__(self) -> None:
        self._gate: FairGate[str] = FairGate(SEATS, SHARE)

    async def write(self, tenant: str, size: int, work: Callable[[], Awaitable[Result]]) -> Result:
        weight = max(1, size // LARGE)
        await self._gate.enter(tenant, weight)
        try:
            return await work()
        finally:
            self._gate.leave(tenant, weight)
