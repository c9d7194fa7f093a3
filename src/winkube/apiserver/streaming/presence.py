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
    async with asyncio.timeout(None) as limit:
        look = _Look(request, limit)
        try:
            yield
        finally:
            look.end()


class _Look:
    """From time to time, without a task of its own."""

    def __init__(self, request: web.BaseRequest, limit: asyncio.Timeout) -> None:
        self._request, self._limit = request, limit
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(LOOK_SECONDS, self._now)

    def _now(self) -> None:
        if is_connected(self._request):
            self._timer = self._loop.call_later(LOOK_SECONDS, self._now)
        else:
            self._limit.reschedule(self._loop.time())

    def end(self) -> None:
        self._timer.cancel()


def is_connected(request: web.BaseRequest) -> bool:
    transport = request.transport
    return transport is not None and not transport.is_closing()
