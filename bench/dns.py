"""Cluster DNS: queries answered per second over UDP, one server process, one client process."""

import asyncio
import multiprocessing
import os
import socket
import time
from multiprocessing.connection import Connection

import uvloop
from dnslib import DNSRecord

from winkube.client.resource import ENDPOINTSLICES, NAMESPACES, SERVICES
from winkube.dns.config import DnsConfig
from winkube.dns.server import DnsServer
from winkube.testing.fake_api import FakeApi

SERVICES_COUNT = 1000
SECONDS = 3.0
WINDOW = 64
HEADLESS_ENDPOINTS = 20


def objects() -> FakeApi:
    api = FakeApi()
    api.seed(NAMESPACES, {"metadata": {"name": "default"}})
    for number in range(SERVICES_COUNT):
        ip = f"10.96.{number // 250}.{number % 250 + 1}"
        metadata = {"namespace": "default", "name": f"svc-{number}"}
        api.seed(SERVICES, {"metadata": metadata, "spec": {"clusterIP": ip, "ports": []}})
    metadata = {"namespace": "default", "name": "headless"}
    api.seed(SERVICES, {"metadata": metadata, "spec": {"clusterIP": "None", "ports": []}})
    endpoints = [{"addresses": [f"10.244.1.{n + 2}"]} for n in range(HEADLESS_ENDPOINTS)]
    labels = {"kubernetes.io/service-name": "headless"}
    api.seed(
        ENDPOINTSLICES,
        {
            "metadata": {"namespace": "default", "name": "headless-1", "labels": labels},
            "addressType": "IPv4",
            "endpoints": endpoints,
        },
    )
    return api


def serve(pipe: Connection) -> None:
    async def run() -> None:
        server = DnsServer(objects(), DnsConfig((("127.0.0.1", 0),)))
        async with asyncio.TaskGroup() as group:
            group.create_task(server.run())
            await server.ready.wait()
            pipe.send(server.bound[0])

    uvloop.run(run())


def measure(at: tuple[str, int], names: list[str]) -> tuple[float, float]:
    """(queries per second with a window of queries under way, p50 in us of one at a time)."""
    packets = [bytes(DNSRecord.question(name).pack()) for name in names]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(at)
        client.settimeout(2)
        times = []
        for packet in packets[:1000]:
            began = time.perf_counter()
            client.send(packet)
            client.recv(2048)
            times.append(time.perf_counter() - began)
        for packet in packets[:WINDOW]:
            client.send(packet)
        count, position = 0, WINDOW
        began = time.perf_counter()
        while time.perf_counter() - began < SECONDS:
            client.recv(2048)
            client.send(packets[position % len(packets)])
            position += 1
            count += 1
        rate = count / (time.perf_counter() - began)
    return rate, sorted(times)[len(times) // 2] * 1e6


def main() -> None:
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(there,), daemon=True)
    server.start()
    at = here.recv()
    cluster = [f"svc-{n}.default.svc.cluster.local" for n in range(SERVICES_COUNT)]
    cases = {
        "A, ClusterIP, 1000 names": cluster,
        "A, headless, 20 endpoints": ["headless.default.svc.cluster.local"] * 1000,
        "A, absent names": [f"no-{n}.default.svc.cluster.local" for n in range(SERVICES_COUNT)],
        "A, every name new": [f"{os.urandom(4).hex()}.x.cluster.local" for _ in range(200_000)],
    }
    print(f"{'cluster DNS over UDP':<28}{'queries/s':>12}{'p50 us':>9}")
    for title, names in cases.items():
        rate, middle = measure(at, names)
        print(f"{title:<28}{rate:>12,.0f}{middle:>9.0f}")
    server.terminate()
    server.join(5)


if __name__ == "__main__":
    main()
