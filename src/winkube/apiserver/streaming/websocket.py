"""Exec and attach of a WebSocket client, translated to SPDY for the kubelet."""

import asyncio
import ssl as tls

import yarl
from aiohttp import web

from winkube.api.errors import BadRequestError, InternalError
from winkube.apiserver.streaming.dial import dial_kubelet
from winkube.base.errors import WinkubeError
from winkube.wire.remotecommand import (
    V1,
    V4,
    V5,
    WEBSOCKET_PROTOCOLS,
    ByteSink,
    ByteSource,
    Session,
    StreamClosedError,
    StreamRequestError,
    Wanted,
    copy_stream,
    negotiate,
    parse_protocols,
    render_outcome,
)
from winkube.wire.remotecommand_spdy import ClientStreams, open_session
from winkube.wire.remotecommand_websocket import (
    LINGER_SECONDS,
    MAX_MESSAGE,
    ChannelSocket,
    accept_session,
)
from winkube.wire.spdy import SpdyConnection


async def proxy_command(
    request: web.Request, url: yarl.URL, ssl: tls.SSLContext
) -> web.StreamResponse:
    """Serve one exec or attach; the kubelet's refusal comes before the client's upgrade."""
    offered = parse_protocols(request.headers.getall("Sec-WebSocket-Protocol", ()))
    version = negotiate(offered, WEBSOCKET_PROTOCOLS)
    if offered and version is None:
        raise BadRequestError(f"unable to negotiate protocol: client supports {offered}")
    try:
        wanted = Wanted.from_query(url.query)
    except StreamRequestError as error:
        raise BadRequestError(str(error)) from error
    # The error stream's form goes with the version, so the kubelet is asked for the same one;
    # v5 differs from v4 on the client's side only.
    inner = V4 if version == V5 else version or V1
    answer = await dial_kubelet(url, ssl, [inner])
    if answer.duplex is None:
        return answer.to_response()
    connection = SpdyConnection(answer.duplex, server=False)
    try:
        streams = await _open(connection, wanted, inner)
        socket = web.WebSocketResponse(
            protocols=(version,) if version else (),
            max_msg_size=MAX_MESSAGE,
            compress=False,
            timeout=LINGER_SECONDS,
        )
        await socket.prepare(request)
        session, channels = await accept_session(socket, wanted, version or V1)
        await _translate(session, channels, streams, connection)
        await socket.close()
    finally:
        await connection.close()
    return socket


async def _open(connection: SpdyConnection, wanted: Wanted, version: str) -> ClientStreams:
    try:
        return await open_session(connection, wanted, version)
    except WinkubeError as error:
        raise InternalError(f"error opening streams to the kubelet: {error}") from error


async def _translate(
    session: Session, channels: ChannelSocket, streams: ClientStreams, connection: SpdyConnection
) -> None:
    """Copy until the kubelet has ended every stream towards the client, or the client left."""
    inward: list[tuple[ByteSource | None, ByteSink | None]] = [
        (session.stdin, streams.stdin),
        (session.resize, streams.resize),
    ]
    outward: list[tuple[ByteSource | None, ByteSink | None]] = [
        (streams.stdout, session.stdout),
        (streams.stderr, session.stderr),
        (_Verdict(streams.error, session.version), session.error),
    ]
    async with asyncio.TaskGroup() as group:
        receiver = group.create_task(_receive(channels, connection), name="websocket-receive")
        helpers = [
            group.create_task(copy_stream(source, sink), name="stream-in")
            for source, sink in inward
            if source is not None and sink is not None
        ]
        copies = [
            group.create_task(copy_stream(source, sink), name="stream-out")
            for source, sink in outward
            if source is not None and sink is not None
        ]
        await asyncio.wait(copies)
        for task in (receiver, *helpers):
            task.cancel()


class _Verdict:
    """The kubelet's error stream; if it ends without a word, we say that something is wrong.

    Clients take silence for success, and a kubelet that was killed is silent too.
    """

    def __init__(self, source: ByteSource, version: str) -> None:
        self._source, self._version = source, version
        self._said = version not in (V4, V5)

    async def read(self, n: int = -1, /) -> bytes:
        data = await self._source.read(n)
        if not data and not self._said:
            data = render_outcome(
                self._version, StreamClosedError("the connection to the kubelet was lost")
            )
        self._said = True
        return data


async def _receive(channels: ChannelSocket, connection: SpdyConnection) -> None:
    await channels.run()
    await connection.close()
