"""The Windows proxy and host gateway with a real kernel below HNS."""

import asyncio
import contextlib
import json
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from winkube.aio.command import run
from winkube.base.types import JsonObject
from winkube.client.resource import ENDPOINTSLICES, NODES, SERVICES
from winkube.cni.install import install_plugins
from winkube.hns.aclient import AsyncHnsClient
from winkube.hns.config import HnsConfig
from winkube.hns.service import HnsService
from winkube.linux import link
from winkube.linux.netns import (
    call_in_netns,
    create_netns,
    delete_netns,
    list_netns,
    netns_path,
)
from winkube.proxy.config import ProxyConfig
from winkube.proxy.hostgw import HostGateway, HostGatewayConfig
from winkube.proxy.windows import WindowsProxy
from winkube.testing.fake_api import FakeApi

pytestmark = pytest.mark.root

NODE, OUTSIDE, POD_PREFIX = "wkt-pw-node", "wkt-pw-out", "wkt-pwp-"
NODE_IP, OUTSIDE_IP = "172.31.98.12", "172.31.98.50"
VIP = "10.96.7.7"
FAR_IP = "198.51.100.1"


def inside(ns: str | Path, call: Callable[[], Any]) -> Any:
    return call_in_netns(netns_path(ns) if isinstance(ns, str) else ns, call)


@pytest.fixture
def machines() -> Iterator[None]:
    def clean() -> None:
        for name in [NODE, OUTSIDE, *list_netns(POD_PREFIX)]:
            delete_netns(name)

    clean()
    try:
        for name in (NODE, OUTSIDE):
            create_netns(name)
        link.batch([f"link add eth0 netns {NODE} type veth peer name eth0 netns {OUTSIDE}"])
        # As the underlay sets it for every node: HNS ports meet in the host, not on the bridge.
        link.set_sysctls({"net.bridge.bridge-nf-call-iptables": 0}, netns=NODE)
        for ns, address in ((NODE, NODE_IP), (OUTSIDE, OUTSIDE_IP)):
            link.batch([f"address add {address}/24 dev eth0", "link set eth0 up"], netns=ns)
        link.batch([f"address add {FAR_IP}/32 dev lo"], netns=OUTSIDE)
        link.batch([f"route add default via {OUTSIDE_IP}"], netns=NODE)
        link.batch([f"route add 10.244.1.0/24 via {NODE_IP}"], netns=OUTSIDE)
        yield
    finally:
        clean()


@contextlib.contextmanager
def server(ns: str | Path, address: str, name: str) -> Iterator[None]:
    """Answers each connection with its name and the address it sees."""
    listener = inside(ns, lambda: socket.create_server((address, 8080)))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, peer = listener.accept()
                with connection:
                    connection.sendall(f"{name} {peer[0]}".encode())

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)
        listener.close()


def call(ns: str | Path, target: str, port: int) -> str:
    def connect() -> str:
        with socket.create_connection((target, port), timeout=2) as connection:
            return connection.recv(100).decode()

    result: str = inside(ns, connect)
    return result


async def from_(ns: str | Path, target: str, port: int = 80) -> str:
    return await asyncio.to_thread(call, ns, target, port)


def node(name: str, cidr: str, address: str) -> JsonObject:
    return {
        "metadata": {"name": name},
        "spec": {"podCIDR": cidr},
        "status": {"addresses": [{"type": "InternalIP", "address": address}]},
    }


def slice_of(*endpoints: tuple[str, str]) -> JsonObject:
    label = {"kubernetes.io/service-name": "web"}
    return {
        "metadata": {"namespace": "default", "name": "web-1", "labels": label},
        "addressType": "IPv4",
        "ports": [{"port": 8080}],
        "endpoints": [{"addresses": [ip], "nodeName": on} for ip, on in endpoints],
    }


def seeded() -> FakeApi:
    api = FakeApi()
    api.seed(NODES, node("win-1", "10.244.1.0/24", NODE_IP))
    api.seed(NODES, node("win-2", "10.244.2.0/24", OUTSIDE_IP))
    port = {"port": 80, "nodePort": 30080}
    metadata = {"namespace": "default", "name": "web"}
    spec = {"type": "NodePort", "clusterIP": VIP, "ports": [port]}
    api.seed(SERVICES, {"metadata": metadata, "spec": spec})
    api.seed(ENDPOINTSLICES, slice_of(("10.244.1.3", "win-1"), (OUTSIDE_IP, "win-2")))
    return api


async def add_pod(hns: AsyncHnsClient, address: str) -> Path:
    """What the runtime and win-bridge do; returns the pod's kernel namespace."""
    (network,) = await hns.list("Network", {"Name": "cbr0"})
    namespace = await hns.create("Namespace", {"Type": "Host"})
    document = {
        "Name": f"pod-{address}",
        "HostComputeNetwork": network["ID"],
        "IpConfigurations": [{"IpAddress": address}],
        "Routes": [{"NextHop": "10.244.1.2", "DestinationPrefix": "0.0.0.0/0"}],
    }
    endpoint = await hns.create("Endpoint", document)
    add = {
        "ResourceType": "Endpoint",
        "RequestType": "Add",
        "Settings": {"EndpointId": endpoint["ID"]},
    }
    await hns.modify("Namespace", namespace["ID"], add)
    namespace = await hns.query("Namespace", namespace["ID"])
    return Path(namespace["AdditionalParams"]["netns"])


