"""The one parent of a cluster's processes.

Theory of operation. The supervisor is single-threaded and has no event loop, so that it may fork at
any time. It imports what every component needs once; a component is a fork, which costs
milliseconds and shares that memory. Each running component has a record (pid and start time); a new
supervisor adopts every live one, so killing the supervisor disturbs nobody. It waits on pidfds,
which work for adopted processes too. A component that ends is started again, at once the first
time, then with back-off. One component, the guard, watches the supervisor itself and replaces it.
SIGHUP lets it plan anew: what is new is started, what is gone is ended, and whoever starts after
that does so as planned then.
"""

import contextlib
import logging
import os
import select
import selectors
import signal
import sys
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import setproctitle

from winkube.aio.backoff import Backoff
from winkube.base import log as logs
from winkube.cluster.process import ProcessId, end, load_record, save_record
from winkube.linux import cgroup, netns

log = logging.getLogger(__name__)

SUPERVISOR: Final = "supervisor"
GUARD: Final = "guard"
_BACKOFF: Final = Backoff(first=0.1, factor=2.0, ceiling=15.0)
_STEADY_SECONDS: Final = 30.0  # one that ran this long starts over with the first delay
_STOP_GRACE: Final = 4.0
_URGENT_NICENESS: Final = -10


@dataclass(frozen=True, slots=True)
class Component:
    """One process: where it runs and what it does; ``main`` never returns."""

    name: str
    main: Callable[[], NoReturn]
    network: str = ""  # network namespace; empty is the host's own
    log_name: str = ""
    urgent: bool = False  # the others wait for it: it goes first when processors are short
    needs: Collection[str] = ()  # the modules it begins with


@dataclass(frozen=True, slots=True)
class SupervisorConfig:
    cluster: str
    records: Path
    logs: Path
    cgroup: str
    plan: Callable[[], Sequence[Component]]
    load: Callable[[Collection[str]], None]  # once each, whoever asks


@dataclass(slots=True)
class _Running:
    component: Component
    process: ProcessId
    pidfd: int
    since: float


