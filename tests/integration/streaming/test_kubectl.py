"""kubectl, old (SPDY) and new (WebSocket), through the whole chain."""

import asyncio
import fcntl
import hashlib
import os
import pty
import shutil
import socket
import struct
import termios
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import pytest
from tests.integration.streaming.client import forwarding, read_line, run, started

from winkube.kubelet.server.view import ContainerState


def _find(version: str) -> str:
    """A kubectl of this version: on the PATH, or beside the one that is."""
    beside = Path(shutil.which("kubectl") or "kubectl").resolve().with_name(f"kubectl.{version}")
    return shutil.which(f"kubectl.{version}") or (str(beside) if beside.exists() else "")


KUBECTLS = [
    pytest.param(
        _find(version),
        id=version,
        marks=pytest.mark.skipif(not _find(version), reason=f"kubectl {version} is not here"),
    )
    for version in ("1.28", "1.33")
]
each_kubectl = pytest.mark.parametrize("kubectl", KUBECTLS)


@each_kubectl
async def test_exec_gives_both_outputs_and_the_exit_code(kubectl: str, cluster: Any) -> None:
    code, out, err = await run(
        kubectl, cluster, "exec", "web", "--", "sh", "-c", "echo to-out; echo to-err >&2; exit 3"
    )
    assert (code, out) == (3, b"to-out\n")
    assert b"to-err" in err
    assert b"exit code 3" in err


@each_kubectl
async def test_exec_passes_standard_input_and_its_end(kubectl: str, cluster: Any) -> None:
    code, out, err = await run(kubectl, cluster, "exec", "-i", "web", "--", "cat", stdin=b"one\n")
    assert (code, out, err) == (0, b"one\n", b"")


@each_kubectl
async def test_large_binary_data_arrives_whole_both_ways(kubectl: str, cluster: Any) -> None:
    data = os.urandom(1 << 20) * 50
    digest = hashlib.sha256(data).hexdigest().encode()
    code, out, _ = await run(kubectl, cluster, "exec", "-i", "web", "--", "sha256sum", stdin=data)
    assert (code, out[:64]) == (0, digest)
    command = ("exec", "-i", "web", "--", "cat")
    code, out, _ = await run(kubectl, cluster, *command, stdin=data)
    assert (code, hashlib.sha256(out).hexdigest().encode()) == (0, digest)


@each_kubectl
async def test_files_are_copied_in_and_out(kubectl: str, cluster: Any, tmp_path: Path) -> None:
    source, middle, target = (tmp_path / name for name in ("source", "middle", "target"))
    source.write_bytes(os.urandom(3_000_001))
    for arguments in ((str(source), f"web:{middle}"), (f"web:{middle}", str(target))):
        code, _, err = await run(kubectl, cluster, "cp", *arguments)
        assert code == 0, err
    assert target.read_bytes() == source.read_bytes()


@each_kubectl
async def test_command_that_ends_before_its_input_keeps_its_output(
    kubectl: str, cluster: Any
) -> None:
    command = ("exec", "-i", "web", "--", "sh", "-c", "head -c 4; seq 20000; exit 5")
    code, out, _ = await run(kubectl, cluster, *command, stdin=b"data" * 2_000_000)
    assert code == 5
    assert out == b"data" + b"".join(b"%d\n" % number for number in range(1, 20001))


@each_kubectl
async def test_program_that_does_not_exist_is_an_error(kubectl: str, cluster: Any) -> None:
    code, _, err = await run(kubectl, cluster, "exec", "web", "--", "no-such-program")
    assert code == 1
    assert b"executable file not found" in err


@each_kubectl
async def test_kubelet_refusal_reaches_the_user(kubectl: str, cluster: Any) -> None:
    cluster.view.state = ContainerState.TERMINATED
    code, _, err = await run(kubectl, cluster, "exec", "web", "--", "true")
    assert code == 1
    assert b'container not found ("' in err
    cluster.view.container = None
    code, _, err = await run(kubectl, cluster, "exec", "web", "--", "true")
    assert code == 1
    assert b'container not found ("' in err


@each_kubectl
async def test_terminal_session_has_size_echo_and_exit_code(kubectl: str, cluster: Any) -> None:
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), terminal)
    argv = ("exec", "-it", "web", "--", "sh")
    seen = b""
    try:
        async with (
            started(kubectl, cluster, *argv, **streams, start_new_session=True) as process,
            asyncio.timeout(30),
        ):
            os.close(terminal)
            await cluster.backend.resized.wait()
            os.write(controller, b"stty size; tty; exit 7\n")
            while process.returncode is None:
                try:
                    seen += await asyncio.to_thread(os.read, controller, 65536)
                except OSError:
                    break
            code = await process.wait()
    finally:
        os.close(controller)
    assert code == 7, seen
    assert b"33 101" in seen
    assert b"/dev/pts/" in seen


@each_kubectl
async def test_client_that_leaves_ends_its_command(kubectl: str, cluster: Any) -> None:
    argv = ("exec", "web", "--", "sh", "-c", "echo up; sleep 600")
    async with started(kubectl, cluster, *argv, stdout=PIPE) as process:
        assert await read_line(process) == b"up\n"
    async with asyncio.timeout(30):
        await cluster.backend.cancelled.wait()


@each_kubectl
async def test_attach_joins_the_main_process(kubectl: str, cluster: Any) -> None:
    code, out, err = await run(kubectl, cluster, "attach", "-i", "web", stdin=b"hello\n")
    assert (code, out) == (0, b"attached: hello\n"), err


@each_kubectl
async def test_logs_follow_until_the_container_ends(kubectl: str, cluster: Any) -> None:
    line = "2026-01-01T00:00:00.000000001Z stdout F {}\n"
    cluster.view.log.write_text(line.format("first"))
    async with started(kubectl, cluster, "logs", "-f", "web", stdout=PIPE) as process:
        assert await read_line(process) == b"first\n"
        with cluster.view.log.open("a") as log:
            log.write(line.format("second"))
        assert await read_line(process) == b"second\n"
        cluster.view.state = ContainerState.TERMINATED
        async with asyncio.timeout(30):
            assert await process.wait() == 0


@each_kubectl
async def test_many_forwarded_connections_at_once_arrive_whole(kubectl: str, cluster: Any) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def talk(port: int, number: int) -> None:
        data = bytes([number]) * 300_000
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(data)
        writer.write_eof()
        assert await reader.read() == data
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    target = server.sockets[0].getsockname()[1]
    async with (
        server,
        forwarding(kubectl, cluster, target) as port,
        asyncio.timeout(60),
        asyncio.TaskGroup() as group,
    ):
        for number in range(60):
            group.create_task(talk(port, number))


@each_kubectl
async def test_forward_to_a_closed_port_fails_that_connection_only(
    kubectl: str, cluster: Any
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = unused.getsockname()[1]
    async with forwarding(kubectl, cluster, closed) as port, asyncio.timeout(30):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
        writer.close()