@asynccontextmanager
async def windows_node(tmp_path: Path, api: FakeApi) -> AsyncIterator[AsyncHnsClient]:
    config = HnsConfig(
        socket=tmp_path / "hns.sock",
        state_dir=tmp_path / "hns",
        version=(9, 5),
        management_ip=NODE_IP,
        netns_prefix=POD_PREFIX,
    )
    gateway_config = HostGatewayConfig(
        node_name="win-1",
        node_ip=NODE_IP,
        os="windows",
        cluster_cidr="10.244.0.0/16",
        service_cidr="10.96.0.0/12",
        cluster_dns="10.96.0.10",
        cluster_domain="cluster.local",
        cni_conf_dir=tmp_path / "net.d",
        cni_data_dir=tmp_path / "data",
        hns_socket=config.socket,
    )
    hns, gateway = HnsService(config), HostGateway(api, gateway_config)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(hns.run()), group.create_task(gateway.run())]
        async with asyncio.timeout(10):
            await gateway.ready.wait()
        async with AsyncHnsClient(config.socket) as client:
            yield client
        for task in reversed(tasks):
            task.cancel()


@asynccontextmanager
async def proxy(tmp_path: Path, api: FakeApi) -> AsyncIterator[None]:
    config = ProxyConfig("win-1", NODE_IP, "10.244.0.0/16", health_host="")
    component = WindowsProxy(api, tmp_path / "hns.sock", config)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(component.run())
        async with asyncio.timeout(10):
            await component.ready.wait()
        yield
        task.cancel()


@pytest.mark.usefixtures("machines")
def test_pods_and_outsiders_reach_local_and_remote_backends(tmp_path: Path) -> None:
    async def scenario() -> None:
        api = seeded()
        async with windows_node(tmp_path, api) as hns:
            web, client = await add_pod(hns, "10.244.1.3"), await add_pod(hns, "10.244.1.4")
            with server(web, "10.244.1.3", "local"), server(OUTSIDE, OUTSIDE_IP, "remote"):
                async with proxy(tmp_path, api):
                    seen = {(await from_(client, VIP)).split()[0] for _ in range(30)}
                    assert seen == {"local", "remote"}
                    await api.update(ENDPOINTSLICES, local_only(api))
                    await asyncio.sleep(0.3)
                    assert await from_(client, VIP) == "local 10.244.1.4"
                    assert (await from_(OUTSIDE, NODE_IP, 30080)).startswith("local ")
                    assert (await from_(web, VIP)).startswith("local ")
                # The proxy is gone; its load balancers are HNS' and stay.
                assert await from_(client, VIP) == "local 10.244.1.4"

    inside(NODE, lambda: asyncio.run(scenario()))
    assert [path.name for path in (tmp_path / "net.d").iterdir()] == ["10-winkube.conf"]


async def add_pod_by_cni(hns: AsyncHnsClient, tmp_path: Path) -> tuple[Path, str]:
    """What the runtime does with the configuration the gateway wrote; (namespace, address)."""
    namespace = await hns.create("Namespace", {"Type": "Host"})
    bin_dir = tmp_path / "bin"
    install_plugins(bin_dir, hns_socket=tmp_path / "hns.sock")
    env = {
        "PATH": os.environ["PATH"],
        "CNI_COMMAND": "ADD",
        "CNI_CONTAINERID": "pod-1",
        "CNI_NETNS": namespace["ID"],
        "CNI_IFNAME": "eth0",
        "CNI_PATH": str(bin_dir),
    }
    conf = await asyncio.to_thread((tmp_path / "net.d/10-winkube.conf").read_bytes)
    result = json.loads(await run([str(bin_dir / "win-bridge")], stdin=conf, env=env, timeout=20))
    namespace = await hns.query("Namespace", namespace["ID"])
    netns = Path(namespace["AdditionalParams"]["netns"])
    return netns, result["ips"][0]["address"].partition("/")[0]


@pytest.mark.usefixtures("machines")
def test_a_pod_made_by_win_bridge_keeps_its_address_inside_and_loses_it_outside(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with windows_node(tmp_path, seeded()) as hns:
            pod, address = await add_pod_by_cni(hns, tmp_path)
            assert address == "10.244.1.3"
            with server(OUTSIDE, OUTSIDE_IP, "node"), server(OUTSIDE, FAR_IP, "far"):
                assert await from_(pod, OUTSIDE_IP, 8080) == f"node {address}"
                assert await from_(pod, FAR_IP, 8080) == f"far {NODE_IP}"

    inside(NODE, lambda: asyncio.run(scenario()))


def local_only(api: FakeApi) -> JsonObject:
    current = api.find(ENDPOINTSLICES, "default/web-1")
    assert current is not None
    return {**current, "endpoints": current["endpoints"][:1]}
