"""The Windows runtime judged over its socket: real Wine, runc and conmon."""

import asyncio
import contextlib
import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from tests.e2e.runtime_harness import Pod, build_image, exec_sync, push, refused, registry, serving

from winkube.base.clock import SystemClock
from winkube.cni.install import install_plugins
from winkube.linux import cgroup, mount, netns
from winkube.runtime.backend import RuntimeStreams
from winkube.runtime.config import RuntimeConfig
from winkube.runtime.oci.images import ImageService
from winkube.runtime.oci.model import ImageConfig
from winkube.runtime.server import build_services
from winkube.testing.archive import ArchiveFile, ArchiveImage, write_archive
from winkube.testing.hns_host import HnsHost
from winkube.wire import cri
from winkube.wire.remotecommand import Streams, TerminalSize

pytestmark = pytest.mark.root
CONTROL_C_EXIT = 0xC000013A - (1 << 32)  # an exit code is a signed number in CRI
SERVERCORE = "mcr.microsoft.com/windows/servercore:ltsc2019"

IIS = "mcr.microsoft.com/windows/servercore/iis"


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


async def test_too_little_memory_fails_the_start_in_windows_words(
    config: RuntimeConfig, tmp_path: Path
) -> None:
    async with serving(config) as client:
        pod = await Pod(client, tmp_path / "logs").run()
        limits = cri.WindowsContainerResources(memory_limit_in_bytes=10 << 20)
        windows = cri.WindowsContainerConfig(resources=limits)
        container = await pod.create("small", SERVERCORE, "cmd", "/c", "ver", windows=windows)
        error = await refused(lambda: pod.start(container))
        assert "The paging file is too small for this operation to complete." in error.message
        assert (await pod.status(container)).reason == "StartError"


async def test_nobody_runs_as_a_user_that_does_not_exist(
    config: RuntimeConfig, tmp_path: Path
) -> None:
    words = "The user name or password is incorrect."
    async with serving(config) as client:
        pod = await Pod(client, tmp_path / "logs").run()
        context = cri.WindowsContainerSecurityContext(run_as_username="FooLish")
        windows = cri.WindowsContainerConfig(security_context=context)
        container = await pod.create("iis", IIS, windows=windows)
        error = await refused(lambda: pod.start(container))
        assert words in error.message
        status = await pod.status(container)
        assert (status.state, status.reason) == (cri.CONTAINER_EXITED, "StartError")
        other = Pod(client, tmp_path / "logs", "web-1")
        other.config.windows.security_context.run_as_username = "FooLish"
        assert words in (await refused(other.run)).message


async def test_unknown_objects_are_not_found(config: RuntimeConfig) -> None:
    async with serving(config) as client:
        request = cri.ContainerStatusRequest(container_id="none")
        error = await refused(lambda: client.call("ContainerStatus", request))
        assert error.code == grpc.StatusCode.NOT_FOUND


async def test_iis_serves_its_page_and_writes_an_access_log(
    config: RuntimeConfig, tmp_path: Path
) -> None:
    async with serving(config) as client:
        pod = await Pod(client, tmp_path / "logs").run()
        container = await pod.create("iis", IIS)
        await pod.start(container)
        page = await exec_sync(client, container, "curl", "-g", "-q", "-si", "http://localhost/")
        assert b"200 OK" in page.stdout
        assert b"Server: Microsoft-IIS/10.0" in page.stdout
        outside = await exec_sync(client, container, "curl", "-s", "http://localhost/%2e%2e/x")
        assert b"404" in outside.stdout
        request = cri.StopContainerRequest(container_id=container, timeout=20)
        async with asyncio.timeout(15):  # told to shut down, it does not wait for the kill
            await client.call("StopContainer", request)
        assert (await pod.wait(container)).exit_code == 0
        assert " GET / - 80 - " in pod.output("iis")


