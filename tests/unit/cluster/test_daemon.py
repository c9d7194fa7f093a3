"""When a prepared supervisor may begin."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from winkube.base.paths import Home
from winkube.cluster import daemon
from winkube.cluster.daemon import hear, to_word
from winkube.cluster.errors import StartError
from winkube.cluster.process import ProcessId, save_record
from winkube.cluster.spec import ClusterSpec
from winkube.cluster.state import ClusterState
from winkube.cluster.supervisor import SUPERVISOR, record_path

HOME = Home(Path("/there/state"), Path("/there/run"))
WORD = to_word(ClusterState(ClusterSpec(name="one"), "172.30.9.0/24", 6443, HOME))


@pytest.fixture
def state(tmp_path: Path) -> ClusterState:
    home = Home(tmp_path / "lib", tmp_path / "run")
    return ClusterState(ClusterSpec(name="slow"), "172.30.9.0/24", 6443, home)


def test_one_that_loads_slowly_is_waited_for(
    state: ClusterState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon, "_START_SECONDS", 0.0)
    word, tell = os.pipe()
    me = ProcessId.of(os.getpid())
    assert me is not None

    def load() -> None:
        os.read(word, 4096)
        time.sleep(0.1)  # longer than it has to begin
        save_record(record_path(state.paths.run / "pids", SUPERVISOR), me)
        os.close(word)

    loading = threading.Thread(target=load)
    loading.start()
    try:
        daemon._let_start(tell, state)
    finally:
        loading.join()
        os.close(tell)


def test_one_that_failed_to_load_is_not_waited_for(
    state: ClusterState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon, "_START_SECONDS", 0.0)
    word, tell = os.pipe()
    os.close(word)
    with pytest.raises(StartError):
        daemon._let_start(tell, state)
    os.close(tell)


def test_it_begins_on_the_word_of_a_command_that_waits_for_it() -> None:
    word, tell = os.pipe()
    os.write(tell, WORD)
    assert hear(word) == (HOME, "one")
    os.close(tell)
    os.close(word)


def test_it_does_not_begin_when_the_command_left_without_a_word() -> None:
    word, tell = os.pipe()
    os.close(tell)
    assert hear(word) is None
    os.close(word)


def test_the_last_word_of_a_killed_command_does_not_count() -> None:
    word, tell = os.pipe()
    os.write(tell, WORD)
    os.close(tell)
    assert hear(word) is None
    os.close(word)


def test_a_component_without_a_supervisor_is_ended_too(state: ClusterState) -> None:
    """The next one would not take it over if it is planned no longer."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as child:
        process = ProcessId.of(child.pid)
        assert process is not None
        save_record(record_path(state.paths.run / "pids", "one"), process)
        try:
            daemon.restart(state, "one")
            assert not process.alive
        finally:
            child.kill()
