"""How long many works together may keep the event loop busy in one of its rounds.

Theory of operation: a work runs step by step, each until it has to wait for something. Once the
steps of all works have taken their time, whoever has another step to do stands in the line of its
flow; then one step is done in each round of the loop, and flows take turns. So everything that is
not such a work (answers, events, other components) waits for one step and never for as many as
there are works, and a work of a quiet flow waits for one step of every other flow. Rounds whose
steps turn out to be short are given twice as many next time: lines of those soon end.
"""

import asyncio
from collections.abc import Hashable
from typing import Final

from winkube.aio.fair import Lines

ROUND_SECONDS: Final = 0.01
# However short the last ones were: the next may be long.
MOST: Final = 16


class Rounds:
    def __init__(self, seconds: float = ROUND_SECONDS) -> None:
        self._seconds = self._left = seconds
        self._lines: Lines[Hashable, asyncio.Future[None]] = Lines()
        self._admitted = 1
        # Whether steps have to stand in line.
        self.full = False

    def spend(self, seconds: float) -> None:
        self._left -= seconds
        if self._left < 0 and not self.full:
            self.full = True
            asyncio.get_running_loop().call_soon(self._turn)

    async def turn(self, flow: Hashable) -> None:
        """Wait until this flow may do a step."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lines.put(flow, future)
        await future

    def _turn(self) -> None:
        quick = self._left > self._seconds / 2
        self._admitted = min(2 * self._admitted, MOST) if quick else 1
        self._left = self._seconds
        for _ in range(self._admitted):
            if not self._admit():
                self.full = False
                return
        # The loop does things in order: the steps first, then this again.
        asyncio.get_running_loop().call_soon(self._turn)

    def _admit(self) -> bool:
        """Let the next one do a step, if anybody waits."""
        while self._lines:
            _, future = self._lines.take()
            if not future.done():
                future.set_result(None)
                return True
        return False
