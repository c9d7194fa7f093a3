"""Processes are known by pid and start time."""

import os
import subprocess
import sys
from pathlib import Path

from winkube.cluster.process import ProcessId, end, load_record, save_record


def test_a_record_names_one_process_for_ever(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    process = ProcessId.of(child.pid)
    assert process is not None
    record = tmp_path / "child.pid"
    save_record(record, process)
    assert load_record(record) == process
    end([process], grace=0.0)
    assert load_record(record) is None
    child.wait()


def test_a_reused_pid_is_not_the_same_process(tmp_path: Path) -> None:
    record = tmp_path / "self.pid"
    own = ProcessId.of(os.getpid())
    assert own is not None
    save_record(record, ProcessId(own.pid, own.started - 1))
    assert load_record(record) is None


def test_damaged_records_count_as_absent(tmp_path: Path) -> None:
    record = tmp_path / "x.pid"
    record.write_text("not a pid")
    assert load_record(record) is None
    assert load_record(tmp_path / "none.pid") is None
