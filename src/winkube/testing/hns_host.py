"""A Windows node's network for tests: underlay, one HNS service, programs in pods and around."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from winkube.hns.client import HnsClient, is_reachable
from winkube.linux import link
from winkube.linux.netns import list_netns
from winkube.machines.underlay import (
    NodeSpec,
    UnderlaySpec,
    delete_underlay,
    ensure_pod_routes,
    ensure_underlay,
    netns_name,
    pick_subnet,
)
from winkube.machines.windows_host import ensure_windows_host

Json = dict[str, Any]
LOCAL, REMOTE = "10.244.1", "10.244.2"
REMOTE_POD = f"{REMOTE}.9"
SERVICES = "10.96.0.0/12"
_SERVE = """
import asyncio, sys
from pathlib import Path
from winkube.hns.service import HnsConfig, HnsService
from winkube.linux.netns import enter_netns, netns_path
node, folder, major, minor, address = sys.argv[1:]
enter_netns(netns_path(node))
asyncio.run(HnsService(HnsConfig(
    socket=Path(folder) / "hns.sock", state_dir=Path(folder) / "hns",
    version=(int(major), int(minor)), management_ip=address, uplink="eth0",
    netns_prefix=node + "-")).run())
"""
_TCP_SERVER = """
import socket, sys
server = socket.create_server(("0.0.0.0", int(sys.argv[1])))
print("up", flush=True)
while True:
    peer, address = server.accept()
    peer.sendall(f"{sys.argv[2]} saw {address[0]}".encode())
    peer.close()
"""
_UDP_SERVER = """
import socket, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((sys.argv[3], int(sys.argv[1])))
print("up", flush=True)
while True:
    data, address = server.recvfrom(512)
    server.sendto(f"{sys.argv[2]} saw {address[0]}".encode(), address)
"""
_TCP_CLIENT = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), 2) as peer:
    print(peer.recv(200).decode())
"""
_UDP_CLIENT = """
import socket, sys
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer.settimeout(2)
if len(sys.argv) > 3:
    peer.bind(("0.0.0.0", int(sys.argv[3])))
peer.sendto(b"?", (sys.argv[1], int(sys.argv[2])))
print(peer.recvfrom(200)[0].decode())
"""


@dataclass
class Pod:
    namespace: str
    endpoint: str
    ip: str
    netns: str


