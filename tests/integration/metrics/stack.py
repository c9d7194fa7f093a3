"""API server, controllers, metrics server and a kubelet's HTTP server, all real, on loopback.

Only the node is played: what it says its containers use is what the test says.
"""

import base64
import dataclasses
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.integration.controllers.control_plane import (
    client_config,
    listen,
    server_config,
    write_keys,
)

from winkube.apiserver.aggregation.remote import Remote, Remotes
from winkube.apiserver.server import ApiServer
from winkube.base.clock import SystemClock
from winkube.base.types import JsonObject
from winkube.client.config import ClientConfig
from winkube.client.resource import APISERVICES, ENDPOINTSLICES, NODES, SERVICES
from winkube.client.rest import ApiClient
from winkube.cluster.pki import Authority, Identity, Pair
from winkube.controllers.config import ControllerConfig
from winkube.controllers.manager import ControllerManager
from winkube.kubelet.server.app import KubeletServer
from winkube.kubelet.server.view import ContainerUsage, NodeUsage, Usage
from winkube.metrics.config import MetricsConfig
from winkube.metrics.server import MetricsServer
from winkube.testing.tasks import running

NANO = 10**9
SYSTEM = "kube-system"


def pair(folder: Path, name: str) -> Pair:
    return Pair(folder / f"{name}.crt", folder / f"{name}.key")


def write_more_keys(folder: Path) -> None:
    own = Authority.ensure(folder, SystemClock())
    names = ("127.0.0.1", "metrics-server.kube-system.svc", "adapter.kube-system.svc")
    own.ensure_pair(
        pair(folder, "metrics"), Identity("metrics", "system:metrics-server", (), names)
    )
    own.ensure_pair(pair(folder, "nobody"), Identity("nobody", "nobody"))
    front = Authority.ensure(folder, SystemClock(), "front-proxy-ca")
    front.ensure_pair(pair(folder, "front"), Identity("front", "front-proxy-client"))
    front.ensure_pair(pair(folder, "other"), Identity("other", "somebody-else"))


