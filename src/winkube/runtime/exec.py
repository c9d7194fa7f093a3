"""Further programs in a running container: each is a launcher of its own, joined by runc."""

import asyncio
import contextlib
import json
import secrets
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


@dataclass(frozen=True, slots=True)
class ExecPlan:
    """A process that is ready to be started; ``name`` is that of its orders and report."""

    name: str
    argv: tuple[str, ...]
    io: Path


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
        self,
        container: Container,
        command: Sequence[str],
        *,
        tty: bool = False,
        stdin: bool = False,
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
            stdin=stdin,
            tty=tty,
        )
        args = launch.write_orders(bundle.io, name, orders)
        process = bundle.folder / f"{name}.json"
        process.write_text(json.dumps(to_process(args, container.user, tty=tty)))
        argv = self._runc.argv("exec", "--process", str(process))
        argv += ["--tty"] if tty else []
        try:
            yield ExecPlan(name, (*argv, container.id), bundle.io)
        finally:
            process.unlink(missing_ok=True)
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
        async with self.prepare(container, command) as plan:
            process = await asyncio.create_subprocess_exec(
                *plan.argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            try:
                async with asyncio.timeout(timeout or None):
                    out, err = await process.communicate()
            except TimeoutError:
                raise DeadlineError(
                    f"failed to exec in container: timeout {timeout:g}s exceeded: "
                    "context deadline exceeded"
                ) from None
            finally:
                await end_process(process)
            code = self.exit_code(container, plan, process.returncode or 0)
            return ExecResult(out[:_OUTPUT_LIMIT], err[:_OUTPUT_LIMIT], code)


async def end_process(process: asyncio.subprocess.Process) -> None:
    """Kill what still runs; runc passes the end on to the process inside."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def load_env(io: Path) -> dict[str, str]:
    """The container's environment, as its own orders have it: an exec starts with the same."""
    try:
        data = (io / "main.orders").read_bytes()
    except OSError:
        return {}
    entries = (entry.decode(errors="replace") for entry in data.split(b"\0"))
    pairs = (entry.removeprefix("env=") for entry in entries if entry.startswith("env="))
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}