@dataclass
class HnsHost:
    cluster: str
    folder: Path
    version: tuple[int, int] = (9, 5)
    processes: list[subprocess.Popen[str]] = field(default_factory=list)
    service: subprocess.Popen[str] | None = None
    network: str = ""

    def __post_init__(self) -> None:
        self.subnet = pick_subnet()
        ips = {"cp": 2, "win-1": 11, "win-2": 12}
        nodes = tuple(NodeSpec(name, str(self.subnet[n])) for name, n in ips.items())
        self.spec = UnderlaySpec(self.cluster, self.subnet, nodes)
        self.node, self.node_ip = netns_name(self.cluster, "win-1"), str(self.subnet[11])
        self.peer, self.peer_ip = netns_name(self.cluster, "win-2"), str(self.subnet[12])
        self.outside = netns_name(self.cluster, "cp")
        self.client = HnsClient(self.folder / "hns.sock")

    @contextmanager
    def up(self) -> Iterator["HnsHost"]:
        """The node with its pod network, until the block ends; no namespace is left then."""
        try:
            self.start()
            self.make_network()
            yield self
        finally:
            self.stop()
        assert list_netns(f"wk-{self.cluster}") == []

    def start(self) -> None:
        ensure_underlay(self.spec)
        ensure_windows_host(self.node)
        routes = {f"{LOCAL}.0/24": self.node_ip, f"{REMOTE}.0/24": self.peer_ip}
        ensure_pod_routes(self.cluster, routes)
        link.batch([f"route replace {REMOTE}.0/24 via {self.peer_ip}"], netns=self.node)
        link.batch(
            [
                f"address replace {REMOTE_POD}/32 dev lo",
                f"route replace {LOCAL}.0/24 via {self.node_ip}",
            ],
            netns=self.peer,
        )
        self.start_service()

    def start_service(self) -> None:
        major, minor = self.version
        words = [self.node, str(self.folder), str(major), str(minor), self.node_ip]
        self.service = subprocess.Popen([sys.executable, "-c", _SERVE, *words], text=True)
        deadline = time.monotonic() + 15
        while not is_reachable(self.folder / "hns.sock"):
            assert self.service.poll() is None, "the HNS service died"
            assert time.monotonic() < deadline, "the HNS service does not answer"
            time.sleep(0.02)

    def kill_service(self) -> None:
        assert self.service is not None
        self.service.send_signal(signal.SIGKILL)
        self.service.wait()
        self.client.close()

    def stop(self) -> None:
        self.client.close()
        for process in (*self.processes, *([self.service] if self.service else [])):
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()
        delete_underlay(self.cluster)

    def make_network(self, name: str = "cbr0") -> None:
        subnet = {"AddressPrefix": f"{LOCAL}.0/24", "GatewayAddress": f"{LOCAL}.1"}
        body = {"Name": name, "Type": "L2Bridge", "NetworkAdapterName": "Ethernet"}
        self.network = self.client.v1("POST", "/networks/", {**body, "Subnets": [subnet]})["ID"]
        body = {"Name": f"{name}_ep", "VirtualNetwork": self.network, "IPAddress": f"{LOCAL}.2"}
        endpoint = self.client.v1("POST", "/endpoints/", body)
        attach = {"SystemType": "Host", "CompartmentId": 1}
        self.client.v1("POST", f"/endpoints/{endpoint['ID']}/attach", attach)

    def nat_policy(self, **settings: Any) -> Json:
        exceptions = ["10.244.0.0/16", SERVICES, f"{self.node_ip}/32"]
        return {"Type": "OutBoundNAT", "Settings": {"Exceptions": exceptions} | settings}

    def make_pod(self, last: int, *policies: Json) -> Pod:
        ip = f"{LOCAL}.{last}"
        namespace = self.client.create("Namespace", {})
        endpoint = self.client.create(
            "Endpoint",
            {
                "Name": f"pod-{last}",
                "HostComputeNetwork": self.network,
                "IpConfigurations": [{"IpAddress": ip}],
                "Routes": [{"NextHop": f"{LOCAL}.2", "DestinationPrefix": "0.0.0.0/0"}],
                "Policies": list(policies),
            },
        )
        request = {"ResourceType": "Endpoint", "RequestType": "Add"}
        settings = {"EndpointId": endpoint["ID"]}
        self.client.modify("Namespace", namespace["ID"], {**request, "Settings": settings})
        netns = Path(namespace["AdditionalParams"]["netns"]).name
        return Pod(namespace["ID"], endpoint["ID"], ip, netns)

    def make_remote(self, ip: str) -> str:
        document: Json = {
            "HostComputeNetwork": self.network,
            "Flags": 1,
            "MacAddress": "02-11-0a-f4-02-09",
        }
        document["IpConfigurations"] = [{"IpAddress": ip}]
        return str(self.client.create("Endpoint", document)["ID"])

    def balance(self, endpoints: list[str], vip: str, port: int, **more: Any) -> str:
        mapping = {"Protocol": 6, "InternalPort": 80, "ExternalPort": port}
        mapping |= {
            key: more.pop(key)
            for key in list(more)
            if key in ("Protocol", "InternalPort", "DistributionType")
        }
        document: Json = {"HostComputeEndpoints": endpoints, "FrontendVIPs": [vip] if vip else []}
        document |= {"PortMappings": [mapping], **more}
        return str(self.client.create("LoadBalancer", document)["ID"])

    def serve(
        self, netns: str, port: int, name: str, *, udp: bool = False, bind: str = "0.0.0.0"
    ) -> None:
        code = _UDP_SERVER if udp else _TCP_SERVER
        self.run_in_background(netns, sys.executable, "-c", code, str(port), name, bind)

    def run_in_background(self, netns: str, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{netns}", *words], stdout=subprocess.PIPE, text=True
        )
        self.processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "up"
        return process

    def ask(self, netns: str, address: str, port: int, *, udp: bool = False, bind: int = 0) -> str:
        """What the server said, or an empty text when none answered."""
        code = _UDP_CLIENT if udp else _TCP_CLIENT
        words = [sys.executable, "-c", code, address, str(port), *([str(bind)] if bind else [])]
        return self.run(netns, *words).strip()

    def run(self, netns: str, *words: str) -> str:
        done = subprocess.run(
            ["nsenter", f"--net=/run/netns/{netns}", *words],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ},
        )
        return done.stdout if done.returncode == 0 else ""

    def pings(self, netns: str, address: str) -> bool:
        return bool(self.run(netns, "ping", "-c1", "-W1", "-n", address))
