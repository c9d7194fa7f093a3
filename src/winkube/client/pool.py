"""The connections to one API server: taken for a request, given back after it.

Idle ones are kept for a while. The last used is taken first, so that after a burst the others
grow old and go.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from winkube.client.connection import Answer, Connection, DisconnectedError
from winkube.client.response import Response

# Less than servers keep them: one that the server ends at the same moment is a failed request.
IDLE_SECONDS: Final = 15.0
CONNECT_SECONDS: Final = 60.0
# Sent again when an idle connection turns out to be dead: to do these twice is to do them once.
_REPEATABLE: Final = frozenset(("GET", "PUT", "DELETE"))


class Stream(NamedTuple):
    """An answer whose body is read as it arrives."""

    response: Response
    connection: Connection

    def __aiter__(self) -> AsyncIterator[bytes]:
        return _Pieces(self.connection)

    async def body(self) -> bytes:
        return b"".join([piece async for piece in self])


class _Pieces:
    """A class, not a generator: an abandoned iterator then leaves nothing to finalise."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        piece = await self._connection.read()
        if not piece:
            raise StopAsyncIteration
        return piece


class Pool:
    def __init__(self, server: str, context: ssl.SSLContext | None) -> None:
        parts = urlsplit(server)
        self._host = parts.hostname or ""
        self._port = parts.port or (80 if context is None else 443)
        self._context = context
        self._prefix = parts.path.rstrip("/")
        self._headers: dict[str, str] = {"Host": parts.netloc.rpartition("@")[2]}
        self._common = ""
        self._idle: deque[tuple[Connection, float]] = deque()
        self._open: set[Connection] = set()

    def set_headers(self, headers: Mapping[str, str]) -> None:
        """Of every request from now on."""
        for name, value in headers.items():
            if not value.isascii() or not value.isprintable():
                # Not the value: it may be a secret.
                raise ValueError(f"the header {name} has characters that no header may have")
        self._headers |= headers
        self._common = _lines(self._headers)

    async def ask(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], seconds: float
    ) -> Answer:
        head = self._head(method, path, body, headers)
        connection = self._take()
        if connection is not None:
            try:
                return await self._ask(connection, head, body or b"", seconds)
            except DisconnectedError:
                if method not in _REPEATABLE:
                    raise
        return await self._ask(await self._connect(), head, body or b"", seconds)

    async def _ask(
        self, connection: Connection, head: bytes, body: bytes, seconds: float
    ) -> Answer:
        try:
            return await connection.ask(head, body, seconds)
        finally:
            self._give_back(connection)

    @asynccontextmanager
    async def open(
        self, path: str, headers: Mapping[str, str], seconds: float
    ) -> AsyncIterator[Stream]:
        """A GET on a connection of its own, which ends with it."""
        connection = await self._connect()
        try:
            response = await connection.open(self._head("GET", path, None, headers), seconds)
            yield Stream(response, connection)
        finally:
            connection.close()
            self._open.discard(connection)

    def close(self) -> None:
        for connection in [*self._open]:
            connection.close()
        self._open.clear()
        self._idle.clear()

    def _head(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> bytes:
        common = self._common
        if not self._headers.keys().isdisjoint(headers):
            common, headers = "", {**self._headers, **headers}
        length = "" if body is None else f"Content-Length: {len(body)}\r\n"
        text = f"{method} {self._prefix}{path} HTTP/1.1\r\n{common}{_lines(headers)}{length}\r\n"
        return text.encode("ascii")

    def _take(self) -> Connection | None:
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection, since = self._idle.pop()
            if connection.usable and now - since < IDLE_SECONDS:
                return connection
            self._drop(connection)
        return None

    def _give_back(self, connection: Connection) -> None:
        if not connection.usable:
            self._drop(connection)
            return
        now = asyncio.get_running_loop().time()
        self._idle.append((connection, now))
        while now - self._idle[0][1] >= IDLE_SECONDS:
            self._drop(self._idle.popleft()[0])

    def _drop(self, connection: Connection) -> None:
        connection.close()
        self._open.discard(connection)

    async def _connect(self) -> Connection:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(CONNECT_SECONDS):
            _, connection = await loop.create_connection(
                Connection, self._host, self._port, ssl=self._context
            )
        self._open.add(connection)
        return connection


def _lines(headers: Mapping[str, str]) -> str:
    return "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
