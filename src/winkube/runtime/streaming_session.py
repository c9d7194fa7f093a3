"""The server's side of one session: upgrade, streams, the work behind them, and its outcome."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from winkube.base.errors import WinkubeError
from winkube.wire import remotecommand_spdy, remotecommand_websocket
from winkube.wire.remotecommand import (
    PORT_FORWARD,
    PROTOCOL_HEADER,
    SPDY_PROTOCOLS,
    V1,
    WEBSOCKET_PROTOCOLS,
    ByteSink,
    ByteSource,
    Session,
    StreamClosedError,
    StreamRequestError,
    Streams,
    Wanted,
    negotiate,
    parse_protocols,
    pump_resize,
    render_outcome,
)
from winkube.wire.spdy import SpdyConnection, SpdyStream
from winkube.wire.upgrade import Header, Upgraded, take_over

# Each costs two streams, of which a connection has 2048.
MAX_PAIRS: Final = 256

Work = Callable[[Streams], Awaitable[int]]
Forward = Callable[[int, ByteSource, ByteSink], Awaitable[None]]
log = logging.getLogger(__name__)


async def serve_command(wanted: Wanted, work: Work, request: web.Request) -> web.StreamResponse:
    """Serve one exec or attach over whichever transport the client asked for."""
    if remotecommand_websocket.is_websocket(request.headers):
        return await _serve_websocket(wanted, work, request)
    offered = parse_protocols(request.headers.getall(PROTOCOL_HEADER, ()))
    version, headers = _spdy_upgrade(request, offered, SPDY_PROTOCOLS)
    async with take_over(request, headers) as duplex:
        connection = SpdyConnection(duplex, server=True)
        try:
            session = await remotecommand_spdy.accept_session(connection, wanted, version or V1)
            if await _run(session, work):
                await remotecommand_spdy.linger(connection)
        except (StreamRequestError, StreamClosedError) as error:
            log.warning("session ended early", extra={"error": str(error)})
        finally:
            await connection.close()
    return Upgraded()


async def _serve_websocket(wanted: Wanted, work: Work, request: web.Request) -> web.StreamResponse:
    offered = parse_protocols(request.headers.getall("Sec-WebSocket-Protocol", ()))
    version = negotiate(offered, WEBSOCKET_PROTOCOLS)
    if offered and version is None:
        raise web.HTTPBadRequest(text=f"none of the protocols {offered} is supported")
    socket = web.WebSocketResponse(
        protocols=(version,) if version else (),
        max_msg_size=remotecommand_websocket.MAX_MESSAGE,
        compress=False,
    )
    await socket.prepare(request)
    session, channels = await remotecommand_websocket.accept_session(socket, wanted, version or V1)
    async with asyncio.TaskGroup() as group:
        receiver = group.create_task(channels.run(), name="websocket-receive")
        await _run(session, work)
        await socket.close()
        receiver.cancel()
    return socket


def _spdy_upgrade(
    request: web.Request, offered: list[str], accepted: tuple[str, ...]
) -> tuple[str | None, list[Header]]:
    """The protocol agreed on and the headers that say so."""
    if request.headers.get("Upgrade", "").lower() != "spdy/3.1":
        raise web.HTTPBadRequest(text="unable to upgrade: missing upgrade headers in request")
    version = negotiate(offered, accepted)
    if offered and version is None:
        raise web.HTTPForbidden(
            text=f"unable to negotiate protocol: client supports {offered}, "
            f"server accepts {list(accepted)}",
            headers=[("X-Accept-Stream-Protocol-Versions", name) for name in accepted],
        )
    headers = [("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1")]
    return version, headers + ([(PROTOCOL_HEADER, version)] if version else [])


async def _run(session: Session, work: Work) -> bool:
    """Do the work and tell its outcome; a client that leaves cancels it. Whether it was told."""
    streams = Streams(session.stdin, session.stdout, session.stderr)
    async with asyncio.TaskGroup() as group:
        worker = group.create_task(_outcome(work, streams), name="session-work")
        helpers: list[asyncio.Task[object]] = [
            group.create_task(session.gone.wait(), name="session-gone")
        ]
        if session.resize is not None:
            pump = pump_resize(session.resize, streams.resize)
            helpers.append(group.create_task(pump, name="session-resize"))
        await asyncio.wait({worker, helpers[0]}, return_when=asyncio.FIRST_COMPLETED)
        for task in (worker, *helpers):
            task.cancel()
    if worker.cancelled():
        return False
    try:
        for sink in (session.stdout, session.stderr):
            if sink is not None:
                await sink.close()
        if said := render_outcome(session.version, worker.result()):
            await session.error.write(said)
        await session.error.close()
    except StreamClosedError:
        return False
    return True


async def _outcome(work: Work, streams: Streams) -> int | WinkubeError:
    try:
        return await work(streams)
    except WinkubeError as error:
        return error
    except Exception:
        # The edge of a protocol: a session that ends without a word counts as success there.
        log.exception("session failed")
        return StreamRequestError("the runtime failed to serve the session")


@dataclass(slots=True)
class Pair:
    """One forwarded connection: its data, and where to say what went wrong."""

    port: int
    streams: dict[str, SpdyStream] = field(default_factory=dict)


class Pairs:
    """Streams whose other half has yet to come.

    Upstream waits half a minute for it. Here only so many wait, as a client may open streams and
    leave them as fast as it can write; the one that waited longest is given up.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, Pair] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def file(self, stream: SpdyStream) -> Pair | None:
        """The stream's pair, once that is complete."""
        role, port = stream.headers.get("streamtype", ""), _parse_port(stream.headers)
        if role not in ("data", "error") or not port:
            stream.reset()
            return None
        # Clients from before request ids open the error stream and then, next to it, the other.
        implied = stream.stream_id if role == "error" else stream.stream_id - 2
        request_id = stream.headers.get("requestid") or f"stream-{implied}"
        pair = self._waiting.pop(request_id, None) or Pair(port)
        if role in pair.streams or pair.port != port:
            stream.reset()
        else:
            pair.streams[role] = stream
        if len(pair.streams) == 2:
            return pair
        self._keep(request_id, pair)
        return None

    def _keep(self, request_id: str, pair: Pair) -> None:
        self._waiting[request_id] = pair
        if len(self._waiting) > MAX_PAIRS:
            oldest = self._waiting.pop(next(iter(self._waiting)))
            for stream in oldest.streams.values():
                stream.reset()


