"""Room for writes of large objects: few at a time, as each takes many times its size.

A parsed object of a megabyte takes fifteen, and its field owners as much again; one thread works on
all of them, so that more at once gain nothing. Users take turns, and others' small writes never
wait here.
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from winkube.aio.fair import FairGate

Result = TypeVar("Result")

LARGE: Final = 128 * 1024
# What a slow webhook holds up must not hold up the others.
SHARE: Final = 4
SEATS: Final = 4 * SHARE


class Room:
    def __init__(self) -> None:
        self._gate: FairGate[str] = FairGate(SEATS, SHARE)

    async def write(self, user: str, work: Callable[[], Awaitable[Result]]) -> Result:
        await self._gate.enter(user)
        try:
            return await work()
        finally:
            self._gate.leave(user)
