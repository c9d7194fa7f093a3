"""Remote command over WebSocket: one channel byte before every message.

Channels 0-4 are stdin, stdout, stderr, error, resize. From v5 on, a message of 255 and a channel
number says that this channel is done; before v5 standard input ends with the connection only.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from aiohttp import WSMsgType, web

from winkube.wire.pieces import Pieces
from winkube.wire.remotecommand import V5, Session, StreamClosedError, Wanted

STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)
CLOSE: Final = 255
MAX_MESSAGE: Final = 16 * 1024 * 1024
CHANNEL_BUFFER: Final = 1024 * 1024
CHUNK: Final = 32 * 1024
LINGER_SECONDS: Final = 5


class Inbox:
    """A ByteSource that someone fills; filling waits while it is full."""

    def __init__(self, limit: int = CHANNEL_BUFFER) -> None:
        self._limit = limit
        self._pieces = Pieces()
        self._ended = False
        self._moved = asyncio.Condition()

    async def put(self, data: bytes) -> None:
        async with self._moved:
            await self._moved.wait_for(lambda: self._pieces.size < self._limit or self._ended)
            if not self._ended and data:
                self._pieces.add(data)
                self._moved.notify_all()

    async def end(self) -> None:
        async with self._moved:
            self._ended = True
            self._moved.notify_all()

    async def read(self, n: int = -1, /) -> bytes:
        async with self._moved:
            await self._moved.wait_for(lambda: bool(self._pieces) or self._ended)
            piece = self._pieces.take(n)
            self._moved.notify_all()
            return piece


class ChannelSink:
    def __init__(self, socket: web.WebSocketResponse, channel: int) -> None:
        self._socket, self._channel = socket, bytes([channel])

    async def write(self, data: bytes, /) -> None:
        try:
            for start in range(0, max(len(data), 1), CHUNK):
                await self._socket.send_bytes(self._channel + data[start : start + CHUNK])
        except (ConnectionError, RuntimeError) as error:
            raise StreamClosedError("the client has gone") from error

    async def close(self) -> None:
        """A channel towards the client ends with the connection."""


class ChannelSocket:
    """Deals out what arrives to the channels' inboxes; ``run`` ends with the connection."""

    def __init__(self, socket: web.WebSocketResponse, version: str) -> None:
        self.gone = asyncio.Event()
        self._socket, self._version = socket, version
        self._inboxes: dict[int, Inbox] = {}

    def source(self, channel: int) -> Inbox:
        return self._inboxes.setdefault(channel, Inbox())

    def sink(self, channel: int) -> ChannelSink:
        return ChannelSink(self._socket, channel)

    async def run(self) -> None:
        try:
            async for message in self._socket:
                if message.type is WSMsgType.BINARY:
                    await self._deal(message.data)
                elif message.type is WSMsgType.TEXT:
                    await self._deal(message.data.encode())
        finally:
            self.gone.set()
            for inbox in self._inboxes.values():
                await inbox.end()

    async def _deal(self, message: bytes) -> None:
        if not message:
            return
        if message[0] == CLOSE and self._version == V5 and len(message) == 2:
            if inbox := self._inboxes.get(message[1]):
                await inbox.end()
        elif inbox := self._inboxes.get(message[0]):
            await inbox.put(message[1:])


async def accept_session(
    socket: web.WebSocketResponse, wanted: Wanted, version: str
) -> tuple[Session, ChannelSocket]:
    """The session of a WebSocket that is already open; the caller runs the ChannelSocket."""
    channels = ChannelSocket(socket, version)
    session = Session(
        version=version,
        stdin=channels.source(STDIN) if wanted.stdin else None,
        stdout=channels.sink(STDOUT) if wanted.stdout else None,
        stderr=channels.sink(STDERR) if wanted.stderr else None,
        resize=channels.source(RESIZE) if wanted.tty else None,
        error=channels.sink(ERROR),
        gone=channels.gone,
    )
    # Clients take an empty first message for "the session is open".
    await (session.stdout or session.stderr or session.error).write(b"")
    return session, channels


def is_websocket(headers: Mapping[str, str]) -> bool:
    return (
        headers.get("Upgrade", "").lower() == "websocket"
        and "upgrade" in headers.get("Connection", "").lower()
    )