def _parse_port(headers: Mapping[str, str]) -> int:
    """0 if there is none."""
    text = headers.get("port", "")
    is_number = text.isascii() and text.isdigit() and len(text) <= len("65535")
    return int(text) if is_number and int(text) < 65536 else 0


async def serve_portforward(forward: Forward, request: web.Request) -> web.StreamResponse:
    """Serve forwarded connections until the client hangs up."""
    offered = parse_protocols(request.headers.getall(PROTOCOL_HEADER, ()))
    _, headers = _spdy_upgrade(request, offered, (PORT_FORWARD,))
    async with take_over(request, headers) as duplex:
        connection = SpdyConnection(duplex, server=True)
        pairs = Pairs()
        try:
            async with asyncio.TaskGroup() as group:
                tasks = set[asyncio.Task[None]]()
                while stream := await connection.accept():
                    if pair := pairs.file(stream):
                        task = group.create_task(_forward(forward, pair), name="port-forward")
                        tasks.add(task)
                        task.add_done_callback(tasks.discard)
                for task in tasks:
                    task.cancel()
        finally:
            await connection.close()
    return Upgraded()


async def _forward(forward: Forward, pair: Pair) -> None:
    data, error = pair.streams["data"], pair.streams["error"]
    try:
        try:
            await forward(pair.port, data, data)
        except (WinkubeError, OSError) as problem:
            if not isinstance(problem, StreamClosedError):
                await error.write(f"error forwarding port {pair.port}: {problem}".encode())
        for stream in (data, error):
            stream.ignore_input()
            await stream.close()
    except StreamClosedError:
        log.debug("client left while forwarding")
