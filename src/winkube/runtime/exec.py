"""Further programs in a running container: each is a launcher of its own, joined by runc."""

import asyncio
import contextlib
import json
import os
import secrets
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from winkube.runtime import launch
from winkube.runtime.command_line import join_args
from winkube.runtime.errors import DeadlineError, InvalidArgumentError, StartError
from winkube.runtime.lifecycle import to_signed
from winkube.runtime.rootfs import RootfsMaker
from winkube.runtime.runc import Runc
from winkube.runtime.spec import to_process
from winkube.runtime.state import Container

_OUTPUT_LIMIT: Final = 16 << 20  # what the kubelet takes of an exec probe's or hook's output
_ORDERS_LIMIT: Final = 16 << 20  # an environment is part of a pod, which is far smaller
_READ: Final = 65536
_END_SECONDS: Final = 5


@dataclass(frozen=True, slots=True)
class ExecPlan:
    """A process that is ready to be started; ``name`` is that of its orders and report."""

    name: str
    argv: tuple[str, ...]
    io: Path
    pid_file: Path


@dataclass(frozen=True, slots=True)
class ExecOptions:
    tty: bool = False
    stdin: bool = False


@dataclass(frozen=True, slots=True)
class ExecResult:
    stdout: bytes
    stderr: bytes
    code: int


class Executor:
    def __init__(self, rootfs: RootfsMaker, runc: Runc) -> None:
        self._rootfs = rootfs
        self._runc = runc

    @asynccontextmanager
    async def prepare(
        self, container: Container, command: Sequence[str], options: ExecOptions
    ) -> AsyncIterator[ExecPlan]:
        """Write orders and process description; both are gone when the block ends."""
        if not command:
            raise InvalidArgumentError("exec needs a command")
        bundle = self._rootfs.bundle(container.id)
        name = f"exec-{secrets.token_hex(8)}"
        orders = launch.Orders(
            command=join_args(command),
            cwd=container.config.working_dir or "C:\\",
            env=load_env(bundle.io),
            stdin=options.stdin,
            tty=options.tty,
            tied=True,
        )
        args = launch.write_orders(bundle.io, name, orders)
        process, pid_file = (bundle.folder / f"{name}.{kind}" for kind in ("json", "pid"))
        process.write_text(json.dumps(to_process(args, container.user, tty=options.tty)))
        argv = self._runc.argv("exec", "--process", str(process), "--pid-file", str(pid_file))
        argv += ["--tty"] if options.tty else []
        try:
            yield ExecPlan(name, (*argv, container.id), bundle.io, pid_file)
        finally:
            for path in (process, pid_file):
                path.unlink(missing_ok=True)
            launch.forget(bundle.io, name)

    def exit_code(self, container: Container, plan: ExecPlan, fallback: int) -> int:
        """The program's own code; a program that could not start raises in Windows' words."""
        report = launch.read_report(plan.io, plan.name)
        if report.failure is not None:
            raise StartError(container.id, report.failure, exec_id=plan.name)
        if report.exit_code is not None:
            return to_signed(report.exit_code)
        return fallback

    async def run(self, container: Container, command: Sequence[str], timeout: float) -> ExecResult:
        """Run to the end and keep the output; 0 seconds means no limit."""
        async with self.prepare(container, command, ExecOptions()) as plan:
            process = await asyncio.create_subprocess_exec(
                *plan.argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            try:
                async with asyncio.timeout(timeout or None), asyncio.TaskGroup() as group:
                    out = group.create_task(_read_some(process.stdout), name="exec-stdout")
                    err = group.create_task(_read_some(process.stderr), name="exec-stderr")
                    await process.wait()
            except TimeoutError:
                raise DeadlineError(
                    f"failed to exec in container: timeout {timeout:g}s exceeded: "
                    "context deadline exceeded"
                ) from None
            finally:
                await end_process(process, plan)
            code = self.exit_code(container, plan, process.returncode or 0)
            return ExecResult(out.result(), err.result(), code)


async def _read_some(stream: asyncio.StreamReader | None) -> bytes:
    """Read to the end and keep the beginning: a program may write without end."""
    kept = bytearray()
    while stream is not None and (data := await stream.read(_READ)):
        kept += data[: _OUTPUT_LIMIT - len(kept)]
    return bytes(kept)


async def end_process(process: asyncio.subprocess.Process, plan: ExecPlan) -> None:
    """End what still runs: the launcher inside first, which takes its program along."""
    if process.returncode is not None:
        return
    with contextlib.suppress(OSError, ValueError):
        os.kill(int(plan.pid_file.read_text()), signal.SIGKILL)
        async with asyncio.timeout(_END_SECONDS):
            await process.wait()
            return
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()


def load_env(io: Path) -> dict[str, str]:
    """The container's environment, as its own orders have it: an exec starts with the same."""
    data = launch.read_untrusted(io / "main.orders", _ORDERS_LIMIT)
    entries = (entry.decode(errors="replace") for entry in data.split(b"\0"))
    pairs = (entry.removeprefix("env=") for entry in entries if entry.startswith("env="))
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}
