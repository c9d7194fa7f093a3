"""HTTP and TCP probes against servers on loopback, in the words upstream uses."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from winkube.base.types import JsonObject
from winkube.kubelet.errors import HookError
from winkube.kubelet.handler import Target, find_port, health_request, run_http, run_tcp

CONTAINER: JsonObject = {"name": "web", "ports": [{"name": "http", "containerPort": 8080}]}
TARGET = Target("id", "127.0.0.1", CONTAINER)


@pytest.fixture
async def port() -> AsyncIterator[int]:
    async def answer(request: web.Request) -> web.Response:
        if request.path == "/slow":
            await asyncio.sleep(5)
        if request.path == "/away":
            raise web.HTTPFound("http://example.invalid/")
        if request.path == "/here":
            raise web.HTTPFound("/500")
        if request.headers.get("X-Ask") == "yes":
            return web.Response(text="asked")
        return web.Response(status=int(request.path.removeprefix("/") or 200))

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield runner.addresses[0][1]
    await runner.cleanup()


@pytest.mark.parametrize(("path", "ok"), [("/200", True), ("/399", True), ("/404", False)])
async def test_http_success_is_200_to_399(port: int, path: str, ok: bool) -> None:
    outcome = await run_http(TARGET, {"port": port, "path": path}, 1)
    assert outcome.ok is ok
    if not ok:
        assert outcome.output == "HTTP probe failed with statuscode: 404"


async def test_http_headers_are_sent(port: int) -> None:
    headers = [{"name": "X-Ask", "value": "yes"}]
    outcome = await run_http(TARGET, {"port": port, "httpHeaders": headers}, 1)
    assert outcome.output == "asked"


async def test_redirects_are_followed_on_the_same_host_only(port: int) -> None:
    assert (await run_http(TARGET, {"port": port, "path": "/away"}, 1)).ok
    outcome = await run_http(TARGET, {"port": port, "path": "/here"}, 1)
    assert outcome.output == "HTTP probe failed with statuscode: 500"


async def test_http_time_is_limited(port: int) -> None:
    outcome = await run_http(TARGET, {"port": port, "path": "/slow"}, 0.05)
    assert "context deadline exceeded" in outcome.output


async def test_a_closed_port_is_refused() -> None:
    http, tcp = await run_http(TARGET, {"port": 1}, 1), await run_tcp(TARGET, {"port": 1}, 1)
    assert (
        http.output
        == 'Get "http://127.0.0.1:1/": dial tcp 127.0.0.1:1: connect: connection refused'
    )
    assert tcp.output == "dial tcp 127.0.0.1:1: connect: connection refused"


async def test_an_open_port_is_enough_for_tcp(port: int) -> None:
    assert (await run_tcp(TARGET, {"port": port}, 1)).ok


def test_ports_have_names() -> None:
    assert find_port("http", CONTAINER) == 8080
    assert find_port("81", CONTAINER) == 81
    with pytest.raises(HookError, match='couldn\'t find port "x" in container "web"'):
        find_port("x", CONTAINER)


@pytest.mark.parametrize("host", ["a..b", "a" * 64, "a\0b"])
async def test_a_host_that_cannot_be_one_fails_the_probe_and_nothing_else(host: str) -> None:
    http = await run_http(TARGET, {"port": 1, "host": host}, 1)
    tcp = await run_tcp(TARGET, {"port": 1, "host": host}, 1)
    assert (http.ok, tcp.ok) == (False, False)
    assert "no such host" in tcp.output


@pytest.mark.parametrize(
    ("service", "head"),
    [("", b""), ("a", b"\x0a\x01"), ("a" * 127, b"\x0a\x7f"), ("a" * 300, b"\x0a\xac\x02")],
)
def test_health_is_asked_for_services_of_any_length(service: str, head: bytes) -> None:
    assert health_request(service) == head + service.encode()
