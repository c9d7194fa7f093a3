"""The Windows proxy with the HNS service itself, on the model of the data plane."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path
from typing import Any

import pytest

from winkube.base.types import JsonObject
from winkube.client.resource import ENDPOINTSLICES, SERVICES
from winkube.hns.aclient import AsyncHnsClient
from winkube.hns.config import HnsConfig
from winkube.hns.service import HnsService
from winkube.proxy import windows_network
from winkube.proxy.config import ProxyConfig
from winkube.proxy.windows import WindowsProxy
from winkube.proxy.windows_network import WindowsNetwork, ensure_windows_network
from winkube.testing.fake_api import FakeApi
from winkube.testing.fake_dataplane import FakeDataplane

NODE_IP = "172.30.0.12"
NETWORK = WindowsNetwork(
    name="cbr0",
    pod_cidr=IPv4Network("10.244.1.0/24"),
    node=IPv4Interface(f"{NODE_IP}/24"),
    cluster_cidr="10.244.0.0/16",
    service_cidr="10.96.0.0/12",
    cluster_dns="10.96.0.10",
    cluster_domain="cluster.local",
)


def service(name: str, number: int) -> JsonObject:
    port = {"port": 80, "nodePort": 30000 + number}
    return {
        "metadata": {"namespace": "default", "name": name},
        "spec": {
            "type": "NodePort",
            "clusterIP": f"10.96.{number // 250}.{number % 250 + 1}",
            "ports": [port],
        },
    }


def slice_of(name: str, *addresses: str) -> JsonObject:
    label = {"kubernetes.io/service-name": name}
    return {
        "metadata": {"namespace": "default", "name": f"{name}-1", "labels": label},
        "addressType": "IPv4",
        "ports": [{"port": 8080}],
        "endpoints": [{"addresses": [ip], "nodeName": "other"} for ip in addresses],
    }


@asynccontextmanager
async def hns_running(tmp_path: Path) -> AsyncIterator[AsyncHnsClient]:
    config = HnsConfig(
        socket=tmp_path / "hns.sock",
        state_dir=tmp_path / "state",
        version=(9, 5),
        management_ip=NODE_IP,
    )
    hns = HnsService(config, FakeDataplane())
    async with asyncio.TaskGroup() as group:
        task = group.create_task(hns.run())
        await hns.ready.wait()
        async with AsyncHnsClient(config.socket) as client:
            yield client
        task.cancel()


@asynccontextmanager
async def proxy_running(tmp_path: Path, api: FakeApi) -> AsyncIterator[WindowsProxy]:
    config = ProxyConfig("win-1", NODE_IP, "10.244.0.0/16", check_seconds=0.2, health_host="")
    proxy = WindowsProxy(api, tmp_path / "hns.sock", config)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(proxy.run())
        async with asyncio.timeout(30):
            await proxy.ready.wait()
        yield proxy
        task.cancel()


async def eventually(check: Any, timeout: float = 30.0) -> None:
    async with asyncio.timeout(timeout):
        while True:
            if await check():
                return
            await asyncio.sleep(0.01)


@pytest.fixture(autouse=True)
def _forwarding_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The kernel's knob belongs to the machine the tests run on.
    monkeypatch.setattr(windows_network, "_FORWARDING", tmp_path / "ip_forward")


async def ensure_network(hns: AsyncHnsClient, tmp_path: Path) -> None:
    await ensure_windows_network(hns, NETWORK, tmp_path / "net.d", tmp_path / "data")


async def balancers(hns: AsyncHnsClient) -> dict[str, str]:
    """Front end -> id."""
    return {
        f"{''.join(doc['FrontendVIPs'])}:{doc['PortMappings'][0]['ExternalPort']}": doc["ID"]
        for doc in await hns.list("LoadBalancer")
    }


async def test_services_become_balancers_and_a_restarted_proxy_keeps_them(tmp_path: Path) -> None:
    api = FakeApi()
    api.seed(SERVICES, service("web", 80))
    api.seed(ENDPOINTSLICES, slice_of("web", "10.244.2.5", "172.30.0.2"))
    async with hns_running(tmp_path) as hns:
        await ensure_network(hns, tmp_path)
        async with proxy_running(tmp_path, api):
            first = await balancers(hns)
        assert set(first) == {"10.96.0.81:80", ":30080"}
        async with proxy_running(tmp_path, api):
            assert await balancers(hns) == first
            await api.delete(SERVICES, "web", namespace="default")

            async def empty() -> bool:
                remote = [e for e in await hns.list("Endpoint") if e.get("Flags")]
                return not await balancers(hns) and not remote

            await eventually(empty)


async def test_a_network_made_again_gets_its_services_again(tmp_path: Path) -> None:
    api = FakeApi()
    api.seed(SERVICES, service("web", 80))
    api.seed(ENDPOINTSLICES, slice_of("web", "10.244.2.5"))
    async with hns_running(tmp_path) as hns:
        await ensure_network(hns, tmp_path)
        async with proxy_running(tmp_path, api):
            for endpoint in await hns.list("Endpoint"):
                await hns.delete("Endpoint", endpoint["ID"])
            (network,) = await hns.list("Network")
            await hns.delete("Network", network["ID"])
            await ensure_network(hns, tmp_path)
            (fresh,) = await hns.list("Network")

            async def back() -> bool:
                remote = [e for e in await hns.list("Endpoint") if e.get("Flags")]
                networks = [e["HostComputeNetwork"] for e in remote]
                return networks == [fresh["ID"]] and len(await balancers(hns)) == 2

            await eventually(back)


async def test_the_proxy_waits_for_hns_and_survives_its_restart(tmp_path: Path) -> None:
    api = FakeApi()
    api.seed(SERVICES, service("web", 80))
    api.seed(ENDPOINTSLICES, slice_of("web", "10.244.2.5"))
    proxy = WindowsProxy(
        api, tmp_path / "hns.sock", ProxyConfig("win-1", NODE_IP, "10.244.0.0/16", health_host="")
    )
    async with asyncio.TaskGroup() as group:
        task = group.create_task(proxy.run())
        await asyncio.sleep(0.15)
        assert not proxy.ready.is_set()
        async with hns_running(tmp_path) as hns:
            await ensure_network(hns, tmp_path)
            async with asyncio.timeout(10):
                await proxy.ready.wait()
        await api.create(SERVICES, service("late", 81))
        await api.create(ENDPOINTSLICES, slice_of("late", "10.244.2.6"))
        await asyncio.sleep(0.2)
        async with hns_running(tmp_path) as hns:

            async def complete() -> bool:
                return len(await balancers(hns)) == 4

            await eventually(complete, 10)
        task.cancel()


async def test_the_proxy_does_not_try_before_it_is_told_of_the_network(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    api = FakeApi()
    api.seed(SERVICES, service("web", 80))
    api.seed(ENDPOINTSLICES, slice_of("web", "10.244.2.5"))
    network = asyncio.Event()
    config = ProxyConfig("win-1", NODE_IP, "10.244.0.0/16", health_host="")
    async with hns_running(tmp_path) as hns, asyncio.TaskGroup() as group:
        proxy = WindowsProxy(api, tmp_path / "hns.sock", config, network)
        task = group.create_task(proxy.run())
        await asyncio.sleep(0.1)
        await ensure_network(hns, tmp_path)
        network.set()
        async with asyncio.timeout(10):
            await proxy.ready.wait()
        assert len(await balancers(hns)) == 2
        task.cancel()
    assert "sync failed" not in caplog.text


async def test_many_services_are_programmed_quickly(tmp_path: Path) -> None:
    api = FakeApi()
    for number in range(300):
        api.seed(SERVICES, service(f"web-{number}", number))
        api.seed(ENDPOINTSLICES, slice_of(f"web-{number}", f"10.244.3.{number % 200 + 1}"))
    async with hns_running(tmp_path) as hns:
        await ensure_network(hns, tmp_path)
        started = time.monotonic()
        async with proxy_running(tmp_path, api):
            elapsed = time.monotonic() - started
            assert len(await balancers(hns)) == 600
    assert elapsed < 10