@pytest.mark.parametrize(
    "command", [("ping", "-t", "127.0.0.1"), ("cmd", "/c", "ping -t 127.0.0.1")]
)
async def test_a_program_ended_by_a_shutdown_did_not_succeed(
    config: RuntimeConfig, tmp_path: Path, command: tuple[str, ...]
) -> None:
    async with serving(config) as client:
        pod = await Pod(client, tmp_path / "logs").run()
        container = await pod.create("ping", SERVERCORE, *command)
        await pod.start(container)
        request = cri.StopContainerRequest(container_id=container, timeout=20)
        async with asyncio.timeout(15):  # told to shut down, it does not wait for the kill
            await client.call("StopContainer", request)
        status = await pod.wait(container)
        assert (status.exit_code, status.reason) == (CONTROL_C_EXIT, "Error")


async def test_an_exec_has_its_own_streams_and_exit_code(
    config: RuntimeConfig, tmp_path: Path
) -> None:
    async with serving(config) as client:
        pod = await Pod(client, tmp_path / "logs").run()
        env = [cri.KeyValue(key="GREETING", value=b"hello world")]
        container = await pod.create("iis", IIS, envs=env)
        await pod.start(container)
        script = "echo %GREETING%& whoami& hostname& echo bad 1>&2& exit 70000"
        done = await exec_sync(client, container, "cmd", "/c", script)
        lines = done.stdout.decode().split("\r\n")
        assert lines[:3] == ["hello world", "user manager\\containeradministrator", "web-0"]
        assert done.stderr.decode().strip() == "bad"
        assert done.exit_code == 70000
        error = await refused(lambda: exec_sync(client, container, "no-such-program"))
        assert "The system cannot find the file specified." in error.message
        slow = ("ping", "-n", "30", "127.0.0.1")
        late = await refused(lambda: exec_sync(client, container, *slow, timeout=1))
        assert late.code == grpc.StatusCode.DEADLINE_EXCEEDED


WINDOWS_NAMES = [
    "ALLUSERSPROFILE",
    "APPDATA",
    "CommonProgramFiles",
    "CommonProgramFiles(x86)",
    "CommonProgramW6432",
    "COMPUTERNAME",
    "ComSpec",
    "DriverData",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "Path",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROCESSOR_IDENTIFIER",
    "PROCESSOR_LEVEL",
    "PROCESSOR_REVISION",
    "ProgramData",
    "ProgramFiles",
    "ProgramFiles(x86)",
    "ProgramW6432",
    "PSModulePath",
    "PUBLIC",
    "SystemDrive",
    "SystemRoot",
    "TEMP",
    "TMP",
    "USERDOMAIN",
    "USERNAME",
    "USERPROFILE",
    "windir",
]


def parse_set(output: str) -> dict[str, str]:
    lines = (line.strip() for line in output.splitlines())
    return {name: value for name, _, value in (line.partition("=") for line in lines if line)}


async def test_programs_have_the_environment_of_windows_and_no_more(
    config: RuntimeConfig, tmp_path: Path
) -> None:
    async with serving(config) as client:
        pod = await Pod(client, tmp_path / "logs").run()
        env = [cri.KeyValue(key="GREETING", value=b"hi"), cri.KeyValue(key="OS", value=b"mine")]
        script = "set & set PROMPT= & ping -n 60 127.0.0.1 >nul"
        container = await pod.create("set", SERVERCORE, "cmd", "/c", script, envs=env)
        await pod.start(container)
        inside = parse_set((await exec_sync(client, container, "cmd", "/c", "set")).stdout.decode())
        outside = parse_set(pod.output("set"))
    for found in (inside, outside):
        assert sorted({*found} - {"PROMPT"} - {*WINDOWS_NAMES}) == ["GREETING"]
        assert {*WINDOWS_NAMES} <= {*found}
        assert found["OS"] == "mine"
        assert found["SystemRoot"] == "C:\\Windows"
        assert found["COMPUTERNAME"] == "WEB-0"
        assert found["NUMBER_OF_PROCESSORS"] == str(os.cpu_count())
        assert found["PATHEXT"].endswith(".WSH;.MSC")


