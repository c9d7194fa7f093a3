"""API server benchmark: ready, durable creates, gets, a list of 5,000 pods, watches, memory.

Each server is a process of its own, over TLS with client certificates, on a store that syncs every
write; 32 connections from this process. Where upstream is built (``make upstream``) kube-apiserver
and etcd are measured in the same run, else the ratio is to what they did on a 2-core machine; more
is better for us. Processor time per request is the number to watch between two runs.
Run as ``python -m bench.api``.
"""

import asyncio
import functools
import os
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import uvloop

from winkube.client.pool import Pool
from winkube.testing.planes import Make, Plane, api_server, upstream_folder

CONNECTIONS = 32
SECONDS = 300.0
PODS = 5000
APPS = 50
DIFFERENT = 1000
GETS = int(os.environ.get("WINKUBE_BENCH_GETS", "8000"))
LISTS = 10
WATCHERS = 200
WATCHED = 1000
# Measured once on a 2-core machine, for where upstream is not built.
REMEMBERED = {
    "ready from nothing": 5.1,
    "durable pod creates": 541.0,
    "creates, all different": 541.0,
    "gets": 1391.0,
    f"list {PODS} pods": 0.329,
    "memory, server and store": 620.0,
}


def pod(index: int, template: int) -> dict[str, Any]:
    """As people write them: two containers, probes, environment, volumes."""
    http = {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 5}
    web = {
        "name": "web",
        "image": "mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2019",
        "command": ["powershell", "-command", "Start-Sleep 3600"],
        "env": [
            *({"name": f"KEY_{i}", "value": "x" * 32} for i in range(3)),
            {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "app", "key": "token"}}},
        ],
        "ports": [{"name": "http", "containerPort": 8080}, {"containerPort": 9090}],
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"cpu": "1", "memory": "512Mi"},
        },
        "livenessProbe": http,
        "readinessProbe": {**http, "failureThreshold": 2},
        "volumeMounts": [
            {"name": "config", "mountPath": "/config", "readOnly": True},
            {"name": "scratch", "mountPath": "/scratch"},
        ],
    }
    sidecar = {
        "name": "logs",
        "image": "registry.example/logs:1.2",
        "args": ["--follow", f"/scratch/app-{template}.log"],
        "env": [{"name": "LEVEL", "value": "info"}],
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
    }
    labels = {"app": f"app-{template}", "tier": "web", "index": str(index)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"pod-{index:05d}", "labels": labels},
        "spec": {
            "nodeSelector": {"kubernetes.io/os": "windows"},
            "containers": [web, sidecar],
            "volumes": [
                {"name": "config", "configMap": {"name": "app"}},
                {"name": "scratch", "emptyDir": {}},
            ],
        },
    }


@dataclass
class Client:
    """Takes as little time as can be: what is measured is the server."""

    pool: Pool

    async def call(self, method: str, path: str, body: bytes | None = None) -> bytes:
        headers = {} if body is None else {"Content-Type": "application/json"}
        got = await self.pool.ask(method, path, body, headers, SECONDS)
        if got.status >= 400:
            raise RuntimeError(f"{method} {path}: {got.status} {got.body[:300]!r}")
        return got.body


@contextmanager
def connected(plane: Plane) -> Iterator[Client]:
    pool = Pool(plane.client.server, plane.client.ssl_context())
    pool.set_headers({"Accept": "application/json", "Accept-Encoding": "identity"})
    try:
        yield Client(pool)
    finally:
        pool.close()


async def spread(count: int, work: Callable[[int], Coroutine[Any, Any, object]]) -> list[float]:
    """Run ``work(0..count)`` over the connections; the time of each."""
    times: list[float] = []
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            start = time.perf_counter()
            await work(number)
            times.append(time.perf_counter() - start)

    async with asyncio.TaskGroup() as group:
        for _ in range(CONNECTIONS):
            group.create_task(worker())
    return sorted(times)


@dataclass(frozen=True)
class Row:
    what: str
    value: float
    unit: str
    detail: str = ""

    def shown(self) -> str:
        shown = {"s": f"{self.value:.2f} s", "ms": f"{self.value * 1000:.1f} ms"}
        return shown.get(self.unit, f"{self.value:.0f} {self.unit}")

    def against(self, other: float) -> float:
        """How many times better than ``other``: rates by more, everything else by less."""
        return self.value / other if self.unit == "/s" else other / self.value


