"""Components come back, whoever is killed, and live ones are adopted, not restarted."""

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from winkube.cluster.process import ProcessId, end, load_record
from winkube.cluster.supervisor import (
    SUPERVISOR,
    Component,
    Supervisor,
    SupervisorConfig,
    record_path,
)
from winkube.linux import cgroup

pytestmark = pytest.mark.root


def sleep_for_ever() -> NoReturn:
    while True:
        time.sleep(60)


def fail_at_once() -> NoReturn:
    raise SystemExit(3)


@pytest.fixture
def config(tmp_path: Path) -> Iterator[SupervisorConfig]:
    parts = [Component("one", sleep_for_ever), Component("two", sleep_for_ever)]
    path = f"/winkube-test/{os.getpid()}"
    yield SupervisorConfig(
        "test", tmp_path / "pids", tmp_path / "logs", path, lambda: parts, lambda names: None
    )
    cgroup.kill_all(path)
    cgroup.remove("/winkube-test")


def start(config: SupervisorConfig) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            Supervisor(config).run()
        finally:
            os._exit(0)
    return pid


def await_record(
    config: SupervisorConfig, name: str, *, other_than: ProcessId | None = None
) -> ProcessId:
    for _ in range(500):
        found = load_record(record_path(config.records, name))
        if found is not None and found != other_than:
            return found
        time.sleep(0.01)
    raise AssertionError(f"{name} did not start")


def test_a_killed_component_is_started_again(config: SupervisorConfig) -> None:
    supervisor = start(config)
    first, other = await_record(config, "one"), await_record(config, "two")
    os.kill(first.pid, signal.SIGKILL)
    assert await_record(config, "one", other_than=first).alive
    assert other.alive
    os.kill(supervisor, signal.SIGTERM)
    os.waitpid(supervisor, 0)
    assert not other.alive
    assert list(config.records.iterdir()) == []


def test_a_new_supervisor_adopts_what_runs(config: SupervisorConfig) -> None:
    supervisor = start(config)
    before = [await_record(config, "one"), await_record(config, "two")]
    os.kill(supervisor, signal.SIGKILL)
    os.waitpid(supervisor, 0)
    end(before[:1], grace=0.0)
    supervisor = start(config)
    assert await_record(config, "one", other_than=before[0]).alive
    assert await_record(config, "two") == before[1]
    os.kill(before[1].pid, signal.SIGKILL)
    assert await_record(config, "two", other_than=before[1]).alive
    os.kill(supervisor, signal.SIGTERM)
    os.waitpid(supervisor, 0)


def test_a_component_that_fails_at_once_does_not_starve_the_others(
    config: SupervisorConfig, tmp_path: Path
) -> None:
    parts = [Component("bad", fail_at_once), *config.plan()]
    crowded = replace(config, plan=lambda: parts)
    supervisor = start(crowded)
    good = await_record(crowded, "two")
    time.sleep(0.5)
    assert good.alive
    assert (tmp_path / "logs" / "bad.log").read_text().count("component failed") < 10
    os.kill(supervisor, signal.SIGTERM)
    os.waitpid(supervisor, 0)


def test_a_supervisor_that_plans_anew_starts_what_is_new_and_ends_what_is_gone(
    config: SupervisorConfig, tmp_path: Path
) -> None:
    wanted = tmp_path / "wanted"
    wanted.write_text("one two")

    def plan() -> list[Component]:
        return [Component(name, sleep_for_ever) for name in wanted.read_text().split()]

    supervisor = start(replace(config, plan=plan))
    kept, gone = await_record(config, "one"), await_record(config, "two")
    wanted.write_text("one three")
    os.kill(supervisor, signal.SIGHUP)
    assert await_record(config, "three").alive
    assert kept.alive
    assert not gone.alive
    os.kill(supervisor, signal.SIGTERM)
    os.waitpid(supervisor, 0)
    assert list(config.records.iterdir()) == []


def test_a_plan_that_changes_while_a_supervisor_begins_is_heeded(
    config: SupervisorConfig, tmp_path: Path
) -> None:
    """Whoever finds its record may send it the signal."""
    looks = tmp_path / "looks"
    looks.write_text("")

    def plan() -> list[Component]:
        begun = looks.read_text()
        looks.write_text(f"{begun}.")
        if not begun:
            found = load_record(record_path(config.records, SUPERVISOR))
            os.kill(os.getpid() if found is None else found.pid, signal.SIGHUP)
        return [Component(name, sleep_for_ever) for name in ("one", "two")[: len(begun) + 1]]

    supervisor = start(replace(config, plan=plan))
    try:
        assert await_record(config, "two").alive
        assert looks.read_text() == ".."
    finally:
        os.kill(supervisor, signal.SIGTERM)
        os.waitpid(supervisor, 0)