async def test_the_version_is_said_as_windows_says_it(
    config: RuntimeConfig, tmp_path: Path
) -> None:
    async with serving(config) as client:
        pod = await Pod(client, tmp_path / "logs").run()
        container = await pod.create("idle", SERVERCORE, "ping", "-n", "60", "127.0.0.1")
        await pod.start(container)
        said = await exec_sync(client, container, "cmd", "/c", "ver")
        assert said.stdout.decode().strip() == "Microsoft Windows [Version 10.0.17763.6893]"
        script = "set X=1& (for %i in (a b) do @echo !X!%i)& exit 300"
        done = await exec_sync(client, container, "cmd", "/s", "/v:on", "/c", script)
        assert done.stdout.decode().split() == ["1a", "1b"]
        assert done.exit_code == 300


async def test_containers_outlive_their_server(config: RuntimeConfig, tmp_path: Path) -> None:
    async with serving(config) as client:
        pod = await Pod(client, tmp_path / "logs").run()
        kept = await pod.create("kept", IIS)
        await pod.start(kept)
        ended = await pod.create("ended", SERVERCORE, "cmd", "/c", "ping -n 3 127.0.0.1 & exit 11")
        await pod.start(ended)
    await asyncio.sleep(3)
    async with serving(config) as client:
        pod.client = client
        assert (await pod.status(kept)).state == cri.CONTAINER_RUNNING
        assert b"200" in (await exec_sync(client, kept, "curl", "-si", "http://localhost/")).stdout
        assert (await pod.wait(ended)).exit_code == 11


async def test_removing_a_pod_leaves_nothing(config: RuntimeConfig, tmp_path: Path) -> None:
    async with serving(config) as client:
        pod = await Pod(client, tmp_path / "logs").run()
        container = await pod.create("iis", IIS)
        await pod.start(container)
        for _ in range(2):
            request = cri.StopPodSandboxRequest(pod_sandbox_id=pod.id)
            await client.call("StopPodSandbox", request)
        for _ in range(2):
            request = cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id)
            await client.call("RemovePodSandbox", request)
        listed = await client.call("ListContainers", cri.ListContainersRequest())
        assert not listed.containers
        assert not cgroup.exists(f"{config.cgroup_parent}/{pod.id}")
        assert mount.list_mounts(tmp_path) == []
        assert not any(config.containers.iterdir())


def check_unprivileged(pids: list[int]) -> None:
    assert pids
    for pid in pids:
        facts = Path(f"/proc/{pid}/status").read_text()
        assert "CapEff:\t0000000000000000" in facts
        assert "NoNewPrivs:\t1" in facts
        assert "Seccomp:\t2" in facts
        assert "Uid:\t0\t" not in facts


