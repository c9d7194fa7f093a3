"""The same, with the real API server in front of the kubelet."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.integration.streaming.client import forwarding, run
from tests.integration.streaming.mini_cluster import Cluster, write_kubeconfig
from tests.integration.streaming.test_kubectl import each_kubectl

from winkube.apiserver.config import ApiServerConfig
from winkube.apiserver.server import ApiServer
from winkube.client.config import load_kubeconfig
from winkube.client.resource import NODES, PODS, SERVICEACCOUNTS
from winkube.client.rest import ApiClient


def _config(cluster: Cluster, folder: Path, listening: socket.socket) -> ApiServerConfig:
    cert, key = cluster.authority.issue("kube-apiserver")
    client_cert, client_key = cluster.authority.issue(
        "kube-apiserver-kubelet-client", "system:masters"
    )
    account_key = folder / "sa.key"
    account_key.write_bytes(
        rsa.generate_private_key(65537, 2048).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return ApiServerConfig(
        sockets=(listening,),
        cert_file=cert,
        key_file=key,
        client_ca_file=cluster.authority.ca_file,
        kubelet_client_cert=client_cert,
        kubelet_client_key=client_key,
        kubelet_ca=cluster.authority.ca_file,
        store_path=folder / "state.db",
        service_account_key=account_key,
        advertise_address="127.0.0.1",
        advertise_port=listening.getsockname()[1],
    )


async def _populate(cluster: Cluster) -> None:
    port = int(cluster.kubelet_url.rsplit(":", 1)[1])
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    spec = {"nodeName": "node-1", "containers": [{"name": "main", "image": "x", "stdin": True}]}
    running = {
        "phase": "Running",
        "containerStatuses": [
            {
                "name": "main",
                "image": "x",
                "imageID": "",
                "ready": True,
                "restartCount": 0,
                "state": {"running": {}},
            }
        ],
    }
    async with ApiClient(load_kubeconfig(cluster.kubeconfig)) as client:
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}
        await client.create(NODES, {**node, "status": status})
        await client.patch(NODES, "node-1", {"status": status}, subresource="status")
        account = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "default"},
        }
        await client.create(SERVICEACCOUNTS, account, namespace="default")
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}
        await client.create(PODS, pod, namespace="default")
        await client.patch(
            PODS, "web", {"status": running}, namespace="default", subresource="status"
        )


@asynccontextmanager
async def _serving(config: ApiServerConfig) -> AsyncIterator[None]:
    server = ApiServer(config)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(server.run())
        await server.ready.wait()
        yield
        running.cancel()


@pytest.fixture
async def real(cluster: Cluster, tmp_path: Path) -> AsyncIterator[Cluster]:
    folder = tmp_path / "apiserver"
    folder.mkdir()
    listening = socket.create_server(("127.0.0.1", 0))
    url = f"https://127.0.0.1:{listening.getsockname()[1]}"
    kubeconfig = folder / "kubeconfig"
    write_kubeconfig(kubeconfig, url, cluster.authority)
    served = replace(cluster, url=url, kubeconfig=kubeconfig)
    async with _serving(_config(cluster, folder, listening)):
        await _populate(served)
        yield served


@each_kubectl
async def test_exec_logs_attach_and_port_forward(kubectl: str, real: Any) -> None:
    command = ("exec", "-i", "web", "--", "sh", "-c", "wc -c; echo err >&2; exit 3")
    code, out, err = await run(kubectl, real, *command, stdin=os.urandom(5_000_000))
    assert (code, out.strip()) == (3, b"5000000")
    assert b"err" in err
    real.view.log.write_text("2026-01-01T00:00:00.000000001Z stdout F said\n")
    code, out, err = await run(kubectl, real, "logs", "web", "--tail=5")
    assert (code, out) == (0, b"said\n"), err
    code, out, err = await run(kubectl, real, "attach", "-i", "web", stdin=b"hello\n")
    assert (code, out) == (0, b"attached: hello\n"), err

    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"welcome")
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    target = server.sockets[0].getsockname()[1]
    async with server, forwarding(kubectl, real, target) as port, asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b"welcome"
        writer.close()


@each_kubectl
async def test_errors_are_in_the_words_of_the_server(kubectl: str, real: Any) -> None:
    code, _, err = await run(kubectl, real, "exec", "web", "--", "no-such-program")
    assert code == 1
    assert b"executable file not found" in err
    code, _, err = await run(kubectl, real, "exec", "absent", "--", "true")
    assert b'pods "absent" not found' in err
    code, _, err = await run(kubectl, real, "exec", "web", "-c", "absent", "--", "true")
    assert code == 1
    assert b"absent" in err
