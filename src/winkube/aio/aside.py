"""Long work is done aside: in a thread, so that the event loop goes on meanwhile.

One thread, as more of them would only take the interpreter from each other and from the loop; who
wants much of it waits for himself. The work must depend on nothing that others change meanwhile.
"""

import asyncio
import sys
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from winkube.aio.fair import FairGate

Result = TypeVar("Result")

# How long the loop waits for the interpreter each time it wakes up; Python's own is 5 ms.
_SWITCH_SECONDS: Final = 0.0005


class Aside:
    def __init__(self) -> None:
        self._gate: FairGate[Hashable] = FairGate(1)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="aside")

    async def run(self, flow: Hashable, work: Callable[[], Result]) -> Result:
        """Do ``work`` when it is the turn of ``flow``."""
        await self._gate.enter(flow)
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, _attentively, work)
        finally:
            self._gate.leave(flow)


def _attentively(work: Callable[[], Result]) -> Result:
    """Give the interpreter back more often than usual."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        return work()
    finally:
        sys.setswitchinterval(usual)
