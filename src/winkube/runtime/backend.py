"""What is behind the streaming URLs: programs by runc, attach by conmon, ports by namespace."""

import asyncio
import contextlib
import fcntl
import os
import signal
import socket
import struct
import termios
import tty
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from winkube.linux import netns
from winkube.runtime import launch
from winkube.runtime.config import RuntimeConfig
from winkube.runtime.container import ContainerService
from winkube.runtime.errors import RuntimeServiceError
from winkube.runtime.exec import ExecOptions, ExecPlan, Executor, end_process
from winkube.runtime.sandbox import SandboxService
from winkube.runtime.state import Container
from winkube.wire.remotecommand import ByteSink, ByteSource, StreamClosedError, Streams

_READ: Final = 65536
_STDERR: Final = 3  # the first byte of a packet of conmon that is not standard output
_CONNECT_SECONDS: Final = 30
_POLL_SECONDS: Final = 0.01


class RuntimeStreams:
    """The StreamBackend of the Windows runtime."""

    def __init__(
        self,
        config: RuntimeConfig,
        containers: ContainerService,
        sandboxes: SandboxService,
        executor: Executor,
    ) -> None:
        self._config = config
        self._containers = containers
        self._sandboxes = sandboxes
        self._executor = executor

    async def exec(
        self, container_id: str, argv: Sequence[str], *, tty: bool, streams: Streams
    ) -> int:
        container = self._containers.running(container_id)
        options = ExecOptions(tty=tty, stdin=streams.stdin is not None)
        async with self._executor.prepare(container, argv, options) as plan:
            if tty:
                code = await _exec_on_terminal(plan, streams)
            else:
                code = await _exec_on_pipes(plan, streams)
            return self._executor.exit_code(container, plan, code)

    async def attach(self, container_id: str, *, streams: Streams) -> None:
        container = self._containers.running(container_id)
        with _connect(self._config.attach / container.id) as sock:
            async with asyncio.TaskGroup() as group:
                feeders = [group.create_task(self._resize(container, streams), name="resize")]
                if streams.stdin is not None:
                    feeder = _feed_socket(streams.stdin, sock)
                    feeders.append(group.create_task(feeder, name="attach-stdin"))
                await _drain_socket(sock, streams)
                for task in feeders:
                    task.cancel()
        await _close(streams.stdout)
        await _close(streams.stderr)

    async def _resize(self, container: Container, streams: Streams) -> None:
        control = self._config.bundles / container.id / "ctl"
        while True:
            size = await streams.resize.get()
            with contextlib.suppress(OSError):
                _write_control(control, f"1 {size.height} {size.width}\n")

    async def portforward(
        self, sandbox_id: str, port: int, reader: ByteSource, writer: ByteSink
    ) -> None:
        sandbox = self._sandboxes.get(sandbox_id)
        opened = await asyncio.to_thread(netns.call_in_netns, Path(sandbox.netns), _tcp_socket)
        with opened as sock:
            loop = asyncio.get_running_loop()
            try:
                async with asyncio.timeout(_CONNECT_SECONDS):
                    await loop.sock_connect(sock, ("127.0.0.1", port))
            except (OSError, TimeoutError) as error:
                raise RuntimeServiceError(
                    f"failed to execute portforward in network namespace "
                    f'"{sandbox.namespace_id}": failed to connect to localhost:{port} '
                    f"inside namespace: {error}"
                ) from error
            async with asyncio.TaskGroup() as group:
                sender = group.create_task(_send_all(reader, sock), name="port-send")
                await _receive_all(sock, writer)
                sender.cancel()


