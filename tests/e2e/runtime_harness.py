"""The Windows runtime as a CRI client sees it, and registries to pull from."""

import asyncio
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from winkube.runtime.config import RuntimeConfig
from winkube.runtime.oci.model import ImageConfig
from winkube.runtime.server import CriServer
from winkube.testing.archive import ArchiveFile, ArchiveImage, write_archive
from winkube.wire import cri
from winkube.wire.cri_client import CriClient, CriError


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

    async def create(
        self, name: str, image: str, *command: str, pull: bool = True, **fields: Any
    ) -> str:
        spec = cri.ImageSpec(image=image)
        if pull:
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


@contextmanager
def registry(folder: Path, auth: str = "", *, inside: Sequence[str] = ()) -> Iterator[str]:
    """Debian's docker-registry on loopback; ``auth`` is that part of its settings.

    ``inside`` is a command that runs another one elsewhere, in a node's namespace for one.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{probe.getsockname()[1]}"
    settings, log = folder / "registry.yml", folder / "registry.log"
    settings.write_text(
        f"version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: {folder}/registry\n"
        f"http:\n  addr: {host}\n{auth}"
    )
    with log.open("wb") as file:
        argv = [*inside, "docker-registry", "serve", str(settings)]
        child = subprocess.Popen(argv, stdout=file, stderr=file)
    try:
        for _ in range(200):
            if "listening on" in log.read_text():
                break
            time.sleep(0.05)
        yield host
    finally:
        child.kill()
        child.wait()


def copy(source: str, target: str, *options: str, inside: Sequence[str] = ()) -> None:
    argv = [*inside, "skopeo", "copy", "--insecure-policy", *options, source, target]
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def push(archive: Path, name: str, *options: str, inside: Sequence[str] = ()) -> None:
    flags = ("--dest-tls-verify=false", *options)
    copy(f"oci-archive:{archive}", f"docker://{name}", *flags, inside=inside)


USER, PASSWORD = "anna", "right"
# bcrypt of the password, the one kind Debian's registry takes
_HTPASSWD = f"{USER}:$2b$04$2CCRqTI9lZ/q58ndSl.wGOnqGrGb//RMsWYHrFDk5fk9QnpSYQu3q\n"


@contextmanager
def closed_registry(folder: Path, *, inside: Sequence[str] = ()) -> Iterator[str]:
    """A registry that asks for name and password."""
    (folder / "htpasswd").write_text(_HTPASSWD)
    auth = f"auth:\n  htpasswd:\n    realm: wkt\n    path: {folder}/htpasswd\n"
    with registry(folder, auth, inside=inside) as host:
        yield host


async def refused(call: Callable[[], Any]) -> CriError:
    with pytest.raises(CriError) as caught:
        await call()
    return caught.value


async def exec_sync(client: CriClient, container: str, *command: str, timeout: int = 30) -> Any:
    request = cri.ExecSyncRequest(container_id=container, cmd=list(command), timeout=timeout)
    return await client.call("ExecSync", request)


def build_image(path: Path, name: str, text: bytes) -> None:
    layers = (
        {"Files/Windows/System32/greet.cmd": ArchiveFile(b"@echo old\r\n")},
        {
            "Files/WINDOWS/system32/.wh.greet.cmd": ArchiveFile(),
            "Files/app/greet.cmd": ArchiveFile(b"@echo " + text + b" %MOOD%\r\n"),
            "Hives/Software_Delta": ArchiveFile(b"regf"),
        },
    )
    config_ = ImageConfig(
        os_version="10.0.17763.1",
        entrypoint=("cmd", "/c", "greet.cmd"),
        env={"MOOD": "well"},
        working_dir="C:\\app",
    )
    write_archive(path, ArchiveImage(name, config_, layers))
