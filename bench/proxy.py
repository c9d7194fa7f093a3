"""Service proxies: from an empty node to 2,000 Services programmed, then one more.

Needs root: both proxies run in a network namespace of their own with a real kernel below them.
"""

import asyncio
import multiprocessing
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path

from winkube.base.types import JsonObject
from winkube.client.resource import ENDPOINTSLICES, SERVICES
from winkube.hns.aclient import AsyncHnsClient
from winkube.hns.config import HnsConfig
from winkube.hns.service import HnsService
from winkube.linux import link
from winkube.linux.netns import call_in_netns, create_netns, delete_netns, netns_path
from winkube.proxy.config import ProxyConfig
from winkube.proxy.linux import LinuxProxy
from winkube.proxy.windows import WindowsProxy
from winkube.proxy.windows_network import WindowsNetwork, ensure_windows_network
from winkube.testing.fake_api import FakeApi

COUNT = 2000
BACKENDS = 3
NODE_IP, CIDR = "172.31.97.11", "10.244.0.0/16"
NETNS = "wkb-proxy"


def service(number: int) -> JsonObject:
    spec = {"clusterIP": f"10.97.{number // 250}.{number % 250 + 1}", "ports": [{"port": 80}]}
    return {"metadata": {"namespace": "default", "name": f"s{number}"}, "spec": spec}


def slice_of(number: int) -> JsonObject:
    labels = {"kubernetes.io/service-name": f"s{number}"}
    hosts = [(number * BACKENDS + n) % 5000 for n in range(BACKENDS)]
    return {
        "metadata": {"namespace": "default", "name": f"s{number}-1", "labels": labels},
        "addressType": "IPv4",
        "ports": [{"port": 8080}],
        "endpoints": [{"addresses": [f"10.244.{h // 250 + 10}.{h % 250 + 1}"]} for h in hosts],
    }


def cluster() -> FakeApi:
    api = FakeApi()
    for number in range(COUNT):
        api.seed(SERVICES, service(number))
        api.seed(ENDPOINTSLICES, slice_of(number))
    return api


async def measure(
    api: FakeApi, proxy: LinuxProxy | WindowsProxy, present: Callable[[], Awaitable[bool]]
) -> tuple[float, float]:
    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(proxy.run())
        await proxy.ready.wait()
        full = time.perf_counter() - began
        await asyncio.sleep(0.5)
        began = time.perf_counter()
        await api.create(ENDPOINTSLICES, slice_of(COUNT))
        await api.create(SERVICES, service(COUNT))
        while True:
            if await present():
                break
            await asyncio.sleep(0.001)
        one = time.perf_counter() - began
        task.cancel()
    return full, one


async def linux() -> tuple[float, float]:
    async def present() -> bool:
        key = f"{service(COUNT)['spec']['clusterIP']} . tcp . 80"
        argv = ("nft", "get", "element", "ip", "winkube-proxy", "service-ips", f"{{ {key} }}")
        silent = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(*argv, stdout=silent, stderr=silent)
        return await process.wait() == 0

    api = cluster()
    config = ProxyConfig("lin-1", NODE_IP, CIDR, health_host="")
    return await measure(api, LinuxProxy(api, config), present)


async def windows(folder: Path) -> tuple[float, float]:
    config = HnsConfig(
        socket=folder / "hns.sock",
        state_dir=folder / "hns",
        version=(9, 5),
        management_ip=NODE_IP,
        netns_prefix=f"{NETNS}-p",
    )
    network = WindowsNetwork(
        name="cbr0",
        pod_cidr=IPv4Network("10.244.1.0/24"),
        node=IPv4Interface(f"{NODE_IP}/24"),
        cluster_cidr=CIDR,
        service_cidr="10.96.0.0/12",
        cluster_dns="10.96.0.10",
        cluster_domain="cluster.local",
    )
    hns = multiprocessing.get_context("fork").Process(target=serve_hns, args=(config,))
    hns.start()
    try:
        api = cluster()
        async with AsyncHnsClient(config.socket) as client:
            while not config.socket.exists():  # noqa: ASYNC110 - a file has no event
                await asyncio.sleep(0.01)
            await ensure_windows_network(client, network, folder / "net.d", folder / "data")

            async def present() -> bool:
                return len(await client.enumerate("LoadBalancer")) > COUNT

            settings = ProxyConfig("win-1", NODE_IP, CIDR, health_host="")
            return await measure(api, WindowsProxy(api, config.socket, settings), present)
    finally:
        hns.terminate()
        hns.join(10)


def serve_hns(config: HnsConfig) -> None:
    """In a process of its own, as on a node."""
    asyncio.run(HnsService(config).run())


def in_fresh_node(run: Callable[[], tuple[float, float]]) -> tuple[float, float]:
    """A namespace for each run: nft's cost grows with every rule in it, whoever's it is."""
    try:
        create_netns(NETNS)
        commands = [
            "link add eth0 type veth peer name wire0",
            f"address add {NODE_IP}/24 dev eth0",
            "link set eth0 up",
        ]
        link.batch(commands, netns=NETNS)
        return call_in_netns(netns_path(NETNS), run)
    finally:
        delete_netns(NETNS)


def main() -> None:
    if os.geteuid() != 0:
        print("needs root: skipped")
        return
    with tempfile.TemporaryDirectory() as folder:
        title = f"{COUNT} services, {BACKENDS} backends each"
        print(f"{title:<34}{'all':>9}{'one more':>12}")
        runs: dict[str, Callable[[], tuple[float, float]]] = {
            "Linux (nftables)": lambda: asyncio.run(linux()),
            "Windows (HNS load balancers)": lambda: asyncio.run(windows(Path(folder))),
        }
        for name, run in runs.items():
            full, one = in_fresh_node(run)
            print(f"{name:<34}{full:>7.2f} s{one * 1000:>9.0f} ms")


if __name__ == "__main__":
    main()
