"""Who connects has to ask something: a connection without a first request is ended.

Connections cost descriptors, and who says nothing has shown no credentials. The header of a request
may be as slow as upstream allows (k8s.io/apiserver: pkg/server/secure_serving.go).
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

FIRST_REQUEST_SECONDS: Final = 32.0

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Patience:
    def __init__(self, handler: Handler, *, seconds: float = FIRST_REQUEST_SECONDS) -> None:
        self._handler = handler
        self._seconds = seconds
        self._silent: dict[RequestHandler, asyncio.TimerHandle] = {}

    def accept(self, connection: RequestHandler) -> RequestHandler:
        loop = asyncio.get_running_loop()
        self._silent[connection] = loop.call_later(self._seconds, self._end, connection)
        return connection

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        timer = self._silent.pop(request.protocol, None)
        if timer is not None:
            timer.cancel()
        return await self._handler(request)

    def _end(self, connection: RequestHandler) -> None:
        self._silent.pop(connection, None)
        if connection.transport is not None:
            connection.transport.abort()