async def test_a_container_sees_neither_host_nor_neighbour(
    config: RuntimeConfig, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("host")
    async with serving(config) as client:
        pod = await Pod(client, tmp_path / "logs").run()
        first = await pod.create("first", IIS)
        await pod.start(first)
        await exec_sync(client, first, "cmd", "/c", "echo x> C:\\mine.txt")
        second = await pod.create("second", SERVERCORE, "ping", "-n", "60", "127.0.0.1")
        await pod.start(second)
        drive = (await exec_sync(client, second, "cmd", "/c", "dir C:\\")).stdout
        assert b"windows" in drive
        assert b"mine" not in drive
        listed = (await exec_sync(client, second, "tasklist")).stdout.lower()
        assert b"ping.exe" in listed
        assert b"servicemonitor" not in listed
        assert (await exec_sync(client, second, "cmd", "/c", "dir Z:\\")).exit_code != 0
        secret = f"\\\\?\\unix{str(tmp_path).replace('/', chr(92))}\\secret"
        assert (await exec_sync(client, second, "cmd", "/c", f"type {secret}")).exit_code != 0
        status = await pod.status(first)
        assert status.state == cri.CONTAINER_RUNNING
        check_unprivileged(cgroup.pids(f"{config.cgroup_parent}/{pod.id}/{first}"))


async def test_volumes_limits_and_stats(config: RuntimeConfig, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o777)
    data.chmod(0o777)
    (data / "in.txt").write_text("from the host")
    async with serving(config) as client:
        pod = await Pod(client, tmp_path / "logs").run()
        limits = cri.WindowsContainerResources(cpu_maximum=5000, memory_limit_in_bytes=512 << 20)
        container = await pod.create(
            "iis",
            IIS,
            mounts=[cri.Mount(container_path="C:\\Data\\vol", host_path=str(data))],
            windows=cri.WindowsContainerConfig(
                resources=limits,
                security_context=cri.WindowsContainerSecurityContext(
                    run_as_username="ContainerUser"
                ),
            ),
        )
        await pod.start(container)
        script = "type C:\\data\\VOL\\in.txt& echo back> C:\\data\\vol\\out.txt& whoami"
        done = await exec_sync(client, container, "cmd", "/c", script)
        assert done.stdout.startswith(b"from the host")
        assert b"containeruser" in done.stdout
        assert (data / "out.txt").read_text().strip() == "back"
        request = cri.ContainerStatsRequest(container_id=container)
        stats = (await client.call("ContainerStats", request)).stats
        assert stats.cpu.usage_core_nano_seconds.value > 0
        assert 1 << 20 < stats.memory.working_set_bytes.value < 512 << 20
        pods = await client.call("ListPodSandboxStats", cri.ListPodSandboxStatsRequest())
        assert pods.stats[0].windows.containers[0].attributes.metadata.name == "iis"
        status = await pod.status(container)
        assert status.resources.windows.memory_limit_in_bytes == 512 << 20


async def test_an_image_comes_from_a_registry(config: RuntimeConfig, tmp_path: Path) -> None:
    with registry(tmp_path) as host:
        name = f"{host}/team/greet:1"
        build_image(tmp_path / "greet.tar", name, b"hello from a layer")
        push(tmp_path / "greet.tar", name)
        async with serving(config) as client:
            pod = await Pod(client, tmp_path / "logs").run()
            status = await pod.run_to_end("greet", name)
            assert pod.output("greet").strip() == "hello from a layer well"
            assert status.exit_code == 0
            script = "if exist C:\\Windows\\System32\\greet.cmd exit 5"
            assert (await pod.run_to_end("gone", name, "cmd", "/c", script)).exit_code == 0
            missing = cri.PullImageRequest(image=cri.ImageSpec(image=f"{host}/team/none:1"))
            error = await refused(lambda: client.call("PullImage", missing))
            assert error.code == grpc.StatusCode.NOT_FOUND
            images = (await client.call("ListImages", cri.ListImagesRequest())).images
            assert [tag for image in images for tag in image.repo_tags] == [name]


async def test_an_image_comes_from_an_archive(config: RuntimeConfig, tmp_path: Path) -> None:
    build_image(tmp_path / "greet.tar", "example.com/greet:1", b"from a file")
    service = ImageService(config)
    async with serving(config) as client:
        service.load()
        await service.load_archive(tmp_path / "greet.tar")
        pod = await Pod(client, tmp_path / "logs").run()
        spec = cri.ImageSpec(image="example.com/greet:1")
        request = cri.ImageStatusRequest(image=spec)
        assert (await client.call("ImageStatus", request)).image.id
        container = await pod.create("greet", "example.com/greet:1", pull=False)
        await pod.start(container)
        await pod.wait(container)
        assert pod.output("greet").strip() == "from a file well"


@pytest.fixture
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HnsHost]:
    with HnsHost("wkt-rt", tmp_path_factory.mktemp("host")).up() as host:
        yield host


