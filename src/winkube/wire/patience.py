"""Servers that anybody can reach: silence is ended, and nonsense fills no log.

Connections cost descriptors, and who says nothing has shown no credentials: a connection without a
first request is ended. The header of a request may be as slow as upstream allows
(k8s.io/apiserver: pkg/server/secure_serving.go).
"""

import asyncio
import logging
from typing import Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestHandler

FIRST_REQUEST_SECONDS: Final = 32.0


class Patience:
    def __init__(self, *, seconds: float = FIRST_REQUEST_SECONDS) -> None:
        self._seconds = seconds
        self._silent: dict[RequestHandler, asyncio.TimerHandle] = {}

    def accept(self, connection: RequestHandler) -> RequestHandler:
        loop = asyncio.get_running_loop()
        self._silent[connection] = loop.call_later(self._seconds, self._end, connection)
        return connection

    def heard(self, request: web.BaseRequest) -> None:
        timer = self._silent.pop(request.protocol, None)
        if timer is not None:
            timer.cancel()

    def _end(self, connection: RequestHandler) -> None:
        self._silent.pop(connection, None)
        if connection.transport is not None:
            connection.transport.abort()


def ignore_client_faults() -> None:
    """Log no requests that are no HTTP, nor clients that leave: those are nobody's to mend."""
    logging.getLogger("aiohttp.server").addFilter(_is_ours)


def _is_ours(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError | ConnectionError)
