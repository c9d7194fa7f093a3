"""kubectl through our API and kubelet servers to containerd's own streaming server."""

import asyncio
import hashlib
import os
import signal
import subprocess
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.e2e.harness import find_kubectls
from tests.integration.streaming.authority import make_authority
from tests.integration.streaming.client import forwarding, read_line, run, started
from tests.integration.streaming.mini_cluster import Cluster, FakeView, running_cluster

from winkube.base.paths import NodePaths
from winkube.cluster.containerd import PAUSE_IMAGE, write_config
from winkube.cluster.linux_root import ensure_template, fill_root
from winkube.wire import cri
from winkube.wire.cri_client import CriClient, CriError

pytestmark = pytest.mark.root
CGROUP = f"/wkt-streaming-{os.getpid()}"


def _oldest_and_newest() -> list[Path]:
    found = find_kubectls()
    return found if len(found) < 2 else [found[0], found[-1]]


@asynccontextmanager
async def running_containerd(folder: Path) -> AsyncIterator[CriClient]:
    paths = NodePaths(folder / "state", folder / "run")
    fill_root(ensure_template(folder / "cache"), paths.runtime)
    config = write_config(paths, mirrors={})
    text = config.read_text()
    if "restrict_oom_score_adj" not in text:
        # Without CAP_SYS_RESOURCE the sandbox's usual score cannot be set.
        mark = "  enable_tls_streaming = false\n"
        config.write_text(text.replace(mark, f"{mark}  restrict_oom_score_adj = true\n"))
    with (folder / "containerd.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            "containerd", "--config", str(config), stdout=log, stderr=log
        )
    client = CriClient(paths.cri_socket)
    try:
        await until_listed(client, PAUSE_IMAGE)
        yield client
    finally:
        await client.close()
        process.send_signal(signal.SIGTERM)
        await process.wait()
        _clean_up(folder)


async def until_listed(client: CriClient, name: str) -> None:
    """Containerd's socket is there a moment before it answers."""
    request = cri.ImageStatusRequest(image=cri.ImageSpec(image=name))
    async with asyncio.timeout(30):
        while True:
            try:
                assert (await client.call("ImageStatus", request)).HasField("image"), name
            except CriError:
                await asyncio.sleep(0.05)
            else:
                return


def _clean_up(folder: Path) -> None:
    """Shims and mounts of a test that failed half-way."""
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    for mount in reversed([line.split()[1] for line in mounts]):
        if mount.startswith(str(folder)):
            subprocess.run(["umount", "-l", mount], check=False)
    for group in Path("/sys/fs/cgroup").glob(f"**{CGROUP}"):
        for inner in sorted(group.glob("**/"), reverse=True):
            inner.rmdir()


@asynccontextmanager
async def running_container(client: CriClient, folder: Path) -> AsyncIterator[tuple[str, str]]:
    node = cri.NamespaceOption(network=cri.NODE)
    sandbox_config = cri.PodSandboxConfig(
        metadata=cri.PodSandboxMetadata(name="web", uid="u1", namespace="default"),
        log_directory=str(folder / "logs"),
        linux=cri.LinuxPodSandboxConfig(
            cgroup_parent=CGROUP,
            security_context=cri.LinuxSandboxSecurityContext(namespace_options=node),
        ),
    )
    request = cri.RunPodSandboxRequest(config=sandbox_config)
    sandbox = (await client.call("RunPodSandbox", request)).pod_sandbox_id
    try:
        container_config = cri.ContainerConfig(
            metadata=cri.ContainerMetadata(name="main"),
            image=cri.ImageSpec(image="winkube.local/busybox:latest"),
            command=["/bin/sh", "-c", "echo started; while read line; do echo got $line; done"],
            log_path="main.log",
            stdin=True,
            linux=cri.LinuxContainerConfig(
                security_context=cri.LinuxContainerSecurityContext(namespace_options=node)
            ),
        )
        create = cri.CreateContainerRequest(
            pod_sandbox_id=sandbox, config=container_config, sandbox_config=sandbox_config
        )
        container = (await client.call("CreateContainer", create)).container_id
        await client.call("StartContainer", cri.StartContainerRequest(container_id=container))
        yield sandbox, container
    finally:
        stop = cri.StopPodSandboxRequest(pod_sandbox_id=sandbox)
        await client.call("StopPodSandbox", stop)
        remove = cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox)
        await client.call("RemovePodSandbox", remove)


async def check_exec(kubectl: Path, cluster: Cluster) -> None:
    command = ("exec", "web", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
    code, out, err = await run(kubectl, cluster, *command)
    assert (code, out) == (3, b"out\n")
    assert b"err\n" in err
    data = os.urandom(1 << 20) * 20
    code, out, _ = await run(kubectl, cluster, "exec", "-i", "web", "--", "cat", stdin=data)
    assert code == 0
    assert hashlib.sha256(out).digest() == hashlib.sha256(data).digest()


async def check_attach(kubectl: Path, cluster: Cluster) -> None:
    argv = ("attach", "-i", "web")
    async with started(kubectl, cluster, *argv, stdin=PIPE, stdout=PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b"hello\n")
        assert await read_line(process) == b"got hello\n"


async def check_port_forward(kubectl: Path, cluster: Cluster) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    there = server.sockets[0].getsockname()[1]
    async with server, forwarding(kubectl, cluster, there) as port, asyncio.timeout(30):
        for number in range(3):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"%d\n" % number)
            assert await reader.read() == b"%d\n" % number
            writer.close()


async def test_kubectl_reaches_a_container_of_containerd(tmp_path: Path) -> None:
    authority = make_authority(tmp_path / "pki")
    async with (
        running_containerd(tmp_path) as client,
        running_container(client, tmp_path) as (sandbox, container),
    ):
        log = tmp_path / "logs" / "main.log"
        view = FakeView(client, log, container=container, sandbox=sandbox)
        async with running_cluster(authority, tmp_path, view) as cluster:
            for kubectl in _oldest_and_newest():
                await check_exec(kubectl, cluster)
                await check_attach(kubectl, cluster)
                await check_port_forward(kubectl, cluster)
                code, out, _ = await run(kubectl, cluster, "logs", "web")
                assert (code, out.splitlines()[0]) == (0, b"started")
