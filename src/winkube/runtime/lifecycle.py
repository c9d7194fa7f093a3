"""Containers as processes: create, start, notice the end, stop, take over after a restart.

Theory of operation: a container is CREATED (files exist), RUNNING (conmon watches it) or EXITED.
The end of a container is the end of its conmon, seen through a pidfd, because conmon leaves the
exit file before it goes. Everything the next process needs to take over is on disk by then.
"""

import asyncio
import contextlib
import json
import logging
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from winkube.aio.command import CommandError
from winkube.base.clock import Clock
from winkube.linux import cgroup
from winkube.machines.wine.recipe import WINE_BINARY
from winkube.runtime import launch
from winkube.runtime.account import WRONG_NAME, find_account
from winkube.runtime.config import RuntimeConfig
from winkube.runtime.errors import RuntimeServiceError, StartError
from winkube.runtime.rootfs import Bundle, RootfsMaker
from winkube.runtime.runc import MonitorError, MonitorPlan, Runc
from winkube.runtime.spec import ContainerSpec, Limits, plan_resources, to_process, to_spec
from winkube.runtime.state import Container, ContainerState, Records, Sandbox

log = logging.getLogger(__name__)

MAIN: Final = "main"  # the name of the first process's orders and report
_POLL: Final = 0.01
_START_SECONDS: Final = 90
_KILL_SECONDS: Final = 20
# ERROR_COMMITMENT_LIMIT and HCS_E_CONNECTION_TIMEOUT
_NO_MEMORY: Final = "The paging file is too small for this operation to complete."
_NO_ANSWER: Final = (
    "The operation timed out because a response was not received from the virtual machine or "
    "container."
)
_START_FAILED: Final = 128  # the exit code containerd gives a container that never ran
_LOST: Final = 255