def fetch(netns_name: str, address: str) -> bytes:
    def get() -> bytes:
        for _ in range(100):  # a started program needs a moment until it listens
            with (
                contextlib.suppress(ConnectionRefusedError, urllib.error.URLError),
                urllib.request.urlopen(f"http://{address}/", timeout=5) as answer,
            ):
                return bytes(answer.read())
            time.sleep(0.05)
        return b""

    return netns.call_in_netns(netns.netns_path(netns_name), get)


def install_network(config: RuntimeConfig, host: HnsHost, folder: Path) -> RuntimeConfig:
    config.cni_conf_dir.mkdir()
    conf = {
        "cniVersion": "0.4.0",
        "name": "cbr0",
        "type": "win-bridge",
        "apiVersion": 2,
        "capabilities": {"dns": True, "portMappings": True},
        "ipam": {
            "type": "host-local",
            "dataDir": str(folder / "ipam"),
            "subnet": "10.244.1.0/24",
            "rangeStart": "10.244.1.3",
        },
    }
    (config.cni_conf_dir / "10-cbr0.conf").write_text(json.dumps(conf))
    socket_path = host.folder / "hns.sock"
    install_plugins(config.cni_bin_dir, hns_socket=socket_path)
    return replace(config, hns_socket=socket_path)


async def test_a_pod_on_the_host_networking_service_is_reached_by_its_address(
    config: RuntimeConfig, host: HnsHost, tmp_path: Path
) -> None:
    empty = replace(config, hns_socket=host.folder / "hns.sock")
    async with serving(empty) as client:
        status = await client.call("Status", cri.StatusRequest())
        assert [c.status for c in status.status.conditions] == [True, False]
        error = await refused(Pod(client, tmp_path / "logs").run)
        assert "cni plugin not initialized" in error.message
    async with serving(install_network(config, host, tmp_path)) as client:
        pod = await Pod(client, tmp_path / "logs").run()
        container = await pod.create("iis", IIS)
        await pod.start(container)
        request = cri.PodSandboxStatusRequest(pod_sandbox_id=pod.id)
        address = (await client.call("PodSandboxStatus", request)).status.network.ip
        assert address.startswith("10.244.1.")
        page = await asyncio.to_thread(fetch, host.outside, address)
        assert b"Internet Information Services" in page
        settings = await exec_sync(client, container, "ipconfig", "/all")
        assert address in settings.stdout.decode()
        await client.call("StopPodSandbox", cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))
        await client.call("RemovePodSandbox", cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id))
        left = [endpoint["Name"] for endpoint in host.client.list("Endpoint", {})]
        assert left == ["cbr0_ep"]


async def test_a_log_can_be_rotated(config: RuntimeConfig, tmp_path: Path) -> None:
    async with serving(config) as client:
        pod = await Pod(client, tmp_path / "logs").run()
        container = await pod.create("ping", SERVERCORE, "ping", "-t", "127.0.0.1")
        await pod.start(container)
        log = tmp_path / "logs" / "ping" / "0.log"
        log.rename(log.with_suffix(".old"))
        request = cri.ReopenContainerLogRequest(container_id=container)
        await client.call("ReopenContainerLog", request)
        await asyncio.sleep(2.5)
        assert "Reply from 127.0.0.1" in pod.output("ping")


class Sink:
    """What a client receives of one stream."""

    def __init__(self) -> None:
        self.data = b""
        self.closed = False

    async def write(self, data: bytes, /) -> None:
        self.data += data

    async def close(self) -> None:
        self.closed = True


class Typist:
    """A client that types all it has at once, and then nothing more."""

    def __init__(self, *lines: bytes) -> None:
        self._lines = list(lines)

    async def read(self, n: int = -1, /) -> bytes:
        return self._lines.pop(0) if self._lines else b""


