"""Starting and stopping the supervisor of a cluster from a command.

Imported before anything else of a command that starts one, so it imports little itself: the fork
loads beside the command what both do not have in common.
"""

import contextlib
import json
import logging
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from winkube.base.paths import Home
from winkube.cluster.errors import StartError
from winkube.cluster.preload import Preload
from winkube.cluster.process import ProcessId, end, load_record
from winkube.cluster.state import ClusterState, load_state
from winkube.cluster.supervisor import (
    SUPERVISOR,
    Supervisor,
    SupervisorConfig,
    record_path,
    redirect_output,
)

log = logging.getLogger(__name__)

# To load its code, which a busy machine reads slowly, and then to begin.
_LOAD_SECONDS: Final = 120.0
_START_SECONDS: Final = 30.0
_STOP_SECONDS: Final = 10.0


def running_supervisor(state: ClusterState) -> ProcessId | None:
    return load_record(record_path(state.paths.run / "pids", SUPERVISOR))


def spawn_supervisor(state: ClusterState) -> None:
    """Start a supervisor that outlives us and wait until it has said who it is."""
    with prepared_supervisor() as start:
        start(state)


@contextmanager
def prepared_supervisor() -> Iterator[Callable[[ClusterState], None]]:
    """A supervisor that loads its code beside us, and begins when the value is called.

    A fork, not a new interpreter: it has everything this process has loaded already. If we die, or
    leave without the call, its pipe closes and it goes without a trace.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    word, tell = os.pipe()
    middle = os.fork()
    if middle == 0:
        os.close(tell)
        _become_supervisor(word)
    os.close(word)
    os.waitpid(middle, 0)
    try:
        yield partial(_let_start, tell)
    finally:
        os.close(tell)


def restart(state: ClusterState, component: str) -> None:
    """Let a supervisor that runs already plan anew, and begin this one again as planned.

    It is ended without one, too: the next takes over only what is still planned.
    """
    supervisor = running_supervisor(state)
    if supervisor is not None:
        supervisor.send(signal.SIGHUP)
    process = load_record(record_path(state.paths.run / "pids", component))
    end([process] if process is not None else [], grace=_STOP_SECONDS)


def _let_start(tell: int, state: ClusterState) -> None:
    if running_supervisor(state) is not None:
        return
    with contextlib.suppress(BrokenPipeError):  # it failed before this, and said why
        os.write(tell, to_word(state))
    await_end(tell, _LOAD_SECONDS)
    deadline = time.monotonic() + _START_SECONDS
    while running_supervisor(state) is None:
        if time.monotonic() > deadline:
            raise StartError("the supervisor", _START_SECONDS, state.paths.logs / "supervisor.log")
        time.sleep(0.002)


def await_end(tell: int, seconds: float) -> None:
    """Wait until nobody listens any more: the supervisor has begun by then, or failed to."""
    poll = select.poll()
    poll.register(tell, 0)
    poll.poll(seconds * 1000)


def _become_supervisor(word: int) -> None:
    try:
        os.setsid()
        os.chdir("/")
        os.umask(0o077)
        _close_inherited(keep=word)
        if os.fork():
            os._exit(0)
        code = Preload()
        code.load_while(partial(_is_quiet, word))
        place = hear(word)
        if place is not None:
            os.close(word)
            state = load_state(*place)
            redirect_output(state.paths.logs / "supervisor.log")
            Supervisor(supervisor_config(state, code)).run()
    except BaseException:
        log.exception("supervisor failed")
        raise
    finally:
        sys.stderr.flush()
        os._exit(0)


def to_word(state: ClusterState) -> bytes:
    """Which cluster to begin with; shorter than what a pipe takes in one piece."""
    home = state.home
    return json.dumps(
        [str(home.state.absolute()), str(home.run.absolute()), state.spec.name]
    ).encode()


def hear(word: int) -> tuple[Home, str] | None:
    """Wait for the word to begin; it counts only while the one who said it is still there.

    A command that was killed right after it may have been followed by ``down``, which leaves
    nothing to begin with.
    """
    said = os.read(word, select.PIPE_BUF)
    poll = select.poll()
    poll.register(word, 0)
    if not said or poll.poll(0):
        return None
    state, run, name = json.loads(said)
    return Home(Path(state), Path(run)), name


def _is_quiet(word: int) -> bool:
    """Whether there is nothing to hear yet, not even that nobody will say anything."""
    poll = select.poll()
    poll.register(word, select.POLLIN)
    return not poll.poll(0)


def _close_inherited(*, keep: int) -> None:
    """Keep no lock or socket of the command that started us."""
    for entry in list(Path("/proc/self/fd").iterdir()):
        if int(entry.name) > 2 and int(entry.name) != keep:
            with contextlib.suppress(OSError):  # the listing's own descriptor is closed by now
                os.close(int(entry.name))


def supervisor_config(state: ClusterState, code: Preload) -> SupervisorConfig:
    from winkube.cluster.components import cgroup_of, plan_components

    return SupervisorConfig(
        cluster=state.spec.name,
        records=state.paths.run / "pids",
        logs=state.paths.logs,
        cgroup=cgroup_of(state, "system"),
        plan=lambda: plan_components(load_state(state.home, state.spec.name)),
        load=code.load,
    )
