"""API server benchmark: ready, durable creates, gets, a list of 5,000 pods, watches, memory.

The server runs in a process of its own, over TLS with client certificates, on a file store; 32
connections from this process. The last column compares with upstream's kube-apiserver and etcd as
they were measured on a 2-core machine (more is better for us); it is a ratio of two machines' days,
so take the server's own processor time per request as the number to watch between two runs.
Run as ``python -m bench.api``.
"""

import asyncio
import contextlib
import datetime
import ipaddress
import multiprocessing
import os
import signal
import socket
import ssl
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

CONNECTIONS = 32
PODS = 5000
APPS = 50
DIFFERENT = 1000
GETS = int(os.environ.get("WINKUBE_BENCH_GETS", "8000"))
LISTS = 10
WATCHERS = 200
WATCHED = 1000
UPSTREAM = {
    "ready from nothing": 5.1,
    "durable pod creates": 541.0,
    "creates, all different": 541.0,
    "gets": 1391.0,
    f"list {PODS} pods": 0.329,
    "memory, server and store": 620.0,
}


def _pem(key: Any) -> bytes:
    pem: bytes = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return pem


def write_certificate(folder: Path) -> None:
    """One self-signed certificate does for server, client and authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:masters"),
            x509.NameAttribute(NameOID.COMMON_NAME, "bench"),
        ]
    )
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "tls.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "tls.key").write_bytes(_pem(key))
    (folder / "sa.key").write_bytes(_pem(rsa.generate_private_key(65537, 2048)))


def serve(folder: Path, sock: socket.socket) -> None:
    """The server process. Imports belong to the time until it is ready."""
    from winkube.apiserver.config import ApiServerConfig
    from winkube.apiserver.server import ApiServer

    cert, key = folder / "tls.crt", folder / "tls.key"
    config = ApiServerConfig(
        sockets=(sock,),
        cert_file=cert,
        key_file=key,
        client_ca_file=cert,
        kubelet_client_cert=cert,
        kubelet_client_key=key,
        kubelet_ca=cert,
        store_path=folder / "state.db",
        service_account_key=folder / "sa.key",
        advertise_address="127.0.0.1",
    )

    async def main() -> None:
        await ApiServer(config).run()

    profile = os.environ.get("WINKUBE_BENCH_PROFILE")
    if profile:
        import cProfile

        cProfile.runctx("uvloop.run(main())", {"uvloop": uvloop, "main": main}, {}, profile)
    else:
        with contextlib.suppress(KeyboardInterrupt):
            uvloop.run(main())


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
    session: aiohttp.ClientSession
    url: str

    async def call(self, method: str, path: str, body: bytes | None = None) -> bytes:
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        async with self.session.request(method, self.url + path, data=body, headers=headers) as got:
            data = await got.read()
            if got.status >= 400:
                raise RuntimeError(f"{method} {path}: {got.status} {data[:300]!r}")
            return data


async def _spread(count: int, work: Callable[[int], Coroutine[Any, Any, object]]) -> list[float]:
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


def _row(what: str, value: float, unit: str, detail: str = "") -> None:
    upstream = UPSTREAM.get(what)
    ratio = ""
    if upstream is not None:
        ratio = f"{value / upstream if unit == '/s' else upstream / value:.1f} x"
    shown = {"s": f"{value:.2f} s", "ms": f"{value * 1000:.1f} ms", "MB": f"{value:.0f} MB"}
    print(f"{what:<28}{shown.get(unit, f'{value:.0f}{unit}'):>12}{ratio:>8}  {detail}", flush=True)


async def _measure(folder: Path, port: int, pid: int, started: float) -> None:
    context = ssl.create_default_context(cafile=str(folder / "tls.crt"))
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    connector = aiohttp.TCPConnector(limit=0, ssl=context)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        client = Client(session, f"https://127.0.0.1:{port}")
        await _until_ready(client)
        _row("ready from nothing", time.perf_counter() - started, "s")
        account = {"metadata": {"name": "default"}}
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        await client.call("POST", accounts, orjson.dumps(account))
        pods = "/api/v1/namespaces/default/pods"
        # Pods come from controllers, many of one template; then the worst case, all different.
        bodies = [orjson.dumps(pod(index, index % APPS)) for index in range(PODS)]
        await _rate(
            pid, "durable pod creates", PODS, lambda n: client.call("POST", pods, bodies[n])
        )
        others = [orjson.dumps(pod(PODS + n, PODS + n)) for n in range(DIFFERENT)]
        await _rate(
            pid, "creates, all different", DIFFERENT, lambda n: client.call("POST", pods, others[n])
        )
        await _spread(DIFFERENT, lambda n: client.call("DELETE", f"{pods}/pod-{PODS + n:05d}"))
        await _rate(
            pid, "gets", GETS, lambda n: client.call("GET", f"{pods}/pod-{n * 7919 % PODS:05d}")
        )
        await _lists(client)
        _row("memory, server and store", resident(pid), "MB")
        await _watches(client, pid)


async def _until_ready(client: Client) -> None:
    while True:
        try:
            await client.call("GET", "/readyz")
        except (aiohttp.ClientError, RuntimeError):
            await asyncio.sleep(0.005)
        else:
            return


async def _rate(
    pid: int, what: str, count: int, work: Callable[[int], Coroutine[Any, Any, object]]
) -> None:
    start, before = time.perf_counter(), cpu_seconds(pid)
    times = await _spread(count, work)
    rate = count / (time.perf_counter() - start)
    cpu = (cpu_seconds(pid) - before) / count * 1e6
    p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
    detail = f"p50 {p50 * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms, {cpu:.0f} us of the server each"
    _row(what, rate, "/s", detail)


async def _lists(client: Client) -> None:
    times = []
    data = b""
    for _ in range(LISTS):
        start = time.perf_counter()
        data = await client.call("GET", "/api/v1/pods")
        times.append(time.perf_counter() - start)
    found = len(orjson.loads(data)["items"])
    detail = f"best {min(times) * 1000:.1f} ms, {len(data) / 1e6:.1f} MB"
    _row(f"list {found} pods", sorted(times)[LISTS // 2], "ms", detail)


async def _watches(client: Client, pid: int) -> None:
    """Every watcher gets every event: from the first write to the last delivery."""
    path = "/api/v1/namespaces/default/configmaps"
    version = orjson.loads(await client.call("GET", path))["metadata"]["resourceVersion"]
    opened = asyncio.Semaphore(0)

    async def follow() -> None:
        url = f"{client.url}{path}?watch=true&resourceVersion={version}"
        async with client.session.get(url) as stream:
            opened.release()
            left = WATCHED
            async for chunk in stream.content.iter_any():
                left -= chunk.count(b"\n")
                if left <= 0:
                    return

    async with asyncio.TaskGroup() as group:
        for _ in range(WATCHERS):
            group.create_task(follow())
        for _ in range(WATCHERS):
            await opened.acquire()
        start, before = time.perf_counter(), cpu_seconds(pid)
        bodies = [
            orjson.dumps({"metadata": {"name": f"map-{n}"}, "data": {"key": "x" * 100}})
            for n in range(WATCHED)
        ]
        await _spread(WATCHED, lambda n: client.call("POST", path, bodies[n]))
    events = WATCHERS * WATCHED
    cpu = (cpu_seconds(pid) - before) / events * 1e6
    detail = f"{WATCHERS} watchers of {WATCHED} events, {cpu:.1f} us of the server each"
    _row("watch deliveries", events / (time.perf_counter() - start), "/s", detail)


def cpu_seconds(pid: int) -> float:
    """Seconds of processor time the server has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="winkube-bench-") as name:
        folder = Path(name)
        write_certificate(folder)
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            # Listening starts before the server does: the first attempt waits instead of failing.
            sock.listen(1024)
            started = time.perf_counter()
            process = multiprocessing.get_context("fork").Process(target=serve, args=(folder, sock))
            process.start()
            try:
                uvloop.run(_measure(folder, sock.getsockname()[1], process.pid or 0, started))
            finally:
                os.kill(process.pid or 0, signal.SIGINT)
                process.join(10)
                process.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
