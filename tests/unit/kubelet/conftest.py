"""A whole node in memory: the kubelet's engine between a fake API and a fake runtime."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from winkube.base.clock import SystemClock
from winkube.base.ids import new_uid
from winkube.base.types import JsonObject
from winkube.client.resource import EVENTS, PODS
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.engine import Engine
from winkube.kubelet.pod.backoff import Backoffs
from winkube.linux import mount
from winkube.machines.personality import find_personality
from winkube.testing.fake_api import FakeApi
from winkube.testing.fake_cri import FakeCri
from winkube.testing.tasks import eventually, running

IMAGE = "winkube.local/app:1"


class Node:
    """What a test sees: the API, the runtime, and questions about a pod."""

    def __init__(self, config: KubeletConfig, backoffs: Backoffs | None = None) -> None:
        clock = SystemClock()
        self.config = config
        self.api = FakeApi(clock)
        self.cri = FakeCri(clock)
        self.cri.add_image(IMAGE)
        self.backoffs = backoffs or Backoffs()
        self.engine = self.new_engine()

    def new_engine(self) -> Engine:
        """A kubelet as after a restart: it knows nothing but the API and the runtime."""
        self.engine = Engine(self.config, self.api, self.cri, SystemClock(), backoffs=self.backoffs)
        return self.engine

    @asynccontextmanager
    async def up(self) -> AsyncIterator[None]:
        async with running(self.engine.run()):
            await self.engine.ready.wait()
            yield

    def create(self, pod: JsonObject) -> JsonObject:
        pod["spec"]["nodeName"] = self.config.node_name
        return self.api.seed(PODS, pod)

    def status(self, name: str = "web") -> JsonObject:
        pod = self.api.find(PODS, f"default/{name}")
        return {} if pod is None else pod["status"]

    def container(self, name: str = "main", pod: str = "web") -> JsonObject:
        status = self.status(pod)
        entries = (status.get("containerStatuses") or []) + (
            status.get("initContainerStatuses") or []
        )
        return next((entry for entry in entries if entry["name"] == name), {"state": {}})

    def waiting(self, name: str = "main") -> str:
        return str((self.container(name)["state"].get("waiting") or {}).get("reason"))

    def condition(self, kind: str, pod: str = "web") -> str:
        found = [c for c in self.status(pod).get("conditions") or [] if c["type"] == kind]
        return str(found[0]["status"]) if found else ""

    def events(self) -> list[str]:
        return [event["reason"] for event in self.api.all(EVENTS)]

    def event_text(self, reason: str) -> str:
        found = [e["message"] for e in self.api.all(EVENTS) if e["reason"] == reason]
        return str(found[-1]) if found else ""

    def event_texts(self, reason: str) -> set[str]:
        return {e["message"] for e in self.api.all(EVENTS) if e["reason"] == reason}

    async def until(self, holds: Callable[[], object], seconds: float = 5.0) -> None:
        await eventually(holds, seconds=seconds)

    async def until_phase(self, phase: str, pod: str = "web") -> None:
        await eventually(lambda: self.status(pod).get("phase") == phase)

    async def until_gone(self, pod: str = "web") -> None:
        await eventually(lambda: self.api.find(PODS, f"default/{pod}") is None)


def make_config(folder: Path, os: str) -> KubeletConfig:
    windows = os == "windows"
    return KubeletConfig(
        node_name="win-1" if windows else "lin-1",
        os=os,
        node_ip="172.30.0.11",
        cri_socket=folder / "cri.sock",
        root_dir=folder / "kubelet",
        pod_logs_dir=folder / "log",
        cert_file=folder / "cert",
        key_file=folder / "key",
        client_ca_file=folder / "ca",
        personality=find_personality("ltsc2019") if windows else None,
        cluster_dns=("10.96.0.10",),
        c_drive=folder / "c" if windows else None,
        cpus=4,
        memory_bytes=8 << 30,
        resolv_conf=None,
    )


def make_pod(name: str = "web", **spec: Any) -> JsonObject:
    containers = spec.pop("containers", None) or [{"name": "main"}]
    for container in containers + (spec.get("initContainers") or []):
        container.setdefault("image", IMAGE)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": new_uid(),
            "labels": {"app": name},
        },
        "spec": {"containers": containers, "terminationGracePeriodSeconds": 5, **spec},
    }


@pytest.fixture
def pod_of() -> Callable[..., JsonObject]:
    return make_pod


@pytest.fixture
def config_of(tmp_path: Path) -> Callable[[str], KubeletConfig]:
    return lambda os: make_config(tmp_path, os)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(make_config(tmp_path, "linux"))


@pytest.fixture
def windows_node(tmp_path: Path) -> Iterator[Node]:
    yield Node(make_config(tmp_path, "windows"))
    # Run by root, host paths are mounted; a pod that was not deleted still has its own.
    mount.umount_all(tmp_path)


@pytest.fixture
def hasty_node(tmp_path: Path) -> Node:
    """Its back-offs are milliseconds."""
    return Node(make_config(tmp_path, "linux"), Backoffs(first=0.02, longest=0.05))
