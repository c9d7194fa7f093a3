"""The Linux proxy with a real kernel: two pods on a bridge, a node, and somebody outside."""

import asyncio
import contextlib
import socket
import socketserver
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest

from winkube.base.types import JsonObject
from winkube.client.resource import ENDPOINTSLICES, NODES, SERVICES
from winkube.linux import link, nft
from winkube.linux.netns import call_in_netns, create_netns, delete_netns, netns_path
from winkube.proxy.config import ProxyConfig
from winkube.proxy.hostgw import HostGateway, HostGatewayConfig
from winkube.proxy.linux import LinuxProxy
from winkube.proxy.linux_network import ensure_knobs, outbound_ruleset
from winkube.testing.fake_api import FakeApi

pytestmark = pytest.mark.root

NODE, POD_A, POD_B, OUTSIDE = "wkt-px-node", "wkt-px-a", "wkt-px-b", "wkt-px-out"
NODE_IP, OUTSIDE_IP, ROUTER_IP = "172.31.99.11", "172.31.99.50", "172.31.99.1"
A, B = "10.244.9.10", "10.244.9.11"
VIP, LB_IP = "10.96.7.7", "203.0.113.7"
CIDR = "10.244.0.0/16"
CHECK_SECONDS = 0.3
BRIDGE_KNOB = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")


def ip(*words: str, ns: str | None = None) -> None:
    subprocess.run(["ip", *(("-n", ns) if ns else ()), *words], check=True, timeout=10)


def inside(ns: str, call: Callable[[], Any]) -> Any:
    return call_in_netns(netns_path(ns), call)


class _Tcp(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, name: str, listener: socket.socket) -> None:
        super().__init__(listener.getsockname(), _TcpHandler, bind_and_activate=False)
        self.socket.close()
        self.socket, self.name = listener, name


class _TcpHandler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, _Tcp)
        with contextlib.suppress(OSError):
            while self.rfile.readline():
                self.wfile.write(f"{self.server.name} {self.client_address[0]}\n".encode())


