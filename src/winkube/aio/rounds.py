"""How long many works together may keep the event loop busy in one of its rounds.

Theory of operation: a work runs step by step, each until it has to wait for something. Once the
steps of all works have taken their time, whoever has another step to do stands in the line of its
flow; then one step is done in each round of the loop, and flows take turns. So everything that is
not such a work (answers, events, other components) waits for one step and never for as many as
there are works, and a work of a quiet flow waits for one step of every other flow.
"""

import asyncio
from collections.abc import Hashable
from typing import Final

from winkube.aio.fair import Lines

ROUND_SECONDS: Final = 0.01


class Rounds:
    def __init__(self, seconds: float = ROUND_SECONDS) -> None:
        self._seconds = self._left = seconds
        self._lines: Lines[Hashable, asyncio.Future[None]] = Lines()
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
        self._left = self._seconds
        while self._lines:
            _, future = self._lines.take()
            if not future.done():
                future.set_result(None)
                # The loop does things in order: the step first, then this again.
                asyncio.get_running_loop().call_soon(self._turn)
                return
        self.full = False
