"""The supervisor loads beside the command that starts it and begins only on its word."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from winkube.base.paths import Home

_SECONDS = 20.0
# In a process of its own: one that runs tests has loaded what must not be forked.
_COMMAND = """
import sys
from pathlib import Path
from winkube.base.paths import Home
from winkube.cluster.daemon import prepared_supervisor
from winkube.cluster.spec import ClusterSpec
from winkube.cluster.state import ClusterState

home = Home(Path(sys.argv[1], "lib"), Path(sys.argv[1], "run"))
state = ClusterState(ClusterSpec(name="prepared"), "172.30.9.0/24", 6443, home)
with prepared_supervisor(state):
    print("prepared", flush=True)
    sys.stdin.read()
"""


@contextmanager
def _command(folder: Path) -> Iterator[subprocess.Popen[str]]:
    argv = [sys.executable, "-c", _COMMAND, str(folder)]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as command:
        assert command.stdout is not None
        assert command.stdout.readline() == "prepared\n"
        yield command


def _holders(path: Path) -> list[int]:
    """The processes that have this file open."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            links = [link.readlink() for link in (process / "fd").iterdir()]
        except OSError:
            continue
        if path in links:
            found.append(int(process.name))
    return found


@pytest.mark.parametrize("killed", [False, True], ids=["that leaves", "that is killed"])
def test_the_prepared_supervisor_of_a_command_goes_without_a_trace(
    tmp_path: Path, killed: bool
) -> None:
    paths = Home(tmp_path / "lib", tmp_path / "run").cluster("prepared")
    log = paths.logs / "supervisor.log"
    with _command(tmp_path) as command:
        assert _holders(log)
        assert command.pid not in _holders(log)
        if killed:
            command.kill()
    deadline = time.monotonic() + _SECONDS
    while _holders(log):
        assert time.monotonic() < deadline, f"{_holders(log)} did not go"
        os.sched_yield()
    assert log.read_text() == ""
    assert not paths.run.exists()