def backend_of(config: RuntimeConfig) -> RuntimeStreams:
    """The backend over a server's state on disk, as the server itself builds it."""
    server = build_services(config, SystemClock())
    return RuntimeStreams(config, server.containers, server.sandboxes, server.executor)


async def test_attach_and_terminal_sessions(config: RuntimeConfig, tmp_path: Path) -> None:
    async with serving(config) as client:
        pod = await Pod(client, tmp_path / "logs").run()
        container = await pod.create("cmd", SERVERCORE, "cmd", stdin=True)
        await pod.start(container)
        backend = backend_of(config)
        out = Sink()
        streams = Streams(Typist(b"ver\r", b"exit 5\r"), out, None)
        streams.resize.put_nowait(TerminalSize(100, 30))
        async with asyncio.timeout(60):
            code = await backend.exec(container, ["cmd"], tty=True, streams=streams)
        assert code == 5
        assert b"10.0.17763" in out.data
        heard = Sink()
        async with asyncio.timeout(20):
            await backend.attach(
                container, streams=Streams(Typist(b"hostname\r\n", b"exit 9\r\n"), heard, None)
            )
        assert b"web-0" in heard.data
        assert (await pod.wait(container)).exit_code == 9


async def test_a_shell_gets_all_lines_that_come_at_once(
    config: RuntimeConfig, tmp_path: Path
) -> None:
    async with serving(config) as client:
        pod = await Pod(client, tmp_path / "logs").run()
        container = await pod.create("idle", SERVERCORE, "ping", "-n", "60", "127.0.0.1")
        await pod.start(container)
        backend = backend_of(config)
        for shell in ("cmd", "C:\\Windows\\system32\\CMD.EXE"):
            out = Sink()
            streams = Streams(Typist(b"echo 1\r\necho 2\r\necho 3\r\nexit 4\r\n"), out, None)
            code = await backend.exec(container, [shell, "/q"], tty=False, streams=streams)
            assert out.data.split()[-3:] == [b"1", b"2", b"3"]
            assert code == 4


ADAPTERS = r"""
#include <winsock2.h>
#include <iphlpapi.h>
#include <stdio.h>
int main(void)
{
    static IP_ADAPTER_ADDRESSES found[1000];
    ULONG size = sizeof(found), error, count = 0;
    IP_ADAPTER_ADDRESSES *each;
    error = GetAdaptersAddresses(AF_UNSPEC, GAA_FLAG_INCLUDE_PREFIX, NULL, found, &size);
    for (each = error ? NULL : found; each; each = each->Next) count++;
    printf("error %lu, %lu adapters\n", error, count);
    return error;
}
"""


def compile_program(folder: Path, source: str) -> bytes:
    (folder / "a.c").write_text(source)
    argv = ["x86_64-w64-mingw32-gcc", "-D_WIN32_WINNT=0x0a00", "-o", "a.exe", "a.c", "-liphlpapi"]
    subprocess.run(argv, cwd=folder, check=True)
    return (folder / "a.exe").read_bytes()


async def test_programs_can_list_adapters_with_their_prefixes(
    config: RuntimeConfig, tmp_path: Path
) -> None:
    program = await asyncio.to_thread(compile_program, tmp_path, ADAPTERS)
    files = {"Files/a.exe": ArchiveFile(program, 0o755)}
    image = ArchiveImage("example.com/a:1", ImageConfig(entrypoint=("C:\\a.exe",)), (files,))
    write_archive(tmp_path / "a.tar", image)
    async with serving(config) as client:
        spec = cri.ImageSpec(image=f"archive:{tmp_path}/a.tar")
        await client.call("PullImage", cri.PullImageRequest(image=spec))
        pod = await Pod(client, tmp_path / "logs").run()
        status = await pod.run_to_end("a", "example.com/a:1", pull=False)
        assert pod.output("a").startswith("error 0, ")
        assert status.exit_code == 0
