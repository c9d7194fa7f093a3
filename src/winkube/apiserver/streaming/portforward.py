"""Port-forward of a WebSocket client: the SPDY tunnel, and the older one channel per port.

In the tunnel (kubectl 1.31 and later) binary messages carry SPDY bytes, which pass unread. The
older protocol numbers channels: 2n is the data and 2n+1 the error of the n-th port asked for, and
each channel begins with the port's number, little-endian.
"""

import asyncio
import ssl as tls
import struct
from typing import Final

import yarl
from aiohttp import WSMsgType, web

from winkube.api.errors import BadRequestError
from winkube.api.go.number import NumberError, parse_uint
from winkube.apiserver.streaming.dial import dial_kubelet
from winkube.wire.remotecommand import (
    PORT_FORWARD,
    V4,
    StreamClosedError,
    copy_stream,
    negotiate,
    parse_protocols,
)
from winkube.wire.remotecommand_websocket import LINGER_SECONDS, MAX_MESSAGE, ChannelSocket
from winkube.wire.spdy import SpdyConnection
from winkube.wire.upgrade import Duplex

TUNNEL: Final = f"SPDY/3.1+{PORT_FORWARD}"
MAX_PORTS: Final = 64
MAX_CHUNK: Final = 32 * 1024


async def proxy_portforward(
    request: web.Request, url: yarl.URL, ssl: tls.SSLContext
) -> web.StreamResponse:
    offered = parse_protocols(request.headers.getall("Sec-WebSocket-Protocol", ()))
    version = negotiate(offered, (TUNNEL, V4))
    if version is None:
        raise BadRequestError(f"unable to negotiate protocol: client supports {offered}")
    ports = () if version == TUNNEL else _parse_ports(request)
    answer = await dial_kubelet(url, ssl, [PORT_FORWARD])
    if answer.duplex is None:
        return answer.to_response()
    try:
        socket = web.WebSocketResponse(
            protocols=(version,),
            max_msg_size=MAX_MESSAGE,
            compress=False,
            timeout=LINGER_SECONDS,
        )
        await socket.prepare(request)
        if version == TUNNEL:
            await _tunnel(socket, answer.duplex)
        else:
            await _channels(socket, SpdyConnection(answer.duplex, server=False), ports)
        await socket.close()
    finally:
        answer.duplex.close()
    return socket


def _parse_ports(request: web.Request) -> tuple[int, ...]:
    texts = parse_protocols(request.query.getall("ports", ()))
    if not texts or len(texts) > MAX_PORTS:
        raise BadRequestError("you must specify at least 1 port")
    return tuple(map(_parse_port, texts))


def _parse_port(text: str) -> int:
    try:
        port = parse_uint(text, 16)
    except NumberError:
        port = 0
    if not port:
        raise BadRequestError(f"port {text!r} must be between 1 and 65535")
    return port


async def _tunnel(socket: web.WebSocketResponse, kubelet: Duplex) -> None:
    async def inward() -> None:
        try:
            async for message in socket:
                if message.type is WSMsgType.BINARY:
                    await kubelet.write(message.data)
        except StreamClosedError:
            return

    async def outward() -> None:
        try:
            while data := await kubelet.read(MAX_CHUNK):
                await socket.send_bytes(data)
        except (ConnectionError, RuntimeError):
            return

    async with asyncio.TaskGroup() as group:
        tasks = (
            group.create_task(inward(), name="tunnel-in"),
            group.create_task(outward(), name="tunnel-out"),
        )
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()


async def _channels(
    socket: web.WebSocketResponse, connection: SpdyConnection, ports: tuple[int, ...]
) -> None:
    channels = ChannelSocket(socket, V4)
    async with asyncio.TaskGroup() as group:
        helpers, copies = list[asyncio.Task[None]](), list[asyncio.Task[None]]()
        for index, port in enumerate(ports):
            for role, channel in (("error", 2 * index + 1), ("data", 2 * index)):
                stream = await connection.open(
                    {"streamtype": role, "port": str(port), "requestid": str(index)}
                )
                sink = channels.sink(channel)
                await sink.write(struct.pack("<H", port))
                copies.append(group.create_task(copy_stream(stream, sink), name="stream-out"))
                if role == "data":
                    source = channels.source(channel)
                    helpers.append(group.create_task(copy_stream(source, stream), name="stream-in"))
        helpers.append(group.create_task(_receive(channels, connection), name="receive"))
        await asyncio.wait(copies)
        for task in helpers:
            task.cancel()
    await connection.close()


async def _receive(channels: ChannelSocket, connection: SpdyConnection) -> None:
    await channels.run()
    await connection.close()