async def measure(plane: Plane, ready: float) -> list[Row]:
    rows = [Row("ready from nothing", ready, "s")]
    with connected(plane) as client:
        account = orjson.dumps({"metadata": {"name": "default"}})
        await client.call("POST", "/api/v1/namespaces/default/serviceaccounts", account)
        path = "/api/v1/namespaces/default/pods"
        # Pods come from controllers, many of one template; then the worst case, all different.
        bodies = [orjson.dumps(pod(index, index % APPS)) for index in range(PODS)]
        bodies += [orjson.dumps(pod(PODS + n, PODS + n)) for n in range(DIFFERENT)]

        def create(number: int) -> Coroutine[Any, Any, bytes]:
            return client.call("POST", path, bodies[number])

        def get(number: int) -> Coroutine[Any, Any, bytes]:
            return client.call("GET", f"{path}/pod-{number * 7919 % PODS:05d}")

        def delete(number: int) -> Coroutine[Any, Any, bytes]:
            now = orjson.dumps({"gracePeriodSeconds": 0})
            return client.call("DELETE", f"{path}/pod-{PODS + number:05d}", now)

        rate = functools.partial(_rate, plane.pids)
        rows.append(await rate("durable pod creates", PODS, create))
        rows.append(await rate("creates, all different", DIFFERENT, lambda n: create(PODS + n)))
        await spread(DIFFERENT, delete)
        rows.append(await rate("gets", GETS, get))
        rows.append(await _lists(client))
        rows.append(Row("memory, server and store", sum(map(resident, plane.pids)), "MB"))
        rows.append(await _watches(client, plane.pids))
    return rows


async def _rate(
    pids: Sequence[int], what: str, count: int, work: Callable[[int], Coroutine[Any, Any, object]]
) -> Row:
    start, before = time.perf_counter(), used(pids)
    times = await spread(count, work)
    rate = count / (time.perf_counter() - start)
    cpu = (used(pids) - before) / count * 1e6
    p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
    detail = f"p50 {p50 * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms, {cpu:.0f} us of the server each"
    return Row(what, rate, "/s", detail)


async def _lists(client: Client) -> Row:
    times = []
    data = b""
    for _ in range(LISTS):
        start = time.perf_counter()
        data = await client.call("GET", "/api/v1/pods")
        times.append(time.perf_counter() - start)
    found = len(orjson.loads(data)["items"])
    detail = f"best {min(times) * 1000:.1f} ms, {len(data) / 1e6:.1f} MB"
    return Row(f"list {found} pods", sorted(times)[LISTS // 2], "ms", detail)


async def _watches(client: Client, pids: Sequence[int]) -> Row:
    """Every watcher gets every event: from the first write to the last delivery."""
    path = "/api/v1/namespaces/default/configmaps"
    version = orjson.loads(await client.call("GET", path))["metadata"]["resourceVersion"]
    opened = asyncio.Semaphore(0)

    async def follow() -> None:
        target = f"{path}?watch=true&resourceVersion={version}"
        async with client.pool.open(target, {}, SECONDS) as stream:
            opened.release()
            left = WATCHED
            async for chunk in stream:
                left -= chunk.count(b"\n")
                if left <= 0:
                    return

    async with asyncio.TaskGroup() as group:
        for _ in range(WATCHERS):
            group.create_task(follow())
        for _ in range(WATCHERS):
            await opened.acquire()
        start, before = time.perf_counter(), used(pids)
        bodies = [
            orjson.dumps({"metadata": {"name": f"map-{n}"}, "data": {"key": "x" * 100}})
            for n in range(WATCHED)
        ]
        await spread(WATCHED, lambda n: client.call("POST", path, bodies[n]))
    events = WATCHERS * WATCHED
    cpu = (used(pids) - before) / events * 1e6
    detail = f"{WATCHERS} watchers of {WATCHED} events, {cpu:.1f} us of the server each"
    return Row("watch deliveries", events / (time.perf_counter() - start), "/s", detail)


def used(pids: Sequence[int]) -> float:
    return sum(map(cpu_seconds, pids))


def cpu_seconds(pid: int) -> float:
    """Seconds of processor time the server has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def _run(make: Make) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="winkube-bench-") as name:
        started = time.perf_counter()
        with api_server(make, Path(name)) as plane:
            ready = time.perf_counter() - started
            return uvloop.run(measure(plane, ready))


def main() -> int:
    ours = _run("winkube")
    theirs = {row.what: row for row in _run("upstream")} if upstream_folder() else {}
    print(f"{'':<28}{'winkube':>12}{'upstream':>12}")
    for row in ours:
        other = theirs.get(row.what)
        value = other.value if other else REMEMBERED.get(row.what)
        ratio = f"{row.against(value):.1f} x" if value else ""
        shown = other.shown() if other else f"({value})" if value else ""
        print(f"{row.what:<28}{row.shown():>12}{shown:>12}{ratio:>8}  {row.detail}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
