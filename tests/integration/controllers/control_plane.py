"""A real API server in this event loop, with controllers and scheduler beside it."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from winkube.apiserver.config import ApiServerConfig
from winkube.apiserver.server import ApiServer
from winkube.base.clock import SystemClock
from winkube.base.types import JsonObject
from winkube.client.config import ClientConfig
from winkube.client.rest import ApiClient
from winkube.cluster.pki import Authority, Identity, Pair
from winkube.controllers.config import ControllerConfig
from winkube.controllers.manager import ControllerManager
from winkube.scheduler.scheduler import Scheduler
from winkube.testing.tasks import running


def _pair(folder: Path, name: str) -> Pair:
    return Pair(folder / f"{name}.crt", folder / f"{name}.key")


def write_keys(folder: Path) -> None:
    authority = Authority.ensure(folder, SystemClock())
    server = Identity("server", "kube-apiserver", (), ("127.0.0.1", "localhost"))
    authority.ensure_pair(_pair(folder, "server"), server)
    admin = Identity("admin", "kubernetes-admin", ("system:masters",))
    authority.ensure_pair(_pair(folder, "admin"), admin)
    key = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / "sa.key").write_bytes(key)


def server_config(folder: Path, listener: socket.socket) -> ApiServerConfig:
    server, admin = _pair(folder, "server"), _pair(folder, "admin")
    return ApiServerConfig(
        sockets=(listener,),
        cert_file=server.cert,
        key_file=server.key,
        client_ca_file=folder / "ca.crt",
        kubelet_client_cert=admin.cert,
        kubelet_client_key=admin.key,
        kubelet_ca=folder / "ca.crt",
        store_path=folder / "store.db",
        service_account_key=folder / "sa.key",
        advertise_address="127.0.0.1",
        advertise_port=listener.getsockname()[1],
    )


def client_config(folder: Path, port: int) -> ClientConfig:
    admin = _pair(folder, "admin")
    return ClientConfig(f"https://127.0.0.1:{port}", folder / "ca.crt", admin.cert, admin.key)


def listen(port: int = 0) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(512)
    listener.setblocking(False)
    return listener


@asynccontextmanager
async def control_plane(folder: Path) -> AsyncIterator[ApiClient]:
    write_keys(folder)
    with listen() as listener:
        api = ApiServer(server_config(folder, listener))
        config = client_config(folder, listener.getsockname()[1])
        root_ca = (folder / "ca.crt").read_bytes()
        async with running(api.run()):
            await api.ready.wait()
            async with ApiClient(config) as client:
                controllers = ControllerConfig(
                    root_ca=root_ca,
                    signing_cert=folder / "ca.crt",
                    signing_key=folder / "ca.key",
                    service_account_key=folder / "sa.key",
                    # Nobody renews the leases of these nodes: they must not be lost meanwhile.
                    node_grace_period=3600.0,
                )
                manager = ControllerManager(client, controllers)
                scheduler = Scheduler(client)
                async with running(manager.run(), scheduler.run()):
                    await manager.ready.wait()
                    await scheduler.ready.wait()
                    yield client


def node(name: str, address: str = "172.30.0.11") -> JsonObject:
    """A node as a kubelet registers it."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/os": "windows"}},
        "status": {
            "capacity": {"cpu": "8", "memory": "16Gi", "pods": "110"},
            "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"},
            "addresses": [{"type": "InternalIP", "address": address}],
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }
