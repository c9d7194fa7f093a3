"""Sessions in trouble, and transports that kubectl does not use by itself."""

import asyncio
import ssl
from collections.abc import Sequence
from typing import Any

import aiohttp
import orjson
import pytest
import yarl
from tests.integration.streaming.local_backend import LocalBackend

from winkube.runtime.streaming import StreamingServer, Streams
from winkube.testing.http_client import http_session
from winkube.wire import cri
from winkube.wire.remotecommand import PROTOCOL_HEADER, V4, V5, Wanted
from winkube.wire.remotecommand_spdy import open_session
from winkube.wire.spdy import SpdyConnection
from winkube.wire.upgrade import request_upgrade

SPDY = [("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1"), (PROTOCOL_HEADER, V4)]
EXEC = "/api/v1/namespaces/default/pods/web/exec"


def trust(cluster: Any) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(cluster.authority.ca_file))
    context.load_cert_chain(*cluster.authority.issue("admin", "system:masters"))
    return context


async def receive_all(socket: aiohttp.ClientWebSocketResponse) -> dict[int, bytes]:
    channels: dict[int, bytes] = {}
    async for message in socket:
        channels[message.data[0]] = channels.get(message.data[0], b"") + message.data[1:]
    return channels


@pytest.mark.parametrize("server", ["api", "kubelet", "runtime"])
async def test_every_server_speaks_websocket(cluster: Any, server: str) -> None:
    request = cri.ExecRequest(container_id="c1", cmd=["cat"], stdin=True, stdout=True)
    urls = {
        "api": f"{cluster.url}{EXEC}?command=cat&stdin=1&stdout=1",
        "kubelet": f"{cluster.kubelet_url}/exec/default/web/main?command=cat&input=1&output=1",
        "runtime": cluster.streaming.url_for_exec(request),
    }
    async with (
        asyncio.timeout(20),
        http_session() as session,
        session.ws_connect(urls[server], protocols=(V5,), ssl=trust(cluster)) as socket,
    ):
        assert socket.protocol == V5
        await socket.send_bytes(b"\0hello")
        await socket.send_bytes(b"\xff\0")
        channels = await receive_all(socket)
    assert channels[1] == b"hello"
    assert orjson.loads(channels[3])["status"] == "Success"


class Flood(LocalBackend):
    """Writes for ever and counts what it got rid of."""

    def __init__(self) -> None:
        super().__init__()
        self.written = 0

    async def exec(
        self, container_id: str, argv: Sequence[str], *, tty: bool, streams: Streams
    ) -> int:
        assert streams.stdout is not None
        while True:
            await streams.stdout.write(b"x" * 32768)
            self.written += 32768


async def test_client_that_does_not_read_stops_the_writer(cluster: Any) -> None:
    flood = Flood()
    cluster.streaming._backend = flood
    wanted = Wanted.of(stdin=False, stdout=True, stderr=False, tty=False)
    url = yarl.URL(f"{cluster.url}{EXEC}?command=yes&stdout=1")
    answer = await request_upgrade(url, SPDY, ssl=trust(cluster))
    assert answer.duplex is not None
    connection = SpdyConnection(answer.duplex, server=False)
    streams = await open_session(connection, wanted, V4)
    assert streams.stdout is not None
    before, after = -1, 0
    async with asyncio.timeout(20):
        while before != after:
            before = flood.written
            await asyncio.sleep(0.5)
            after = flood.written
    assert 0 < after < 64 << 20
    await streams.stdout.read()
    await connection.close()


async def test_server_that_stops_ends_its_sessions() -> None:
    backend = LocalBackend()
    server = StreamingServer(backend)
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        running = group.create_task(server.run())
        await server.ready.wait()
        request = cri.ExecRequest(container_id="c1", cmd=["sleep", "600"], stdout=True)
        answer = await request_upgrade(yarl.URL(server.url_for_exec(request)), SPDY)
        assert answer.duplex is not None
        connection = SpdyConnection(answer.duplex, server=False)
        wanted = Wanted.of(stdin=False, stdout=True, stderr=False, tty=False)
        await open_session(connection, wanted, V4)
        await asyncio.sleep(0.2)
        running.cancel()
        await connection.gone.wait()
        await backend.cancelled.wait()


async def test_session_cut_off_without_a_verdict_is_a_failure(cluster: Any) -> None:
    url = f"{cluster.url}{EXEC}?command=sleep&command=600&stdout=1"
    async with (
        asyncio.timeout(20),
        http_session() as session,
        session.ws_connect(url, protocols=(V4,), ssl=trust(cluster)) as socket,
    ):
        assert await socket.receive_bytes() == b"\1"
        for task in asyncio.all_tasks():
            if task.get_name() == "session-work":
                task.cancel()
        channels = await receive_all(socket)
    status = orjson.loads(channels[3])
    assert (status["status"], status["reason"]) == ("Failure", "InternalError")