def _tcp_socket() -> socket.socket:
    """A socket belongs to the namespace of the thread that made it, wherever it is used."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setblocking(False)
    return sock


async def _send_all(source: ByteSource, sock: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    with contextlib.suppress(OSError, StreamClosedError):
        while data := await source.read(_READ):
            await loop.sock_sendall(sock, data)
        sock.shutdown(socket.SHUT_WR)


async def _receive_all(sock: socket.socket, sink: ByteSink) -> None:
    loop = asyncio.get_running_loop()
    with contextlib.suppress(OSError, StreamClosedError):
        while data := await loop.sock_recv(sock, _READ):
            await sink.write(data)
        await sink.close()


async def _close(sink: ByteSink | None) -> None:
    if sink is not None:
        with contextlib.suppress(StreamClosedError):
            await sink.close()


async def _copy_out(source: asyncio.StreamReader | None, sink: ByteSink | None) -> None:
    """Copy to the end; once the client is gone, read on so that the program is not held up."""
    gone = sink is None
    while source is not None and (data := await source.read(_READ)):
        if sink is not None and not gone:
            try:
                await sink.write(data)
            except StreamClosedError:
                gone = True
    await _close(sink)


async def _copy_in(source: ByteSource, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, StreamClosedError):
        while data := await source.read(_READ):
            target.write(data)
            await target.drain()
        target.close()


async def _exec_on_pipes(plan: ExecPlan, streams: Streams) -> int:
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *plan.argv, stdin=null if streams.stdin is None else pipe, stdout=pipe, stderr=pipe
    )
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_copy_out(process.stdout, streams.stdout), name="exec-stdout")
            group.create_task(_copy_out(process.stderr, streams.stderr), name="exec-stderr")
            feeder = None
            if streams.stdin is not None and process.stdin is not None:
                feeder = group.create_task(
                    _copy_in(streams.stdin, process.stdin), name="exec-stdin"
                )
            code = await process.wait()
            if feeder is not None:
                feeder.cancel()
    finally:
        await end_process(process, plan)
    return code


async def _exec_on_terminal(plan: ExecPlan, streams: Streams) -> int:
    """Give runc a terminal of ours; it has one inside and copies between the two."""
    outer, inner = os.openpty()
    tty.setraw(inner)
    try:
        if not streams.resize.empty():
            _set_size(outer, *streams.resize.get_nowait())
        process = await asyncio.create_subprocess_exec(
            *plan.argv, stdin=inner, stdout=inner, stderr=inner, start_new_session=True
        )
        os.close(inner)
        inner = -1
        try:
            async with asyncio.TaskGroup() as group:
                helpers = [group.create_task(_follow_size(process, outer, streams), name="size")]
                if streams.stdin is not None:
                    feeder = _feed_terminal(plan, streams.stdin, outer)
                    helpers.append(group.create_task(feeder, name="exec-stdin"))
                await _drain_terminal(outer, streams.stdout)
                code = await process.wait()
                for task in helpers:
                    task.cancel()
        finally:
            await end_process(process, plan)
    finally:
        for fd in (outer, inner):
            if fd >= 0:
                os.close(fd)
    return code


def _set_size(fd: int, width: int, height: int) -> None:
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))


async def _follow_size(process: asyncio.subprocess.Process, fd: int, streams: Streams) -> None:
    while True:
        _set_size(fd, *await streams.resize.get())
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGWINCH)


async def _feed_terminal(plan: ExecPlan, source: ByteSource, fd: int) -> None:
    """Type what comes; the terminal inside keeps keys as they are only once the program runs."""
    # The launcher inside writes a file, it cannot set an event.
    while not launch.read_report(plan.io, plan.name).started:  # noqa: ASYNC110
        await asyncio.sleep(_POLL_SECONDS)
    with contextlib.suppress(OSError, StreamClosedError):
        while data := await source.read(_READ):
            await asyncio.to_thread(_write_whole, fd, data)


def _write_whole(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


async def _drain_terminal(fd: int, sink: ByteSink | None) -> None:
    """Copy until the other end is closed, which a terminal tells as an error."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(fd), "rb", buffering=0)
    )
    try:
        with contextlib.suppress(OSError):
            await _copy_out(reader, sink)
    finally:
        transport.close()
    await _close(sink)


def _connect(folder: Path) -> socket.socket:
    """Connect to conmon; the folder goes in by descriptor, a socket's path may have 107 bytes."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.setblocking(False)
    try:
        fd = os.open(folder, os.O_PATH | os.O_DIRECTORY)
        try:
            sock.connect(f"/proc/self/fd/{fd}/attach")
        finally:
            os.close(fd)
    except OSError as error:
        # Nobody listens: it has ended since we looked.
        sock.close()
        raise RuntimeServiceError("container is in CONTAINER_EXITED state") from error
    return sock


async def _feed_socket(source: ByteSource, sock: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    with contextlib.suppress(OSError, StreamClosedError):
        # conmon reads packets of at most 8 KiB and cuts longer ones.
        while data := await source.read(8192):
            for start in range(0, len(data), 8192):
                await loop.sock_sendall(sock, data[start : start + 8192])
        sock.shutdown(socket.SHUT_WR)


async def _drain_socket(sock: socket.socket, streams: Streams) -> None:
    loop = asyncio.get_running_loop()
    with contextlib.suppress(OSError):
        while packet := await loop.sock_recv(sock, _READ):
            sink = streams.stderr if packet[0] == _STDERR else streams.stdout
            if sink is not None:
                try:
                    await sink.write(packet[1:])
                except StreamClosedError:
                    return


def _write_control(path: Path, line: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    try:
        os.write(fd, line.encode())
    finally:
        os.close(fd)
