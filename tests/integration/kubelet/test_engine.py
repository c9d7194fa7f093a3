"""The kubelet's engine against a runtime on a real socket."""

from pathlib import Path

import grpc.aio

from winkube.base.clock import SystemClock
from winkube.client.resource import PODS
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.engine import Engine
from winkube.testing.fake_api import FakeApi
from winkube.testing.fake_cri import FakeCri
from winkube.testing.tasks import eventually, running
from winkube.wire.cri_client import CriClient
from winkube.wire.cri_server import add_cri_services

POD = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"nodeName": "lin-1", "containers": [{"name": "main", "image": "app:1"}]},
}


def _config(folder: Path) -> KubeletConfig:
    return KubeletConfig(
        node_name="lin-1",
        os="linux",
        node_ip="127.0.0.1",
        cri_socket=folder / "cri.sock",
        root_dir=folder / "kubelet",
        pod_logs_dir=folder / "log",
        cert_file=folder / "cert",
        key_file=folder / "key",
        client_ca_file=folder / "ca",
    )


def _server(fake: FakeCri, socket: Path) -> grpc.aio.Server:
    server = grpc.aio.server()
    add_cri_services(server, fake.handlers())
    server.add_insecure_port(f"unix://{socket}")
    return server


async def test_pods_survive_a_runtime_that_restarts(tmp_path: Path) -> None:
    config, clock = _config(tmp_path), SystemClock()
    fake, api = FakeCri(clock), FakeApi(clock)
    fake.add_image("app:1")
    caller = CriClient(config.cri_socket)
    engine = Engine(config, api, caller, clock)
    server = _server(fake, config.cri_socket)
    await server.start()

    def phase() -> str:
        return str((api.find(PODS, "default/web") or {}).get("status", {}).get("phase"))

    async with running(engine.run()):
        await engine.ready.wait()
        api.seed(PODS, POD)
        await eventually(lambda: phase() == "Running")
        await server.stop(None)
        config.cri_socket.unlink(missing_ok=True)
        server = _server(fake, config.cri_socket)
        await server.start()
        await api.delete(PODS, "web", namespace="default")
        await eventually(lambda: api.find(PODS, "default/web") is None, seconds=10)
        assert not fake.sandboxes
    await caller.close()
    await server.stop(None)
