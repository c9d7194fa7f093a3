"""The proxy's health servers on loopback."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import aiohttp

from winkube.proxy.health import STALE_SECONDS, HealthServer, plan_health
from winkube.proxy.service import Backend, ServicePort
from winkube.testing.fake_clock import FakeClock


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def running(clock: FakeClock) -> AsyncIterator[tuple[HealthServer, int]]:
    port = free_port()
    server = HealthServer("127.0.0.1", port, clock)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(server.run())
        await asyncio.sleep(0.05)
        yield server, port
        task.cancel()


async def status(port: int, path: str = "/healthz") -> int:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}{path}") as response,
    ):
        await response.read()
        return response.status


def web(port: int, *backends: Backend) -> dict[str, tuple[ServicePort, ...]]:
    found = ServicePort(
        "default/web",
        "",
        "TCP",
        "10.96.0.7",
        80,
        external_local=True,
        health_check_port=port,
        backends=backends,
    )
    return {"default/web": (found,)}


def test_a_backend_of_two_families_counts_once() -> None:
    [one] = web(32000, Backend("10.244.1.2", 80, local=True))["default/web"]
    six = (Backend("fd00:10:244:1::2", 80, local=True),)
    other = replace(one, cluster_ip="fd00:10:96::7", backends=six)
    count = plan_health("default/web", (one, other))
    assert count is not None
    assert count.endpoints == 1


async def test_the_proxy_is_healthy_once_it_has_synced_and_until_it_is_stuck() -> None:
    clock = FakeClock()
    async with running(clock) as (server, port):
        assert await status(port) == 503
        await server.synced({}, full=True)
        assert await status(port) == 200
        server.waiting()
        assert await status(port) == 200
        clock.advance(STALE_SECONDS + 1)
        assert await status(port) == 503
        await server.synced({}, full=True)
        assert await status(port) == 200


async def test_a_service_s_port_tells_whether_this_node_has_a_backend() -> None:
    own = free_port()
    async with running(FakeClock()) as (server, _):
        await server.synced(web(own, Backend("10.244.1.2", 80, local=True)), full=True)
        assert await status(own, "/") == 200
        await server.synced(web(own, Backend("10.244.1.2", 80)), full=False)
        assert await status(own, "/") == 503
        await server.synced({}, full=True)
        try:
            await status(own, "/")
        except aiohttp.ClientConnectionError:
            pass
        else:
            raise AssertionError("the health check port is still open")
