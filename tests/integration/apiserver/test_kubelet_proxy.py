"""Logs, exec and proxies reach the kubelet the Node names."""

import asyncio
import http.client
import ssl
import threading
import time
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest
import uvloop
from aiohttp import web

from winkube.testing.http_client import http_session


async def _endless_page(request: web.BaseRequest, notes: list[str]) -> web.StreamResponse:
    """More than anybody would change, and no end while somebody listens."""
    response = web.StreamResponse(headers={"Content-Type": "text/html"})
    await response.prepare(request)
    await response.write(b"<a>" * 1024 * 1024)
    while request.transport is not None:  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    notes.append("left")
    return response


async def _echo(request: web.BaseRequest) -> web.StreamResponse:
    socket = web.WebSocketResponse(protocols=("talk",))
    await socket.prepare(request)
    async for message in socket:
        await socket.send_str(message.data)
    return socket


@pytest.fixture
def kubelet(server: Any) -> Iterator[tuple[int, list[str]]]:
    """A kubelet that writes down what it is asked; its port and its notes."""
    asked: list[str] = []
    cert, key = server.authority.issue("kubelet", "system:node:n1", ("system:nodes",))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(server.authority.file))
    context.load_cert_chain(cert, key)
    context.verify_mode = ssl.CERT_REQUIRED
    started, control = threading.Event(), dict[str, Any]()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        asked.append(request.path_qs)
        if "previous" in request.query:
            return web.Response(status=400, text='previous terminated container "a" not found')
        if request.path == "/page":
            return web.Response(text='<a href="/next">next</a>', content_type="text/html")
        if request.path == "/endless":
            return await _endless_page(request, asked)
        if request.path == "/echo":
            return await _echo(request)
        if request.path == "/moved":
            return web.Response(status=302, headers={"Location": "/elsewhere"})
        if "follow" not in request.query:
            return web.Response(text=f"kubelet {request.path}\n")
        response = web.StreamResponse()
        await response.prepare(request)
        for number in range(3):
            await response.write(b"line %d\n" % number)
            await asyncio.sleep(0.05)
        return response

    async def main() -> None:
        handler = web.Server(answer)
        loop = asyncio.get_running_loop()
        listener = await loop.create_server(handler, "127.0.0.1", 0, ssl=context)
        control["port"] = listener.sockets[0].getsockname()[1]
        control["loop"], control["stop"] = loop, asyncio.Event()
        started.set()
        await control["stop"].wait()
        listener.close()
        await handler.shutdown(1)
        await asyncio.sleep(0.2)  # TLS closes in several steps

    thread = threading.Thread(target=lambda: uvloop.run(main()))
    thread.start()
    started.wait(10)
    yield control["port"], asked
    control["loop"].call_soon_threadsafe(control["stop"].set)
    thread.join(10)


@pytest.fixture
def pod(api: Any, kubelet: tuple[int, list[str]], space: str) -> Iterator[str]:
    """A pod on a node whose kubelet is ours."""
    port, _ = kubelet
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    assert (
        api("POST", "/api/v1/nodes", {"metadata": {"name": "n1"}, "status": status}).status == 201
    )
    pods = f"/api/v1/namespaces/{space}/pods"
    containers = [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]
    api("POST", pods, {"metadata": {"name": "p"}, "spec": {"containers": containers}})
    api("POST", f"{pods}/p/binding", {"metadata": {"name": "p"}, "target": {"name": "n1"}})
    yield f"{pods}/p"
    api("DELETE", "/api/v1/nodes/n1")


def test_a_kubelets_refusal_is_a_status(api: Any, pod: str) -> None:
    answer = api("GET", f"{pod}/log?container=a&previous=true")
    assert (answer.status, answer.body["kind"], answer.body["reason"]) == (
        400,
        "Status",
        "BadRequest",
    )
    assert answer.message == 'previous terminated container "a" not found'


def test_log_asks_the_kubelet(api: Any, pod: str, kubelet: Any, space: str) -> None:
    answer = api("GET", f"{pod}/log?container=a&tailLines=5&pretty=true")
    assert answer.body == f"kubelet /containerLogs/{space}/p/a\n".encode()
    assert kubelet[1] == [f"/containerLogs/{space}/p/a?tailLines=5"]
    assert api("GET", f"{pod}/log?container=a&follow=true").body == b"line 0\nline 1\nline 2\n"


def test_log_of_several_containers_needs_a_name(api: Any, pod: str) -> None:
    answer = api("GET", f"{pod}/log")
    assert answer.status == 400
    assert answer.message == ("a container name must be specified for pod p, choose one of: [a b]")
    assert api("GET", f"{pod}/log?container=z").message == "container z is not valid for pod p"


def test_kubectl_prints_the_log(kubectl: Any, pod: str, space: str) -> None:
    assert kubectl("logs", "p", "-c", "b", "-n", space) == f"kubelet /containerLogs/{space}/p/b\n"


