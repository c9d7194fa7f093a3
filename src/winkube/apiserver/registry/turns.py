"""Turns at one object: who lost a race to write it waits for the others that did.

Writers that race again all together make one winner a round, and give up after some rounds; one
after the other they all win. Who has not lost yet waits for nobody.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from weakref import WeakValueDictionary

# Upstream tries without end (GuaranteedUpdate); whoever loses so often lost to somebody each time.
ATTEMPTS: Final = 64


class Turns:
    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def take(self, key: str, attempt: int) -> AsyncIterator[None]:
        """The turn at an object, for who tries again."""
        if attempt == 0:
            yield
            return
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        async with lock:
            yield
