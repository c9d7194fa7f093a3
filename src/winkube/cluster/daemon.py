"""Starting and stopping the supervisor of a cluster from a command."""

import contextlib
import os
import sys
import time
from pathlib import Path
from typing import Final

from winkube.cluster.components import cgroup_of, plan_components
from winkube.cluster.errors import StartError
from winkube.cluster.process import ProcessId, end, load_record
from winkube.cluster.state import ClusterState
from winkube.cluster.supervisor import (
    SUPERVISOR,
    Supervisor,
    SupervisorConfig,
    record_path,
    redirect_output,
)

_START_SECONDS: Final = 10.0
_STOP_SECONDS: Final = 10.0


def running_supervisor(state: ClusterState) -> ProcessId | None:
    return load_record(record_path(state.paths.run / "pids", SUPERVISOR))


def spawn_supervisor(state: ClusterState) -> None:
    """Start a supervisor that outlives us and wait until it has said who it is.

    A fork, not a new interpreter: it starts with everything this process has already loaded.
    """
    if running_supervisor(state) is not None:
        return
    sys.stdout.flush()
    sys.stderr.flush()
    middle = os.fork()
    if middle == 0:
        _become_supervisor(state)
    os.waitpid(middle, 0)
    deadline = time.monotonic() + _START_SECONDS
    while running_supervisor(state) is None:
        if time.monotonic() > deadline:
            raise StartError("the supervisor", _START_SECONDS, state.paths.logs / "supervisor.log")
        time.sleep(0.002)


def _become_supervisor(state: ClusterState) -> None:
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.chdir("/")
        os.umask(0o077)
        redirect_output(state.paths.logs / "supervisor.log")
        _close_inherited()
        Supervisor(supervisor_config(state)).run()
    finally:
        sys.stderr.flush()
        os._exit(0)


def _close_inherited() -> None:
    """Keep no lock or socket of the command that started us."""
    for entry in list(Path("/proc/self/fd").iterdir()):
        if int(entry.name) > 2:
            with contextlib.suppress(OSError):  # the listing's own descriptor is closed by now
                os.close(int(entry.name))


def supervisor_config(state: ClusterState) -> SupervisorConfig:
    return SupervisorConfig(
        cluster=state.spec.name,
        records=state.paths.run / "pids",
        logs=state.paths.logs,
        cgroup=cgroup_of(state, "system"),
        components=plan_components(state),
    )


def stop_supervisor(state: ClusterState) -> None:
    """End the supervisor, which ends its components, the guard among them, before it goes."""
    guard_record = record_path(state.paths.run / "pids", "guard")
    while left := [p for p in (running_supervisor(state), load_record(guard_record)) if p]:
        # A guard without a supervisor is about to start one: whoever comes first is ended first.
        end(left[:1], grace=_STOP_SECONDS)
