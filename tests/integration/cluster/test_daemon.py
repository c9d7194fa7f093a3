"""The supervisor loads beside the command that starts it and begins only on its word."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_SECONDS = 20.0
# In a process of its own: one that runs tests has loaded what must not be forked.
_COMMAND = """
import sys
from winkube.cluster.daemon import prepared_supervisor

with prepared_supervisor():
    print("prepared", flush=True)
    sys.stdin.read()
"""


@contextmanager
def _command(folder: Path) -> Iterator[subprocess.Popen[str]]:
    argv = [sys.executable, "-c", _COMMAND]
    with (
        (folder / "said").open("w") as said,
        subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True
        ) as command,
    ):
        assert command.stdout is not None
        assert command.stdout.readline() == "prepared\n"
        yield command


def _holders(path: Path) -> set[int]:
    """The processes that have this file open."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            links = [link.readlink() for link in (process / "fd").iterdir()]
        except OSError:
            continue
        if path in links:
            found.add(int(process.name))
    return found - {os.getpid()}


@pytest.mark.parametrize("killed", [False, True], ids=["that leaves", "that is killed"])
def test_the_prepared_supervisor_of_a_command_goes_without_a_trace(
    tmp_path: Path, killed: bool
) -> None:
    said = tmp_path / "said"
    with _command(tmp_path) as command:
        assert _holders(said) - {command.pid}
        if killed:
            command.kill()
    deadline = time.monotonic() + _SECONDS
    while _holders(said):
        assert time.monotonic() < deadline, f"{_holders(said)} did not go"
        os.sched_yield()
    assert said.read_text() == ""


def test_an_up_that_is_refused_says_only_why(tmp_path: Path) -> None:
    env = {
        **os.environ,
        "WINKUBE_HOME": str(tmp_path / "lib"),
        "WINKUBE_RUN": str(tmp_path / "run"),
    }
    argv = [sys.executable, "-m", "winkube", "up", "--name", "No_Name"]
    # The end of its output is the end of the supervisor that was being prepared, too.
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=_SECONDS * 3)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("winkube: cluster name 'No_Name' is not valid")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