class Lifecycle:
    def __init__(
        self,
        config: RuntimeConfig,
        records: Records[Container],
        rootfs: RootfsMaker,
        clock: Clock,
    ) -> None:
        self._config = config
        self._records = records
        self._rootfs = rootfs
        self._clock = clock
        self._runc = Runc(config.runc_root)
        self._ended: asyncio.Queue[str] = asyncio.Queue()
        self._exits: dict[str, asyncio.Event] = {}
        self._watched: dict[str, int] = {}

    async def run(self) -> None:
        """Finish containers as they end, until cancelled."""
        try:
            while True:
                container = self._records.find(await self._ended.get())
                if container is not None and container.state is ContainerState.RUNNING:
                    await self._finish(container)
        finally:
            for container_id in list(self._watched):
                self._unwatch(container_id)

    def cgroup_of(self, container: Container) -> str:
        return f"{self._config.cgroup_parent}/{container.sandbox_id}/{container.id}"

    def exit_event(self, container_id: str) -> asyncio.Event:
        return self._exits.setdefault(container_id, asyncio.Event())

    # Making and starting

    def prepare(self, container: Container, sandbox: Sandbox, env: dict[str, str]) -> None:
        """Lay out the files: overlay, volumes, orders and the runc bundle."""
        bundle = self._rootfs.mount(container)
        config = container.config
        orders = launch.Orders(
            command=container.command,
            cwd=config.working_dir or "C:\\",
            env=env,
            stdin=config.stdin,
            tty=config.tty,
        )
        args = launch.write_orders(bundle.io, MAIN, orders)
        spec = ContainerSpec(
            rootfs=bundle.rootfs,
            args=args,
            hostname=sandbox.config.hostname or self._config.node_name,
            netns=Path(sandbox.netns),
            cgroup=self.cgroup_of(container),
            user=container.user,
            binds=self._rootfs.plan_binds(container, sandbox, bundle),
            limits=Limits(**container.resources),
            tty=config.tty,
        )
        (bundle.folder / "config.json").write_text(json.dumps(to_spec(spec)))
        (bundle.folder / "config.json").chmod(0o600)

    async def start(self, container: Container, sandbox: Sandbox) -> None:
        """Start the program; returns once it runs, raises in Windows' words when it does not."""
        bundle = self._rootfs.bundle(container.id)
        cgroup.ensure(f"{self._config.cgroup_parent}/{container.sandbox_id}")
        try:
            if find_account(container.user) is None:
                raise StartError(container.id, WRONG_NAME)
            container.pid = await self._runc.create(self._plan_monitor(container, sandbox, bundle))
            container.monitor_pid = int((bundle.folder / "conmon.pid").read_text())
            self._mark_running(container)
            await self._runc.start(container.id)
            await self._await_report(container, bundle)
        except (MonitorError, CommandError, OSError, TimeoutError) as error:
            words = str(error) or _NO_ANSWER
            await self._abort(container, words)
            raise StartError(container.id, words) from error
        except StartError as error:
            await self._abort(container, str(error))
            raise
        except asyncio.CancelledError:
            # The caller went away: nobody would ever look after what is half started.
            await asyncio.shield(self._abort(container, "the start was given up"))
            raise

    def _mark_running(self, container: Container) -> None:
        container.state = ContainerState.RUNNING
        container.started_at = self._now()
        self._records.save(container)
        self.watch(container)

    def _plan_monitor(self, container: Container, sandbox: Sandbox, bundle: Bundle) -> MonitorPlan:
        config = container.config
        log_path = bundle.folder / "log"
        if config.log_path and sandbox.config.log_directory:
            log_path = Path(sandbox.config.log_directory) / config.log_path
        log_path.parent.mkdir(parents=True, exist_ok=True)
        for folder in (self._config.exits, self._config.attach):
            folder.mkdir(parents=True, exist_ok=True)
        return MonitorPlan(
            container_id=container.id,
            bundle=bundle.folder,
            log_path=log_path,
            exit_dir=self._config.exits,
            attach_dir=self._config.attach,
            cgroup=f"{self._config.cgroup_parent}/{container.sandbox_id}/monitor",
            stdin=config.stdin,
            stdin_once=config.stdin_once,
            tty=config.tty,
        )

    async def _await_report(self, container: Container, bundle: Bundle) -> None:
        ended = self.exit_event(container.id)
        async with asyncio.timeout(_START_SECONDS):
            while True:
                report = launch.read_report(bundle.io, MAIN)
                if report.failure is not None:
                    raise StartError(container.id, report.failure)
                if report.started:
                    return
                # Whatever the kernel took, the rest would wait for: Windows refuses in these words.
                if cgroup.oom_kills(self.cgroup_of(container)):
                    raise StartError(container.id, _NO_MEMORY)
                if ended.is_set():
                    raise StartError(container.id, "the container ended before its program began")
                await asyncio.sleep(_POLL)

    async def _abort(self, container: Container, words: str) -> None:
        """The start failed: leave an exited container, as containerd does."""
        self._unwatch(container.id)
        await self._clean_processes(container)
        container.state = ContainerState.EXITED
        container.started_at = container.started_at or self._now()
        container.finished_at = self._now()
        container.exit_code = _START_FAILED
        container.reason, container.message = "StartError", words
        self._records.save(container)
        self.exit_event(container.id).set()

    # Ending

    def watch(self, container: Container) -> None:
        """Notice when the container's monitor ends; at once when it has ended already."""
        try:
            fd = _open_monitor(container)
        except OSError:
            self._ended.put_nowait(container.id)
            return
        self._watched[container.id] = fd
        asyncio.get_running_loop().add_reader(fd, self._on_monitor_end, container.id)

    def _on_monitor_end(self, container_id: str) -> None:
        self._unwatch(container_id)
        self._ended.put_nowait(container_id)

    def _unwatch(self, container_id: str) -> None:
        fd = self._watched.pop(container_id, None)
        if fd is not None:
            asyncio.get_running_loop().remove_reader(fd)
            os.close(fd)

    async def _finish(self, container: Container) -> None:
        container.exit_code = self._exit_code(container.id)
        container.state = ContainerState.EXITED
        container.finished_at = self._now()
        container.reason = "Completed" if container.exit_code == 0 else "Error"
        self._records.save(container)
        self.exit_event(container.id).set()
        log.info("container ended", extra={"container": container.id, "code": container.exit_code})
        await self._clean_processes(container)

    async def _clean_processes(self, container: Container) -> None:
        with contextlib.suppress(CommandError):
            await self._runc.delete(container.id)
        await asyncio.to_thread(end_group, self.cgroup_of(container))
        self._rootfs.unmount(container.id)

    def _exit_code(self, container_id: str) -> int:
        """What the launcher reported, all 32 bits of it; else what the kernel kept."""
        report = launch.read_report(self._rootfs.bundle(container_id).io, MAIN)
        if report.exit_code is not None:
            return to_signed(report.exit_code)
        try:
            return int((self._config.exits / container_id).read_text())
        except (OSError, ValueError):
            return _LOST

    async def stop(self, container: Container, timeout: float) -> None:
        """Tell the programs that Windows shuts down, wait, then end what is left."""
        if container.state is not ContainerState.RUNNING:
            return
        ended = self.exit_event(container.id)
        if timeout > 0:
            async with self._shutdown_call(container):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(timeout):
                        await ended.wait()
        if not ended.is_set():
            await self._runc.kill(container.id)
            await asyncio.to_thread(cgroup.kill_all, self.cgroup_of(container))
            async with asyncio.timeout(_KILL_SECONDS):
                await ended.wait()

    @asynccontextmanager
    async def _shutdown_call(self, container: Container) -> AsyncIterator[None]:
        """Run the launcher's stop order in the container for as long as the block takes."""
        spec = self._rootfs.bundle(container.id).folder / "stop.json"
        args = [WINE_BINARY, launch.LAUNCHER, "--stop"]
        spec.write_text(json.dumps(to_process(args, container.user)))
        process = await asyncio.create_subprocess_exec(
            *self._runc.argv("exec", "--process", str(spec), container.id),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()

    # After a restart

    async def adopt(self, container: Container) -> None:
        """Take over a container of an earlier process of ours, running or not."""
        bundle = self._rootfs.bundle(container.id)
        if container.state is ContainerState.EXITED:
            self.exit_event(container.id).set()
        elif launch.read_report(bundle.io, MAIN).started:
            # Also one whose start was cut off after the program had begun: it runs.
            if container.state is ContainerState.CREATED:
                container.monitor_pid = _read_pid(bundle.folder / "conmon.pid")
                container.started_at = self._now()
            container.state = ContainerState.RUNNING
            self._records.save(container)
            self.watch(container)
        elif container.state is ContainerState.RUNNING or not _is_fresh(bundle.folder):
            await self._abort(container, "the runtime was restarted while the container started")

    async def remove(self, container: Container) -> None:
        await self.stop(container, 0)
        await self._clean_processes(container)
        self._records.drop(container.id)
        await asyncio.to_thread(self._rootfs.remove, container.id)
        (self._config.exits / container.id).unlink(missing_ok=True)
        (self._config.attach / container.id).unlink(missing_ok=True)
        self._exits.pop(container.id, None)

    async def update(self, container: Container, limits: dict[str, int]) -> None:
        """Change the limits; zero leaves a limit as it is."""
        container.resources = container.resources | {k: v for k, v in limits.items() if v}
        self._records.save(container)
        if container.state is ContainerState.RUNNING:
            resources = plan_resources(Limits(**container.resources), os.cpu_count() or 1)
            await self._runc.update(container.id, resources)

    def reopen_log(self, container: Container) -> None:
        """Have conmon close and open its log: the kubelet has renamed the file."""
        if container.state is not ContainerState.RUNNING:
            raise RuntimeServiceError("container is not running")
        fd = os.open(self._rootfs.bundle(container.id).folder / "ctl", os.O_WRONLY | os.O_NONBLOCK)
        with os.fdopen(fd, "wb") as control:
            control.write(b"2 0 0\n")

    def _now(self) -> int:
        return int(self._clock.now() * 1e9)


def _open_monitor(container: Container) -> int:
    """A handle on the monitor; after a reboot its number may belong to somebody else."""
    fd = os.pidfd_open(container.monitor_pid)
    words = Path(f"/proc/{container.monitor_pid}/cmdline").read_bytes().split(b"\0")
    if container.id.encode() not in words:
        os.close(fd)
        raise ProcessLookupError(container.monitor_pid)
    return fd


def _read_pid(path: Path) -> int:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return 0


def _is_fresh(bundle: Path) -> bool:
    """Whether a container waits for its start: its files are there and no monitor ever was."""
    return (bundle / "config.json").exists() and not (bundle / "conmon.pid").exists()


def end_group(path: str) -> None:
    """Kill what is left in a control group and remove it; one that does not die is left there."""
    try:
        cgroup.kill_all(path)
        cgroup.remove(path)
    except cgroup.CgroupBusyError as error:
        log.warning("control group stays", extra={"error": str(error)})


def to_signed(code: int) -> int:
    """CRI's exit code is a signed 32-bit number; Windows' is unsigned."""
    return code - (1 << 32) if code >= 1 << 31 else code
