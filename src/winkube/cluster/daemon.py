"""Starting and stopping the supervisor of a cluster from a command."""

import contextlib
import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from winkube.cluster.components import cgroup_of, plan_components
from winkube.cluster.errors import StartError
from winkube.cluster.preload import preload
from winkube.cluster.process import ProcessId, load_record
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
    """Start a supervisor that outlives us and wait until it has said who it is."""
    with prepared_supervisor(state) as start:
        start()


@contextmanager
def prepared_supervisor(state: ClusterState) -> Iterator[Callable[[], None]]:
    """A supervisor that loads its code beside us and begins when the value is called.

    A fork, not a new interpreter: it has everything this process has loaded already. If we die, or
    leave without the call, its pipe closes and it goes without a trace.
    """
    if running_supervisor(state) is not None:
        yield lambda: None
        return
    sys.stdout.flush()
    sys.stderr.flush()
    word, tell = os.pipe()
    middle = os.fork()
    if middle == 0:
        os.close(tell)
        _become_supervisor(state, word)
    os.close(word)
    os.waitpid(middle, 0)
    try:
        yield partial(_let_start, state, tell)
    finally:
        os.close(tell)


def _let_start(state: ClusterState, tell: int) -> None:
    with contextlib.suppress(BrokenPipeError):  # it failed before this; its log says why
        os.write(tell, b"!")
    deadline = time.monotonic() + _START_SECONDS
    while running_supervisor(state) is None:
        if time.monotonic() > deadline:
            raise StartError("the supervisor", _START_SECONDS, state.paths.logs / "supervisor.log")
        time.sleep(0.002)


def _become_supervisor(state: ClusterState, word: int) -> None:
    try:
        os.setsid()
        os.chdir("/")
        os.umask(0o077)
        # Before we are on our own: whoever waits for our parent knows that no file comes later.
        redirect_output(state.paths.logs / "supervisor.log")
        _close_inherited(keep=word)
        if os.fork():
            os._exit(0)
        preload()
        if is_told(word):
            os.close(word)
            Supervisor(supervisor_config(state)).run()
    finally:
        sys.stderr.flush()
        os._exit(0)


def is_told(word: int) -> bool:
    """Wait for the word to begin; it counts only while the one who said it is still there.

    A command that was killed right after it may have been followed by ``down``, which leaves
    nothing to begin with.
    """
    said = os.read(word, 1)
    poll = select.poll()
    poll.register(word, 0)
    return bool(said) and not poll.poll(0)


def _close_inherited(*, keep: int) -> None:
    """Keep no lock or socket of the command that started us."""
    for entry in list(Path("/proc/self/fd").iterdir()):
        if int(entry.name) > 2 and int(entry.name) != keep:
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