def _serve_udp(name: str, server: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            data, peer = server.recvfrom(2048)
            if data == b"stop":
                return
            server.sendto(f"{name} {peer[0]}\n".encode(), peer)


@contextlib.contextmanager
def backend(ns: str, address: str, name: str) -> Iterator[None]:
    tcp = inside(ns, lambda: socket.create_server((address, 8080)))
    udp = inside(ns, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    udp.bind((address, 8080))
    server = _Tcp(name, tcp)
    threads = [
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}),
        threading.Thread(target=_serve_udp, args=(name, udp)),
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        stopper = inside(ns, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        with stopper:
            stopper.sendto(b"stop", (address, 8080))
        for thread in threads:
            thread.join(5)
        udp.close()


@pytest.fixture
def machines() -> Iterator[None]:
    names = (NODE, POD_A, POD_B, OUTSIDE)
    try:
        for name in names:
            delete_netns(name)
            create_netns(name)
        ip("link", "add", "eth0", "netns", NODE, "type", "veth", "peer", "eth0", "netns", OUTSIDE)
        for ns, addresses in ((NODE, [NODE_IP]), (OUTSIDE, [OUTSIDE_IP, ROUTER_IP])):
            for address in addresses:
                ip("address", "add", f"{address}/24", "dev", "eth0", ns=ns)
            ip("link", "set", "eth0", "up", ns=ns)
        ip("route", "add", "default", "via", ROUTER_IP, ns=NODE)
        ip("route", "add", f"{LB_IP}/32", "via", NODE_IP, ns=OUTSIDE)
        ip("link", "add", "cni0", "type", "bridge", "forward_delay", "0", ns=NODE)
        ip("address", "add", "10.244.9.1/24", "dev", "cni0", ns=NODE)
        ip("link", "set", "cni0", "up", ns=NODE)
        for ns, address in ((POD_A, A), (POD_B, B)):
            port = f"p{address[-2:]}"
            ip("link", "add", port, "netns", NODE, "type", "veth", "peer", "eth0", "netns", ns)
            ip("link", "set", port, "master", "cni0", "up", ns=NODE)
            # As our bridge configuration asks: netfilter turns a pod's own packets around here.
            ip("link", "set", port, "type", "bridge_slave", "hairpin", "on", ns=NODE)
            ip("address", "add", f"{address}/24", "dev", "eth0", ns=ns)
            ip("link", "set", "eth0", "up", ns=ns)
            ip("route", "add", "default", "via", "10.244.9.1", ns=ns)
        inside(NODE, ensure_knobs)
        with backend(POD_A, A, "a"), backend(POD_B, B, "b"):
            yield
    finally:
        for name in names:
            delete_netns(name)


def pod_routes() -> dict[str, str]:
    return {
        row["dst"]: row["gateway"]
        for row in link.routes(NODE)
        if row["dst"].startswith("10.244.") and "gateway" in row
    }


def service(protocol: str = "TCP", **spec: Any) -> JsonObject:
    port = {"port": 80, "protocol": protocol, "nodePort": 30080, "targetPort": 8080}
    return {
        "metadata": {"namespace": "default", "name": "web"},
        "spec": {"type": "NodePort", "clusterIP": VIP, "ports": [port], **spec},
    }


def slice_of(*addresses: str, protocol: str = "TCP", local: bool = True) -> JsonObject:
    return {
        "metadata": {
            "namespace": "default",
            "name": "web-1",
            "labels": {"kubernetes.io/service-name": "web"},
        },
        "addressType": "IPv4",
        "ports": [{"port": 8080, "protocol": protocol}],
        "endpoints": [
            {"addresses": [ip], "nodeName": "lin-1" if local else "other"} for ip in addresses
        ],
    }


def call_tcp(ns: str, target: str, port: int = 80, timeout: float = 2.0) -> str:
    """One request: "<backend> <source address the backend saw>"."""

    def call() -> str:
        with socket.create_connection((target, port), timeout=timeout) as connection:
            connection.sendall(b"hello\n")
            return connection.makefile().readline().strip()

    result: str = inside(ns, call)
    return result


def talk_udp(sock: socket.socket, target: str) -> str:
    sock.sendto(b"hello", (target, 80))
    return sock.recv(2048).decode().strip()


def udp_client(ns: str) -> socket.socket:
    client: socket.socket = inside(ns, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    client.settimeout(1)
    return client


@dataclass
class Running:
    api: FakeApi

    async def update(self, obj: JsonObject) -> None:
        resource = SERVICES if "spec" in obj else ENDPOINTSLICES
        key = f"default/{obj['metadata']['name']}"
        current = self.api.find(resource, key)
        if current is None:
            await self.api.create(resource, obj)
        else:
            metadata = {**current["metadata"], **obj["metadata"]}
            await self.api.update(resource, {**obj, "metadata": metadata})
        await asyncio.sleep(0.25)


@asynccontextmanager
async def proxy(*objects: JsonObject, api: FakeApi | None = None) -> AsyncIterator[Running]:
    api = api or FakeApi()
    for obj in objects:
        api.seed(SERVICES if "spec" in obj else ENDPOINTSLICES, obj)
    config = ProxyConfig("lin-1", NODE_IP, CIDR, check_seconds=CHECK_SECONDS, health_host="")
    component = LinuxProxy(api, config)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(component.run())
        async with asyncio.timeout(10):
            await component.ready.wait()
        try:
            yield Running(api)
        finally:
            task.cancel()


def on_node(scenario: Callable[[], Awaitable[None]]) -> None:
    """Run in the node's namespace, as the component's process would."""

    async def main() -> None:
        await scenario()

    inside(NODE, lambda: asyncio.run(main()))


async def from_(ns: str, target: str, port: int = 80) -> str:
    return await asyncio.to_thread(call_tcp, ns, target, port)


@pytest.mark.usefixtures("machines")
def test_pods_node_and_outsiders_reach_a_service() -> None:
    async def scenario() -> None:
        async with proxy(service(), slice_of(A, B)):
            seen = {await from_(POD_A, VIP) for _ in range(30)}
            # A pod that is led back to itself has to see somebody else's address.
            assert seen == {"a 10.244.9.1", f"b {A}"}
            assert {(await from_(NODE, VIP))[0] for _ in range(20)} == {"a", "b"}
            assert {(await from_(OUTSIDE, NODE_IP, 30080))[0] for _ in range(20)} == {"a", "b"}
            assert (await from_(POD_A, NODE_IP, 30080))[0] in "ab"

    on_node(scenario)


@pytest.mark.usefixtures("machines")
def test_a_new_service_works_within_a_fifth_of_a_second_and_its_end_is_refused() -> None:
    async def scenario() -> None:
        async with proxy() as running:
            await running.api.create(ENDPOINTSLICES, slice_of(B))
            await running.api.create(SERVICES, service())
            started = time.monotonic()
            while True:
                with contextlib.suppress(OSError):
                    await asyncio.to_thread(call_tcp, POD_A, VIP, 80, 0.05)
                    break
            assert time.monotonic() - started < 0.5
            await running.update(slice_of())
            started = time.monotonic()
            for ns, target, port in ((POD_A, VIP, 80), (NODE, VIP, 80), (OUTSIDE, NODE_IP, 30080)):
                with pytest.raises(ConnectionRefusedError):
                    await from_(ns, target, port)
            with pytest.raises(ConnectionRefusedError):
                await from_(POD_A, VIP, 81)
            assert time.monotonic() - started < 1.0

    on_node(scenario)


@pytest.mark.usefixtures("machines")
def test_the_local_policy_keeps_the_client_s_address() -> None:
    async def scenario() -> None:
        async with proxy(service(externalTrafficPolicy="Local"), slice_of(B)) as running:
            assert await from_(OUTSIDE, NODE_IP, 30080) == f"b {OUTSIDE_IP}"
            await running.update(slice_of(B, local=False))
            with pytest.raises(TimeoutError):
                await from_(OUTSIDE, NODE_IP, 30080)
            assert (await from_(POD_A, NODE_IP, 30080))[0] == "b"
            await running.update(service(internalTrafficPolicy="Local"))
            with pytest.raises(TimeoutError):
                await from_(POD_A, VIP)

    on_node(scenario)


@pytest.mark.usefixtures("machines")
def test_client_affinity_holds_and_survives_a_restart_of_the_proxy() -> None:
    async def scenario() -> None:
        wanted = service(sessionAffinity="ClientIP")
        async with proxy(wanted, slice_of(A, B)):
            first = {(await from_(OUTSIDE, NODE_IP, 30080))[0] for _ in range(10)}
            assert len(first) == 1
        async with proxy(wanted, slice_of(A, B)):
            assert {(await from_(OUTSIDE, NODE_IP, 30080))[0] for _ in range(10)} == first

    on_node(scenario)


@pytest.mark.usefixtures("machines")
def test_load_balancer_addresses_admit_only_their_source_ranges() -> None:
    async def scenario() -> None:
        status = {"loadBalancer": {"ingress": [{"ip": LB_IP}]}}
        open_ = {**service(type="LoadBalancer"), "status": status}
        closed = {
            **service(type="LoadBalancer", loadBalancerSourceRanges=["10.0.0.0/8"]),
            "status": status,
        }
        async with proxy(open_, slice_of(B)) as running:
            assert (await from_(OUTSIDE, LB_IP))[0] == "b"
            await running.update(closed)
            with pytest.raises(TimeoutError):
                await from_(OUTSIDE, LB_IP)
            assert (await from_(POD_A, LB_IP))[0] == "b"

    on_node(scenario)


@pytest.mark.usefixtures("machines")
def test_a_udp_client_is_moved_when_its_backend_goes() -> None:
    async def scenario() -> None:
        with udp_client(POD_A) as client:
            async with proxy(service("UDP"), slice_of(A, protocol="UDP")) as running:
                assert (await asyncio.to_thread(talk_udp, client, VIP))[0] == "a"
                await running.update(slice_of(B, protocol="UDP"))
                assert (await asyncio.to_thread(talk_udp, client, VIP))[0] == "b"
                await running.update(slice_of(protocol="UDP"))
                client.connect((VIP, 80))
                client.send(b"x")
                with pytest.raises(ConnectionRefusedError):
                    await asyncio.to_thread(client.recv, 10)

    on_node(scenario)


@pytest.mark.usefixtures("machines")
def test_connections_outlive_the_proxy_and_a_flushed_table_comes_back() -> None:
    async def scenario() -> None:
        def open_() -> socket.socket:
            return socket.create_connection((VIP, 80), timeout=2)

        async with proxy(service(), slice_of(B)):
            connection = await asyncio.to_thread(inside, POD_A, open_)
        with connection:
            async with proxy(service(), slice_of(B)):
                connection.sendall(b"hello\n")
                assert (await asyncio.to_thread(connection.recv, 100))[:1] == b"b"
                await asyncio.to_thread(nft.delete_table, "ip", "winkube-proxy")
                await asyncio.sleep(CHECK_SECONDS + 0.5)
                assert (await from_(POD_A, VIP))[0] == "b"

    on_node(scenario)


@pytest.mark.usefixtures("machines")
def test_neighbours_reach_a_service_where_bridges_bypass_netfilter() -> None:
    async def scenario() -> None:
        async with proxy(service(), slice_of(B)):
            assert (await from_(POD_A, VIP))[0] == "b"

    rules = outbound_ruleset(IPv4Network("10.244.9.0/24"), (CIDR,), bridged=False)
    try:
        inside(NODE, lambda: BRIDGE_KNOB.write_text("0\n"))
        nft.apply(rules, NODE)
        on_node(scenario)
    finally:
        nft.delete_table("ip", "winkube-pods", NODE)
        inside(NODE, lambda: BRIDGE_KNOB.write_text("1\n"))


@pytest.mark.usefixtures("machines")
def test_the_host_gateway_translates_routes_and_configures(tmp_path: Path) -> None:
    async def scenario() -> None:
        api = FakeApi()
        for name, number in (("lin-1", 11), ("win-1", 50)):
            address = {"type": "InternalIP", "address": f"172.31.99.{number}"}
            api.seed(
                NODES,
                {
                    "metadata": {"name": name},
                    "spec": {"podCIDR": f"10.244.{9 if number == 11 else 10}.0/24"},
                    "status": {"addresses": [address]},
                },
            )
        config = HostGatewayConfig(
            node_name="lin-1",
            node_ip=NODE_IP,
            os="linux",
            cluster_cidr=CIDR,
            service_cidr="10.96.0.0/12",
            cluster_dns="10.96.0.10",
            cluster_domain="cluster.local",
            cni_conf_dir=tmp_path / "net.d",
            cni_data_dir=tmp_path / "data",
        )
        gateway = HostGateway(api, config)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(gateway.run())
            async with asyncio.timeout(10):
                await gateway.ready.wait()
            assert pod_routes() == {"10.244.10.0/24": "172.31.99.50"}
            with backend(OUTSIDE, OUTSIDE_IP, "out"):
                assert await from_(POD_A, OUTSIDE_IP, 8080) == f"out {NODE_IP}"
            await api.delete(NODES, "win-1")
            await asyncio.sleep(0.3)
            assert pod_routes() == {}
            task.cancel()
        moved = FakeApi()
        moved.seed(NODES, {"metadata": {"name": "lin-1"}, "spec": {"podCIDR": "10.244.77.0/24"}})
        again = HostGateway(moved, config)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(again.run())
            async with asyncio.timeout(10):
                await again.ready.wait()
            task.cancel()

    on_node(scenario)
    assert [path.name for path in (tmp_path / "net.d").iterdir()] == ["10-winkube.conflist"]
    assert "10.244.77.0/24" in (tmp_path / "net.d/10-winkube.conflist").read_text()
    # The bridge of the old range would make the plugin fail.
    assert "cni0" not in link.links(NODE)
