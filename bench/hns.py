"""How fast an emulated Windows node's network is programmed (needs root).

Prints one table: load balancers created and deleted, pods' cards, whole CNI ADDs, and what a new
connection through a virtual address costs with few and with many load balancers.
"""

import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from winkube.cni.install import install_plugins
from winkube.hns.aclient import AsyncHnsClient
from winkube.testing.hns_host import LOCAL, HnsHost, Pod

BALANCERS, PODS, CONNECTIONS = 2000, 20, 300
CONNECT = """
import socket, sys, time
times = []
for _ in range(int(sys.argv[3])):
    started = time.perf_counter()
    socket.create_connection((sys.argv[1], int(sys.argv[2])), 5).close()
    times.append(time.perf_counter() - started)
times.sort()
print(times[len(times) // 2] * 1e6)
"""


def document(number: int, endpoints: list[str]) -> dict[str, object]:
    vip = f"10.97.{number // 250}.{number % 250 + 1}"
    mapping = {"Protocol": 6, "InternalPort": 80, "ExternalPort": 80}
    return {"HostComputeEndpoints": endpoints, "FrontendVIPs": [vip], "PortMappings": [mapping]}


@contextlib.contextmanager
def timed(rows: list[tuple[str, str]], label: str, scale: Callable[[float], str]) -> Iterator[None]:
    started = time.perf_counter()
    yield
    rows.append((label, scale(time.perf_counter() - started)))


async def create_side_by_side(host: HnsHost, endpoints: list[str]) -> list[str]:
    made: list[str] = []
    async with AsyncHnsClient(host.folder / "hns.sock") as client:

        async def worker(numbers: range) -> None:
            for number in numbers:
                created = await client.create("LoadBalancer", document(number, endpoints))
                made.append(created["ID"])

        async with asyncio.TaskGroup() as group:
            for first in range(16):
                group.create_task(worker(range(first, BALANCERS, 16)), name=f"worker-{first}")
    return made


def connect_time(host: HnsHost, pod: Pod) -> str:
    words = [sys.executable, "-c", CONNECT, "10.96.0.9", "80", str(CONNECTIONS)]
    return f"{float(host.run(pod.netns, *words)):.0f} us"


def add_times(host: HnsHost) -> list[float]:
    """Whole ADDs, program start included."""
    install_plugins(host.folder / "bin", hns_socket=host.folder / "hns.sock")
    ipam = {"type": "host-local", "subnet": f"{LOCAL}.0/24", "rangeStart": f"{LOCAL}.100"}
    ipam["dataDir"] = str(host.folder / "ipam")
    policies = [{"name": "EndpointPolicy", "value": host.nat_policy()}]
    conf = {"cniVersion": "1.0.0", "name": "cbr0", "type": "win-bridge", "apiVersion": 2}
    text = json.dumps({**conf, "ipam": ipam, "policies": policies})
    times = []
    for number in range(PODS):
        namespace = host.client.create("Namespace", {})
        environ = {"CNI_COMMAND": "ADD", "CNI_CONTAINERID": f"c{number}", "CNI_IFNAME": "eth0"}
        environ |= {"CNI_NETNS": namespace["ID"], "CNI_PATH": str(host.folder / "bin")}
        started = time.perf_counter()
        subprocess.run(
            [host.folder / "bin/win-bridge"],
            input=text,
            text=True,
            check=True,
            env={**os.environ, **environ},
            capture_output=True,
        )
        times.append(time.perf_counter() - started)
    return times


def attach_times(host: HnsHost) -> tuple[list[float], list[Pod]]:
    times, pods = [], []
    for number in range(PODS):
        started = time.perf_counter()
        pods.append(host.make_pod(10 + number, host.nat_policy()))
        times.append(time.perf_counter() - started)
    return times, pods


def milliseconds(times: list[float]) -> str:
    ordered = sorted(times)
    return f"p50 {statistics.median(ordered) * 1e3:.1f} ms, max {ordered[-1] * 1e3:.1f} ms"


def measure(host: HnsHost) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []

    def each(seconds: float) -> str:
        return f"{seconds:.2f} s ({seconds / BALANCERS * 1e3:.2f} ms each)"

    times, pods = attach_times(host)
    rows.append(("namespace + endpoint + attach", milliseconds(times)))
    rows.append(("win-bridge ADD with host-local, whole program", milliseconds(add_times(host))))
    host.serve(pods[0].netns, 80, "server")
    endpoints = [pod.endpoint for pod in pods[:3]]
    host.balance([pods[0].endpoint], "10.96.0.9", 80)
    rows.append(("new connection through a virtual address, 1 LB", connect_time(host, pods[1])))
    with timed(rows, f"{BALANCERS} load balancers, one after the other", each):
        made = [
            host.client.create("LoadBalancer", document(n, endpoints))["ID"]
            for n in range(BALANCERS)
        ]
    rows.append(
        (
            f"new connection through a virtual address, {BALANCERS + 1} LBs",
            connect_time(host, pods[1]),
        )
    )
    with timed(rows, "service killed and ready again with them", lambda s: f"{s:.2f} s"):
        host.kill_service()
        host.start_service()
    with timed(rows, f"{BALANCERS} deleted", each):
        for guid in made:
            host.client.delete("LoadBalancer", guid)
    with timed(rows, f"{BALANCERS} load balancers, 16 at a time", each):
        asyncio.run(create_side_by_side(host, endpoints))
    with timed(rows, "backend of all of them deleted", lambda s: f"{s:.2f} s"):
        host.client.delete("Endpoint", pods[2].endpoint)
    return rows


def main() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="wkb") as folder,
        HnsHost("wkb-hns", Path(folder)).up() as host,
    ):
        rows = measure(host)
    width = max(len(label) for label, _ in rows)
    for label, value in rows:
        print(f"{label:<{width}}  {value}")


if __name__ == "__main__":
    main()
