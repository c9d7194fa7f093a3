"""A stream backend that runs commands on this machine: a pty for a terminal, or pipes."""

import asyncio
import fcntl
import os
import pty
import signal
import struct
import termios
from collections.abc import Sequence

from winkube.runtime.streaming import ByteSink, ByteSource, Streams
from winkube.wire.remotecommand import StreamClosedError, StreamRequestError

LOOPBACK = "127.0.0.1"


class LocalBackend:
    """Runs the commands on this machine: a pty for a terminal, pipes otherwise."""

    def __init__(self) -> None:
        self.cancelled = asyncio.Event()
        self.sizes: list[tuple[int, int]] = []
        self.resized = asyncio.Event()

    async def exec(
        self, container_id: str, argv: Sequence[str], *, tty: bool, streams: Streams
    ) -> int:
        try:
            return await (self._terminal if tty else self._pipes)(argv, streams)
        except FileNotFoundError as error:
            raise StreamRequestError(
                f'exec failed: "{argv[0]}": executable file not found in $PATH'
            ) from error
        except asyncio.CancelledError:
            self.cancelled.set()
            raise

    async def attach(self, container_id: str, *, streams: Streams) -> None:
        await self._pipes(("sh", "-c", "read line; echo attached: $line"), streams)

    async def portforward(
        self, sandbox_id: str, port: int, reader: ByteSource, writer: ByteSink
    ) -> None:
        remote, local = await asyncio.open_connection(LOOPBACK, port)
        try:
            async with asyncio.TaskGroup() as group:
                feeder = group.create_task(_feed(reader, local))
                while data := await remote.read(65536):
                    await writer.write(data)
                feeder.cancel()
        finally:
            local.close()

    async def _pipes(self, argv: Sequence[str], streams: Streams) -> int:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE if streams.stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            async with asyncio.TaskGroup() as group:
                feeder = None
                if streams.stdin and process.stdin:
                    feeder = group.create_task(_feed(streams.stdin, process.stdin))
                outputs = [
                    group.create_task(_emit(pipe, sink))
                    for pipe, sink in (
                        (process.stdout, streams.stdout),
                        (process.stderr, streams.stderr),
                    )
                    if pipe is not None
                ]
                await asyncio.wait(outputs)
                code = await process.wait()
                if feeder is not None:
                    feeder.cancel()
        finally:
            await _end(process)
        return code

    async def _terminal(self, argv: Sequence[str], streams: Streams) -> int:
        controller, terminal = pty.openpty()
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True
        )
        os.close(terminal)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._resize(controller, streams))]
                if streams.stdin:
                    tasks.append(group.create_task(_type(streams.stdin, controller)))
                await self._show(controller, streams.stdout)
                for task in tasks:
                    task.cancel()
            return await process.wait()
        finally:
            await _end(process)
            os.close(controller)

    async def _resize(self, controller: int, streams: Streams) -> None:
        while True:
            width, height = await streams.resize.get()
            self.sizes.append((width, height))
            fcntl.ioctl(controller, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
            self.resized.set()

    async def _show(self, controller: int, sink: ByteSink | None) -> None:
        loop = asyncio.get_running_loop()
        while True:
            readable = loop.create_future()
            loop.add_reader(controller, readable.set_result, None)
            try:
                await readable
            finally:
                loop.remove_reader(controller)
            try:
                data = os.read(controller, 65536)
            except OSError:
                return
            if not data:
                return
            if sink:
                await sink.write(data)


async def _end(process: asyncio.subprocess.Process) -> None:
    """The whole session: a shell's children would hold its pipes."""
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    await read_out(process)


async def read_out(process: asyncio.subprocess.Process) -> None:
    """Until the pipes of a process are read to their end, they count as open."""
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            await pipe.read()


async def _feed(source: ByteSource, pipe: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read():
            pipe.write(data)
            await pipe.drain()
        if pipe.can_write_eof():
            pipe.write_eof()
        else:
            pipe.close()
    except (BrokenPipeError, ConnectionResetError, RuntimeError):
        return  # uvloop says RuntimeError of a closed pipe


async def _type(source: ByteSource, controller: int) -> None:
    while data := await source.read():
        os.write(controller, data)


async def _emit(pipe: asyncio.StreamReader, sink: ByteSink | None) -> None:
    while data := await pipe.read(65536):
        if sink is not None:
            try:
                await sink.write(data)
            except StreamClosedError:
                return