class Supervisor:
    def __init__(self, config: SupervisorConfig) -> None:
        self._config = config
        self._components: Sequence[Component] = ()
        self._running: dict[str, _Running] = {}
        self._failures: dict[str, int] = {}
        self._due: dict[str, float] = {}
        self._stopping = False
        self._changed = False
        self._selector = selectors.DefaultSelector()

    def run(self) -> None:
        """Keep every component running until told to stop."""
        setproctitle.setproctitle(f"winkube: {self._config.cluster} supervisor")
        cgroup.ensure(self._config.cgroup)
        cgroup.add(self._config.cgroup, os.getpid())
        wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_write)
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        signal.signal(signal.SIGHUP, self._plan_anew)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(wake_read, selectors.EVENT_READ, None)
        # Whoever finds it may send signals; whoever does not has changed the plan before this.
        save_record(record_path(self._config.records, SUPERVISOR), _self())
        self._components = self._config.plan()
        # The first child of many would otherwise take the processor from those not yet started.
        _set_niceness(_URGENT_NICENESS)
        for component in self._components:
            if not self._adopt(component):
                self._start(component)
        while not self._stopping:
            self._step(wake_read)
        self._end_all()

    def _stop(self, *_: object) -> None:
        self._stopping = True

    def _plan_anew(self, *_: object) -> None:
        self._changed = True

    def _change(self) -> None:
        self._changed = False
        before = {component.name for component in self._components}
        self._components = self._config.plan()
        gone = before - {component.name for component in self._components}
        end([self._running[n].process for n in gone if n in self._running], grace=_STOP_GRACE)
        for component in self._components:
            if component.name not in before:
                self._start(component)

    def _step(self, wake: int) -> None:
        now = time.monotonic()
        waits = [due - now for due in self._due.values()]
        for key, _ in self._selector.select(max(0.0, min(waits)) if waits else None):
            if key.fileobj == wake:
                os.read(wake, 4096)
            else:
                self._ended(key.data)
        _reap()
        if self._changed and not self._stopping:
            self._change()
        now = time.monotonic()
        for name in [name for name, due in self._due.items() if due <= now and not self._stopping]:
            del self._due[name]
            for component in self._components:
                if component.name == name:
                    self._start(component)

    def _adopt(self, component: Component) -> bool:
        process = load_record(record_path(self._config.records, component.name))
        if process is None:
            return False
        self._watch(component, process)
        log.info("component adopted", extra={"component": component.name, "pid": process.pid})
        return True

    def _start(self, component: Component) -> None:
        self._config.load(component.needs)
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            self._become(component)
        process = ProcessId.of(pid)
        if process is None:  # it ended before we could look
            self._schedule(component.name, ran=0.0)
            return
        save_record(record_path(self._config.records, component.name), process)
        self._watch(component, process)
        log.info("component started", extra={"component": component.name, "pid": pid})

    def _watch(self, component: Component, process: ProcessId) -> None:
        try:
            pidfd = os.pidfd_open(process.pid)
        except ProcessLookupError:
            self._schedule(component.name, ran=0.0)
            return
        running = _Running(component, process, pidfd, time.monotonic())
        self._running[component.name] = running
        self._selector.register(pidfd, selectors.EVENT_READ, running)

    def _ended(self, running: _Running) -> None:
        self._selector.unregister(running.pidfd)
        os.close(running.pidfd)
        self._running.pop(running.component.name, None)
        log.warning("component ended", extra={"component": running.component.name})
        if all(running.component.name != wanted.name for wanted in self._components):
            record_path(self._config.records, running.component.name).unlink(missing_ok=True)
            return
        self._schedule(running.component.name, ran=time.monotonic() - running.since)

    def _schedule(self, name: str, *, ran: float) -> None:
        failures = self._failures[name] = (
            1 if ran > _STEADY_SECONDS else self._failures.get(name, 0) + 1
        )
        delay = 0.0 if failures == 1 else _BACKOFF.delay(failures - 1)
        self._due[name] = time.monotonic() + delay

    def _end_all(self) -> None:
        """Stop all at once: every component tolerates the absence of every other."""
        end([running.process for running in self._running.values()], grace=_STOP_GRACE)
        _reap()
        for name in (*self._running, SUPERVISOR):
            record_path(self._config.records, name).unlink(missing_ok=True)

    def _become(self, component: Component) -> NoReturn:
        """Turn this fork into the component; nothing of the supervisor stays."""
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            self._selector.close()
            for running in self._running.values():
                os.close(running.pidfd)
            redirect_output(self._config.logs / f"{component.log_name or component.name}.log")
            setproctitle.setproctitle(f"winkube: {self._config.cluster} {component.name}")
            _set_niceness(_URGENT_NICENESS if component.urgent else 0)
            if component.network:
                netns.enter_netns(netns.netns_path(component.network))
            component.main()
        except BaseException:
            logging.getLogger(__name__).exception("component failed")
            raise
        finally:
            sys.stderr.flush()
            os._exit(1)


def record_path(records: Path, name: str) -> Path:
    return records / f"{name}.pid"


def redirect_output(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    os.close(null)
    logs.configure()


def wait_for_end(process: ProcessId) -> None:
    """Block until this process is gone (it need not be our child)."""
    try:
        pidfd = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        if process.alive:
            select.select([pidfd], [], [])
    finally:
        os.close(pidfd)


def _set_niceness(value: int) -> None:
    with contextlib.suppress(PermissionError):  # a container may lack the right; it is a courtesy
        os.setpriority(os.PRIO_PROCESS, 0, value)


def _self() -> ProcessId:
    process = ProcessId.of(os.getpid())
    assert process is not None
    return process


def _reap() -> None:
    """Collect ended children of ours, whoever they were."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return
