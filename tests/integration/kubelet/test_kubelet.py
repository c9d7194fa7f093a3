"""A Windows kubelet in a real control plane; only the runtime is a fake, on a real socket."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import grpc.aio
from tests.integration.controllers.control_plane import control_plane

from winkube.base.clock import SystemClock
from winkube.base.types import JsonObject
from winkube.client.resource import DEPLOYMENTS, LEASES, NODES, PODS
from winkube.client.rest import ApiClient
from winkube.cluster.pki import Authority, Identity, Pair
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.kubelet import Kubelet
from winkube.machines.personality import find_personality
from winkube.testing.fake_cri import FakeCri
from winkube.testing.tasks import running
from winkube.wire.cri_server import add_cri_services

IMAGE = "app:1"
DEPLOYMENT: JsonObject = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "nodeSelector": {"kubernetes.io/os": "windows"},
                "containers": [{"name": "main", "image": IMAGE}],
            },
        },
    },
}


def _config(folder: Path, keys: Path) -> KubeletConfig:
    authority = Authority.ensure(keys, SystemClock())
    pair = Pair(keys / "kubelet.crt", keys / "kubelet.key")
    name = Identity("kubelet", "system:node:win-1", ("system:nodes",), ("127.0.0.1", "win-1"))
    authority.ensure_pair(pair, name)
    return KubeletConfig(
        node_name="win-1",
        os="windows",
        personality=find_personality("ltsc2019"),
        node_ip="127.0.0.1",
        cri_socket=folder / "cri.sock",
        root_dir=folder / "kubelet",
        pod_logs_dir=folder / "log",
        cert_file=pair.cert,
        key_file=pair.key,
        client_ca_file=keys / "ca.crt",
        c_drive=folder / "c",
        cluster_dns=("10.96.0.10",),
        port=0,
    )


@asynccontextmanager
async def _runtime(socket: Path) -> AsyncIterator[FakeCri]:
    fake = FakeCri()
    fake.add_image(IMAGE)
    server = grpc.aio.server()
    add_cri_services(server, fake.handlers())
    server.add_insecure_port(f"unix://{socket}")
    await server.start()
    yield fake
    await server.stop(None)


def _is_ready(pod: JsonObject) -> bool:
    conditions = pod["status"].get("conditions") or []
    return any(entry["type"] == "Ready" and entry["status"] == "True" for entry in conditions)


async def _until(client: ApiClient, holds: Callable[[list[JsonObject]], bool]) -> list[JsonObject]:
    while True:
        pods: list[JsonObject] = (await client.list(PODS, namespace="default"))["items"]
        if holds(pods):
            return pods
        await asyncio.sleep(0.02)


async def test_a_deployment_runs_on_a_windows_node(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.mkdir()
    async with control_plane(keys) as client:
        config = _config(tmp_path, keys)
        async with _runtime(config.cri_socket) as fake:
            kubelet = Kubelet(config, client)
            async with running(kubelet.run()), asyncio.timeout(20):
                await kubelet.ready.wait()
                await client.create(DEPLOYMENTS, DEPLOYMENT)
                pods = await _until(client, lambda pods: sum(map(_is_ready, pods)) == 2)
                node = await client.get(NODES, "win-1")
                assert node["status"]["nodeInfo"]["osImage"] == "Windows Server 2019 Datacenter"
                assert (await client.get(LEASES, "win-1", namespace="kube-node-lease"))["spec"]
                await _check_pod(kubelet, fake, pods[0])
                await client.patch(
                    DEPLOYMENTS, "web", {"spec": {"replicas": 0}}, namespace="default"
                )
                await _until(client, lambda pods: not pods)
                assert not fake.sandboxes


async def _check_pod(kubelet: Kubelet, fake: FakeCri, pod: JsonObject) -> None:
    name = pod["metadata"]["name"]
    container = kubelet.container_id("default", name, "main")
    assert container in fake.containers
    assert kubelet.sandbox_id("default", name) in fake.sandboxes
    assert kubelet.container_state("default", name, "main") == "running"
    assert kubelet.container_state("default", name, "none") is None
    path = kubelet.log_path("default", name, "main", False)
    assert path is not None
    assert path.parts[-2:] == ("main", "0.log")
    assert len(kubelet.pods()["items"]) == 2
    summary = await kubelet.stats_summary()
    assert {entry["podRef"]["namespace"] for entry in summary["pods"]} == {"default"}
    mounts = fake.containers[container].config.mounts
    assert any(m.container_path.startswith("C:\\var\\run\\secrets") for m in mounts)
