"""What must not get through: refused upgrades, strangers, broken frames, used tokens."""

import asyncio
import ssl
from typing import Any

import aiohttp
import pytest
import yarl

from winkube.testing.http_client import http_session
from winkube.wire import cri
from winkube.wire.spdy import SpdyConnection
from winkube.wire.upgrade import request_upgrade

SPDY = [("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1")]


def trust(cluster: Any, *client: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(cluster.authority.ca_file))
    if client:
        context.load_cert_chain(*cluster.authority.issue(*client))
    return context


async def send_raw(cluster: Any, path: str, after: bytes) -> bytes:
    url = yarl.URL(cluster.url)
    reader, writer = await asyncio.open_connection(url.host, url.port, ssl=trust(cluster))
    try:
        writer.write(
            f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
            "X-Stream-Protocol-Version: v4.channel.k8s.io\r\nContent-Length: 0\r\n\r\n".encode()
        )
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(after)
        async with asyncio.timeout(10):
            return head + await reader.read()
    finally:
        writer.close()


async def test_refused_upgrade_is_a_plain_answer_and_the_end(cluster: Any) -> None:
    path = "/api/v1/namespaces/default/pods/web/exec?container=absent&stdout=true&command=id"
    said = await send_raw(cluster, path, b"GET /pods HTTP/1.1\r\nHost: x\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 404")
    assert b"container not found" in said
    assert said.count(b"HTTP/1.1") == 1
    assert b"PodList" not in said


async def test_bytes_that_are_no_frames_end_the_connection(cluster: Any) -> None:
    path = "/api/v1/namespaces/default/pods/web/exec?stdout=true&command=id"
    said = await send_raw(cluster, path, b"GET /pods HTTP/1.1\r\nHost: x\r\n\r\n" + b"\xff" * 99)
    assert said.startswith(b"HTTP/1.1 101")
    assert b"PodList" not in said


async def test_request_without_upgrade_is_refused(cluster: Any) -> None:
    path = "/api/v1/namespaces/default/pods/web/exec?stdout=true&command=id"
    async with (
        http_session() as session,
        session.post(cluster.url + path, ssl=trust(cluster)) as answer,
    ):
        assert answer.status == 400
        assert (await answer.json())["message"] == "Upgrade request required"


async def test_unknown_protocol_versions_are_refused(cluster: Any) -> None:
    url = yarl.URL(f"{cluster.url}/api/v1/namespaces/default/pods/web/exec?stdout=true&command=id")
    headers = [*SPDY, ("X-Stream-Protocol-Version", "v99.channel.k8s.io")]
    answer = await request_upgrade(url, headers, ssl=trust(cluster))
    assert answer.status == 403
    assert b"unable to negotiate protocol" in answer.body
    websocket = [
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("Sec-WebSocket-Protocol", "v99.channel.k8s.io"),
    ]
    answer = await request_upgrade(url, websocket, method="GET", ssl=trust(cluster))
    assert answer.status == 400


async def test_kubelet_that_cannot_be_reached_is_named(cluster: Any) -> None:
    class Gone:
        async def call(self, *_args: Any, **_options: Any) -> Any:
            return cri.ExecResponse(url="http://127.0.0.1:1/exec/token")

    cluster.view.cri = Gone()
    url = yarl.URL(f"{cluster.url}/api/v1/namespaces/default/pods/web/exec?stdout=true&command=id")
    answer = await request_upgrade(url, SPDY, ssl=trust(cluster))
    assert answer.status == 500
    assert b"error dialing backend: dial tcp 127.0.0.1:1" in answer.body


@pytest.mark.parametrize(
    ("client", "status"),
    [((), 401), (("system:node:node-1", "system:nodes"), 403), (("root", "system:masters"), 200)],
    ids=["anonymous", "node", "administrator"],
)
async def test_kubelet_serves_administrators_only(
    cluster: Any, client: tuple[str, ...], status: int
) -> None:
    for path in ("/healthz", "/pods", "/metrics", "/stats/summary"):
        async with (
            http_session() as session,
            session.get(cluster.kubelet_url + path, ssl=trust(cluster, *client)) as answer,
        ):
            assert answer.status == status


async def test_certificate_of_a_stranger_is_refused(
    cluster: Any, make_authority: Any, tmp_path: Any
) -> None:
    context = trust(cluster)
    context.load_cert_chain(*make_authority(tmp_path / "other").issue("root", "system:masters"))
    async with http_session() as session:
        with pytest.raises(aiohttp.ClientError):
            await session.get(cluster.kubelet_url + "/healthz", ssl=context)


async def test_streaming_url_works_once(cluster: Any) -> None:
    request = cri.ExecRequest(container_id="c1", cmd=["true"], stdout=True)
    url = yarl.URL(cluster.streaming.url_for_exec(request))
    first = await request_upgrade(url, SPDY)
    assert first.status == 101
    assert first.duplex is not None
    await SpdyConnection(first.duplex, server=False).close()
    second = await request_upgrade(url, SPDY)
    assert second.status == 404
