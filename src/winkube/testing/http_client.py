"""An HTTP session whose end is the end of its connections.

aiohttp does not wait for those it closes before the session: a WebSocket's, a refused one's. With
TLS they need the other side for it, and a slow one would leave them open when the test is over.
"""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from winkube.testing.tasks import eventually


@asynccontextmanager
async def http_session(**options: Any) -> AsyncIterator[aiohttp.ClientSession]:
    sockets: list[socket.socket] = []

    def open_socket(address: aiohttp.AddrInfoType) -> socket.socket:
        made = socket.socket(*address[:3])
        made.setblocking(False)
        sockets.append(made)
        return made

    connector = aiohttp.TCPConnector(socket_factory=open_socket)
    async with aiohttp.ClientSession(connector=connector, **options) as session:
        yield session
    await eventually(lambda: all(each.fileno() == -1 for each in sockets), seconds=30)