def test_node_proxy_passes_path_and_query(api: Any, pod: str, kubelet: Any) -> None:
    answer = api("GET", "/api/v1/nodes/n1/proxy/stats/summary?only=1")
    assert answer.body == b"kubelet /stats/summary\n"
    assert kubelet[1][-1] == "/stats/summary?only=1"


def test_node_proxy_to_another_port_does_not_reach_the_kubelet(
    api: Any, pod: str, kubelet: Any
) -> None:
    port, asked = kubelet
    assert api("GET", f"/api/v1/nodes/n1:{port}/proxy/pods").body == b"kubelet /pods\n"
    asked.clear()
    for name in ("n1:9100", "http:n1:9100", "https:n1:9100"):
        answer = api("GET", f"/api/v1/nodes/{name}/proxy/pods")
        assert (answer.status, answer.message) == (400, "address not allowed"), name
    assert not asked


async def test_a_websocket_goes_through_a_node_proxy(server: Any, pod: str) -> None:
    url = f"{server.url}/api/v1/nodes/n1/proxy/echo"
    async with (
        http_session() as session,
        session.ws_connect(url, ssl=server.ssl_context(), protocols=("talk",)) as socket,
    ):
        assert socket.protocol == "talk"
        await socket.send_str("hello")
        assert (await socket.receive()).data == "hello"


async def test_an_upgrade_that_is_refused_behind_a_proxy_is_an_answer(
    server: Any, pod: str
) -> None:
    url = f"{server.url}/api/v1/nodes/n1/proxy/moved"
    async with http_session() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(url, ssl=server.ssl_context())
    assert refused.value.status == 302


def test_unreachable_kubelet_is_unavailable(api: Any, pod: str) -> None:
    patch = {"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}}}
    merge = "application/merge-patch+json"
    api("PATCH", "/api/v1/nodes/n1/status", patch, Content_Type=merge)
    answer = api("GET", f"{pod}/log?container=a")
    assert (answer.status, answer.body["reason"]) == (503, "ServiceUnavailable")


def test_exec_without_upgrade_is_a_bad_request(api: Any, pod: str) -> None:
    answer = api("POST", f"{pod}/exec?command=ls&stdout=1&container=a")
    assert (answer.status, answer.message) == (400, "Upgrade request required")
    missing = api("POST", f"{pod}/exec?container=a")
    assert missing.message == "you must specify at least 1 command for the container"


def test_a_proxy_without_a_path_leads_to_its_folder(api: Any, pod: str) -> None:
    answer = api("GET", "/api/v1/nodes/n1/proxy?a=b")
    assert answer.status == 301
    assert answer.headers["Location"] == "/api/v1/nodes/n1/proxy/?a=b"
    assert api("POST", "/api/v1/nodes/n1/proxy").status == 200
    assert api("GET", "/api/v1/nodes/n1/proxy/stats/").body == b"kubelet /stats/\n"


def test_links_of_a_proxied_page_lead_through_the_proxy(api: Any, pod: str) -> None:
    answer = api("GET", "/api/v1/nodes/n1/proxy/page")
    assert answer.body == b'<a href="/api/v1/nodes/n1/proxy/next">next</a>'
    moved = api("GET", "/api/v1/nodes/n1/proxy/moved")
    assert (moved.status, moved.headers["Location"]) == (302, "/api/v1/nodes/n1/proxy/elsewhere")


def test_a_page_without_end_passes_as_it_is(server: Any, pod: str, kubelet: Any) -> None:
    place = server.url.removeprefix("https://")
    connection = http.client.HTTPSConnection(place, context=server.ssl_context(), timeout=10)
    try:
        connection.request("GET", "/api/v1/nodes/n1/proxy/endless")
        assert connection.getresponse().read(30) == b"<a>" * 10
    finally:
        connection.close()
    # Nobody says anything any more, and still the kubelet learns that nobody listens.
    deadline = time.monotonic() + 10
    while "left" not in kubelet[1] and time.monotonic() < deadline:
        time.sleep(0.02)
    assert kubelet[1][-1] == "left"


@pytest.mark.parametrize(
    ("protocol", "sent"),
    [
        ("binary.k8s.io", [b"", b"line 0\n", b"line 1\n", b"line 2\n"]),
        ("base64.binary.k8s.io", ["", "bGluZSAwCg==", "bGluZSAxCg==", "bGluZSAyCg=="]),
    ],
)
async def test_a_log_comes_as_messages_to_a_websocket(
    server: Any, pod: str, protocol: str, sent: list[Any]
) -> None:
    url = f"{server.url}{pod}/log?container=a&follow=true"
    async with (
        http_session() as session,
        session.ws_connect(url, ssl=server.ssl_context(), protocols=(protocol,)) as socket,
    ):
        assert socket.protocol == protocol
        assert [message.data async for message in socket] == sent


async def test_a_websocket_of_another_protocol_is_refused(server: Any, pod: str) -> None:
    url = f"{server.url}{pod}/log?container=a"
    async with http_session() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(url, ssl=server.ssl_context(), protocols=("other",))
    assert refused.value.status == 400
