"""Whether the client is still there, for requests that others may take forever to answer.

A log that is followed may be silent for days: nothing is written, so nothing tells that nobody
reads. What is kept for the client meanwhile (a connection to a kubelet, an open file) would add up.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web

LOOK_SECONDS: Final = 1.0


@asynccontextmanager
async def while_connected(request: web.BaseRequest) -> AsyncIterator[None]:
    """End what is in the block with a TimeoutError when the client has left."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as limit:

        def look() -> None:
            nonlocal timer
            if is_connected(request):
                timer = loop.call_later(LOOK_SECONDS, look)
            else:
                limit.reschedule(loop.time())

        timer = loop.call_later(LOOK_SECONDS, look)
        try:
            yield
        finally:
            timer.cancel()


def is_connected(request: web.BaseRequest) -> bool:
    transport = request.transport
    return transport is not None and not transport.is_closing()
