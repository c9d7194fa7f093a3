"""The Windows runtime judged over its socket: real Wine, runc and conmon."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from winkube.base.paths import Home
from winkube.linux import cgroup, mount, netns
from winkube.machines.personality import find_personality
from winkube.machines.wine.base import ensure_base
from winkube.runtime.config import RuntimeConfig
from winkube.runtime.server import CriServer
from winkube.wire import cri
from winkube.wire.cri_client import CriClient, CriError

pytestmark = pytest.mark.root
SERVERCORE = "mcr.microsoft.com/windows/servercore:ltsc2019"


@pytest.fixture(scope="session")
def cache() -> Path:
    folder = Home.load().cache
    ensure_base(folder, lambda step, part: None)
    return folder


@pytest.fixture
def config(tmp_path: Path, cache: Path) -> Iterator[RuntimeConfig]:
    parent = f"/wkt-runtime-{os.getpid()}"
    before = set(netns.list_netns("wkp-"))
    yield RuntimeConfig(
        socket=tmp_path / "cri.sock",
        root=tmp_path / "root",
        run=tmp_path / "run",
        cache=cache,
        cni_conf_dir=tmp_path / "cni",
        cni_bin_dir=tmp_path / "bin",
        hns_socket=None,
        personality=find_personality("ltsc2019"),
        cgroup_parent=parent,
        node_name="win-1",
        c_drive=tmp_path / "c",
    )
    cgroup.kill_all(parent)
    cgroup.remove(parent)
    mount.umount_all(tmp_path)
    for name in set(netns.list_netns("wkp-")) - before:
        netns.delete_netns(name)
    shutil.rmtree(tmp_path, ignore_errors=True)


@asynccontextmanager
async def serving(config: RuntimeConfig) -> AsyncIterator[CriClient]:
    server = CriServer(config)
    client = CriClient(config.socket)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(server.run(), name="server")
        try:
            async with asyncio.timeout(60):
                await server.ready.wait()
            yield client
        finally:
            await client.close()
            task.cancel()


class Pod:
    """One pod through CRI, as the kubelet drives it."""

    def __init__(self, client: CriClient, logs: Path, name: str = "web-0") -> None:
        self.client = client
        self.logs = logs
        self.config = cri.PodSandboxConfig(
            metadata=cri.PodSandboxMetadata(name=name, uid=f"uid-{name}", namespace="default"),
            hostname=name,
            log_directory=str(logs),
            labels={"app": name},
        )
        self.id = ""

    async def run(self) -> "Pod":
        answer = await self.client.call(
            "RunPodSandbox", cri.RunPodSandboxRequest(config=self.config)
        )
        self.id = answer.pod_sandbox_id
        return self

    async def create(self, name: str, image: str, *command: str, **fields: Any) -> str:
        spec = cri.ImageSpec(image=image)
        await self.client.call("PullImage", cri.PullImageRequest(image=spec))
        config = cri.ContainerConfig(
            metadata=cri.ContainerMetadata(name=name),
            image=spec,
            command=list(command),
            log_path=f"{name}/0.log",
            **fields,
        )
        request = cri.CreateContainerRequest(
            pod_sandbox_id=self.id, config=config, sandbox_config=self.config
        )
        return str((await self.client.call("CreateContainer", request)).container_id)

    async def start(self, container: str) -> None:
        request = cri.StartContainerRequest(container_id=container)
        await self.client.call("StartContainer", request)

    async def status(self, container: str) -> Any:
        request = cri.ContainerStatusRequest(container_id=container)
        return (await self.client.call("ContainerStatus", request)).status

    async def wait(self, container: str) -> Any:
        async with asyncio.timeout(60):
            while True:
                status = await self.status(container)
                if status.state == cri.CONTAINER_EXITED:
                    return status
                await asyncio.sleep(0.05)

    async def run_to_end(self, name: str, image: str, *command: str, **fields: Any) -> Any:
        container = await self.create(name, image, *command, **fields)
        await self.start(container)
        return await self.wait(container)

    def output(self, name: str, stream: str = "stdout") -> str:
        lines = (self.logs / name / "0.log").read_text().splitlines()
        parts = [line.split(" ", 3) for line in lines]
        return "".join(
            part[3] + ("\n" if part[2] == "F" else "") for part in parts if part[1] == stream
        )


async def refused(call: Callable[[], Any]) -> CriError:
    with pytest.raises(CriError) as caught:
        await call()
    return caught.value


async def test_servercore_runs_cmd_and_the_log_has_its_version(
    config: RuntimeConfig, tmp_path: Path
) -> None:
    async with serving(config) as client:
        pod = await Pod(client, tmp_path / "logs").run()
        status = await pod.run_to_end("ver", SERVERCORE, "cmd", "/c", "ver & exit 3000")
        assert status.exit_code == 3000
        assert status.reason == "Error"
        assert "10.0.17763" in pod.output("ver")


async def test_an_image_of_another_build_is_refused_in_windows_words(
    config: RuntimeConfig,
) -> None:
    async with serving(config) as client:
        spec = cri.ImageSpec(image="mcr.microsoft.com/windows/nanoserver:ltsc2022")
        error = await refused(lambda: client.call("PullImage", cri.PullImageRequest(image=spec)))
        assert "does not match the host operating system" in error.message
        assert "0xc0370101" in error.message


async def test_a_command_that_does_not_exist_fails_the_start(
    config: RuntimeConfig, tmp_path: Path
) -> None:
    async with serving(config) as client:
        pod = await Pod(client, tmp_path / "logs").run()
        container = await pod.create("none", SERVERCORE, "nothing-here.exe")
        error = await refused(lambda: pod.start(container))
        assert "hcs::System::CreateProcess" in error.message
        assert "The system cannot find the file specified." in error.message
        status = await pod.status(container)
        assert (status.state, status.reason) == (cri.CONTAINER_EXITED, "StartError")


async def test_unknown_objects_are_not_found(config: RuntimeConfig) -> None:
    async with serving(config) as client:
        request = cri.ContainerStatusRequest(container_id="none")
        error = await refused(lambda: client.call("ContainerStatus", request))
        assert error.code == grpc.StatusCode.NOT_FOUND
