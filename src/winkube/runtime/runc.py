"""Calls of runc and conmon.

conmon starts a container through runc and stays with it: it writes the log, keeps the attach socket
and leaves the exit code in a file. It is nobody's child, so the container outlives this process.
"""

import asyncio
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from winkube.aio import command
from winkube.base.errors import WinkubeError
from winkube.linux import cgroup

_SYNC_SECONDS: Final = 60


class MonitorError(WinkubeError):
    """conmon or runc could not make the container."""


@dataclass(frozen=True, slots=True)
class MonitorPlan:
    container_id: str
    bundle: Path
    log_path: Path
    exit_dir: Path
    attach_dir: Path
    cgroup: str  # where conmon itself lives
    stdin: bool = False
    stdin_once: bool = False
    tty: bool = False


@dataclass(frozen=True, slots=True)
class Runc:
    root: Path

    def argv(self, *args: str) -> list[str]:
        return ["runc", "--root", str(self.root), *args]

    async def start(self, container_id: str) -> None:
        await command.run(self.argv("start", container_id), timeout=_SYNC_SECONDS)

    async def kill(self, container_id: str, signal: str = "KILL") -> bool:
        """Signal every process of the container; False when there is no such container."""
        try:
            await command.run(
                self.argv("kill", "--all", container_id, signal), timeout=_SYNC_SECONDS
            )
        except command.CommandError:
            return False
        return True

    async def delete(self, container_id: str) -> None:
        """Remove what runc keeps; absent is fine."""
        await command.run(self.argv("delete", "--force", container_id), timeout=_SYNC_SECONDS)

    async def update(self, container_id: str, resources: dict[str, Any]) -> None:
        argv = self.argv("update", "--resources", "-", container_id)
        await command.run(argv, stdin=json.dumps(resources).encode(), timeout=_SYNC_SECONDS)

    def monitor_argv(self, plan: MonitorPlan) -> list[str]:
        argv = ["conmon", "--api-version", "1"]
        argv += ["--cid", plan.container_id, "--cuuid", plan.container_id]
        argv += [
            "--runtime",
            shutil.which("runc") or "/usr/sbin/runc",
            "--runtime-arg",
            f"--root={self.root}",
        ]
        argv += ["--bundle", str(plan.bundle)]
        argv += ["--container-pidfile", str(plan.bundle / "pid")]
        argv += ["--conmon-pidfile", str(plan.bundle / "conmon.pid")]
        argv += ["--exit-dir", str(plan.exit_dir), "--socket-dir-path", str(plan.attach_dir)]
        argv += ["--log-path", f"k8s-file:{plan.log_path}", "--log-level", "error"]
        argv += ["--no-sync-log"]
        argv += ["--terminal"] if plan.tty else []
        argv += ["--stdin"] if plan.stdin else []
        argv += ["--leave-stdin-open"] if plan.stdin and not plan.stdin_once else []
        return argv

    async def create(self, plan: MonitorPlan) -> int:
        """Have conmon create the container; the pid of its first process, which waits to start."""
        sync_read, sync_write = os.pipe()
        start_read, start_write = os.pipe()
        try:
            async with asyncio.timeout(_SYNC_SECONDS):
                await self._spawn(plan, sync_write, start_read, start_write)
                os.close(sync_write)
                sync_write = -1
                answer = await _read_line(os.dup(sync_read))
        finally:
            for fd in (sync_read, sync_write, start_read, start_write):
                if fd >= 0:
                    os.close(fd)
        return _parse_answer(answer)

    async def _spawn(self, plan: MonitorPlan, sync_fd: int, start_fd: int, go_fd: int) -> None:
        """Start conmon; it waits for a byte before it forks, so its group is the right one."""
        cgroup.ensure(plan.cgroup)
        env = {"PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")}
        env |= {"_OCI_SYNCPIPE": str(sync_fd), "_OCI_STARTPIPE": str(start_fd)}
        log = plan.bundle / "conmon.log"
        with log.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                *self.monitor_argv(plan),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=env,
                pass_fds=(sync_fd, start_fd),
                start_new_session=True,
            )
            cgroup.add(plan.cgroup, process.pid)
            os.write(go_fd, b"\0")
            code = await process.wait()
        if code != 0:
            words = log.read_text(errors="replace").strip()[-500:]
            raise MonitorError(f"conmon failed with code {code}: {words}")


async def _read_line(fd: int) -> bytes:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb", buffering=0)
    )
    try:
        return await reader.readline()
    finally:
        transport.close()


def _parse_answer(line: bytes) -> int:
    try:
        answer = json.loads(line)
    except ValueError:
        raise MonitorError("conmon ended without an answer") from None
    pid = answer.get("data", answer.get("pid", -1))
    if pid <= 0:
        raise MonitorError(answer.get("message") or f"the runtime failed with code {-pid}")
    return int(pid)