@dataclass
class Node:
    """Played: CPU time of each container grows by its rate (cores) from look to look."""

    rates: dict[tuple[str, str], float] = field(default_factory=dict)  # (pod, container) -> cores
    memory: int = 4096 * 1024
    _used: dict[tuple[str, str], float] = field(default_factory=dict)
    _last: float = 0.0

    cri: Any = None

    async def resource_usage(self) -> NodeUsage:
        now = SystemClock().now()
        passed, self._last = (now - self._last if self._last else 0.0), now
        containers = []
        for key, rate in self.rates.items():
            self._used[key] = self._used.get(key, 0.0) + rate * passed
            usage = Usage(now, int(self._used[key] * NANO), self.memory)
            containers.append(ContainerUsage("default", *key, now - 3600, usage))
        return NodeUsage(Usage(now, int(now * NANO) // 2, 2**30), tuple(containers))

    def healthy(self) -> bool:
        return True


@dataclass(frozen=True)
class KubeletFiles:
    cert_file: Path
    key_file: Path
    client_ca_file: Path
    node_name: str = "win-1"
    node_ip: str = "127.0.0.1"
    port: int = 0


@dataclass
class Stack:
    folder: Path
    client: ApiClient
    port: int
    node: Node
    ports: dict[str, int]  # where a service is reached

    def client_for(self, name: str) -> ClientConfig:
        files = pair(self.folder, name)
        return ClientConfig(
            f"https://127.0.0.1:{self.port}", self.folder / "ca.crt", files.cert, files.key
        )

    def metrics_config(self) -> MetricsConfig:
        files = pair(self.folder, "metrics")
        return MetricsConfig(
            listen=("127.0.0.1", 0),
            cert_file=files.cert,
            key_file=files.key,
            requestheader_ca=self.folder / "front-proxy-ca.crt",
            kubelet_ca=self.folder / "ca.crt",
            client_cert=files.cert,
            client_key=files.key,
            interval=0.2,
            idle_interval=0.4,
        )

    @asynccontextmanager
    async def metrics_server(self) -> AsyncIterator[MetricsServer]:
        async with ApiClient(self.client_for("metrics")) as client:
            server = MetricsServer(client, self.metrics_config())
            async with running(server.run()):
                await server.ready.wait()
                self.ports["metrics-server"] = server.port
                yield server

    @asynccontextmanager
    async def controllers(self) -> AsyncIterator[None]:
        config = ControllerConfig(
            root_ca=(self.folder / "ca.crt").read_bytes(), autoscaler_period=0.3
        )
        manager = ControllerManager(self.client, config)
        async with running(manager.run()):
            await manager.ready.wait()
            yield

    @asynccontextmanager
    async def adapter(self, app: web.Application) -> AsyncIterator[None]:
        """Another server that extends the API: it lets the front proxy in and nobody else."""
        files = pair(self.folder, "metrics")
        context = ssl.create_default_context(
            ssl.Purpose.CLIENT_AUTH, cafile=str(self.folder / "front-proxy-ca.crt")
        )
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain(files.cert, files.key)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
            self.ports["adapter"] = runner.addresses[0][1]
            yield
        finally:
            await runner.cleanup()

    async def register(self, service: str, *versions: str, secure: bool = True) -> None:
        """The objects an administrator makes for a server beside the cluster."""
        port = {"name": "https", "port": 443, "protocol": "TCP"}
        meta = {"name": service, "namespace": SYSTEM}
        await self.client.create(SERVICES, {"metadata": meta, "spec": {"ports": [port]}})
        labels = {"kubernetes.io/service-name": service}
        await self.client.create(
            ENDPOINTSLICES,
            {
                "metadata": {**meta, "labels": labels},
                "addressType": "IPv4",
                "endpoints": [{"addresses": ["10.9.9.9"], "conditions": {"ready": True}}],
                "ports": [{"name": "https", "port": 443, "protocol": "TCP"}],
            },
        )
        bundle = base64.b64encode((self.folder / "ca.crt").read_bytes()).decode()
        for each in versions:
            group, _, version = each.partition("/")
            spec: JsonObject = {
                "group": group,
                "version": version,
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "service": {"name": service, "namespace": SYSTEM},
            }
            spec |= {"caBundle": bundle} if secure else {"insecureSkipTLSVerify": True}
            await self.client.create(
                APISERVICES, {"metadata": {"name": f"{version}.{group}"}, "spec": spec}
            )

    async def condition(self, name: str) -> JsonObject:
        found = await self.client.get(APISERVICES, name)
        conditions: list[JsonObject] = (found.get("status") or {}).get("conditions") or [{}]
        return conditions[0]


@asynccontextmanager
async def stack(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stack]:
    write_keys(folder)
    write_more_keys(folder)
    ports: dict[str, int] = {}
    real = Remotes.resolve

    def on_loopback(self: Remotes, remote: Remote) -> tuple[str, int]:
        real(self, remote)  # an endpoint on loopback is refused: the address alone is played
        return "127.0.0.1", ports[remote.service]

    monkeypatch.setattr(Remotes, "resolve", on_loopback)
    front = pair(folder, "front")
    with listen() as listener:
        config = dataclasses.replace(
            server_config(folder, listener),
            proxy_client_cert=front.cert,
            proxy_client_key=front.key,
            requestheader_ca=folder / "front-proxy-ca.crt",
        )
        api, node, port = ApiServer(config), Node(), listener.getsockname()[1]
        files = pair(folder, "metrics")
        kubelet = KubeletServer(
            KubeletFiles(files.cert, files.key, folder / "ca.crt"),
            node,  # type: ignore[arg-type]
        )
        async with running(api.run(), kubelet.run()):
            await api.ready.wait()
            await kubelet.ready.wait()
            async with ApiClient(client_config(folder, port)) as client:
                await client.create(NODES, _node(kubelet.port))
                yield Stack(folder, client, port, node, ports)


def _node(port: int) -> JsonObject:
    return {
        "metadata": {"name": "win-1", "labels": {"kubernetes.io/os": "windows"}},
        "status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def running_pod(name: str, labels: dict[str, str], cpu: str = "100m") -> JsonObject:
    container = {"name": "main", "image": "web", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"nodeName": "win-1", "containers": [container]},
    }
