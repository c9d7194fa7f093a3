"""A stream of bytes as messages of a WebSocket, for clients that cannot read a plain answer.

``binary.k8s.io`` has the bytes, ``base64.binary.k8s.io`` their text; an empty message comes first
and what the client sends is ignored (k8s.io/apimachinery: pkg/util/httpstream/wsstream/stream.go).
"""

import asyncio
import base64
import contextlib
from typing import Final

import aiohttp
from aiohttp import web

from winkube.api.errors import BadRequestError

_BINARY: Final = "binary.k8s.io"
_BASE64: Final = "base64.binary.k8s.io"
_CHUNK: Final = 2048
_LINGER_SECONDS: Final = 10.0


def wants_messages(request: web.BaseRequest) -> bool:
    return request.headers.get("Upgrade", "").lower() == "websocket"


async def relay_messages(
    request: web.BaseRequest, answer: aiohttp.ClientResponse
) -> web.StreamResponse:
    offered = [
        name.strip()
        for text in request.headers.getall("Sec-WebSocket-Protocol", ())
        for name in text.split(",")
    ]
    known = [name for name in offered if name in (_BINARY, _BASE64)]
    if offered and not known:
        raise BadRequestError(f"requested protocol(s) are not supported: {offered}")
    socket = web.WebSocketResponse(
        protocols=known[:1], compress=False, timeout=_LINGER_SECONDS, autoping=True
    )
    await socket.prepare(request)
    async with asyncio.TaskGroup() as group:
        group.create_task(_await_end(socket, answer), name="client")
        with contextlib.suppress(aiohttp.ClientError, ConnectionError):
            await _copy(socket, answer, as_text=known[:1] == [_BASE64])
        await socket.close()
    return socket


async def _copy(
    socket: web.WebSocketResponse, answer: aiohttp.ClientResponse, *, as_text: bool
) -> None:
    await _send(socket, b"", as_text=as_text)
    while chunk := await answer.content.read(_CHUNK):
        await _send(socket, chunk, as_text=as_text)


async def _send(socket: web.WebSocketResponse, data: bytes, *, as_text: bool) -> None:
    if as_text:
        await socket.send_str(base64.b64encode(data).decode())
    else:
        await socket.send_bytes(data)


async def _await_end(socket: web.WebSocketResponse, answer: aiohttp.ClientResponse) -> None:
    """A client that leaves ends the stream behind it too."""
    async for _ in socket:
        pass
    answer.close()
