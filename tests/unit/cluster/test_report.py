from pathlib import Path

import pytest

from winkube.cluster.report import ProcessRow, Report, way_out
from winkube.cluster.supervisor import GUARD, SUPERVISOR


def rows(*running: str) -> list[ProcessRow]:
    return [
        ProcessRow(name, "running" if name in running else "stopped", 1, 0, Path("log"))
        for name in (SUPERVISOR, GUARD, "apiserver")
    ]


def test_a_cluster_without_supervisor_and_guard_says_which_command_helps() -> None:
    found = way_out("ci", rows("apiserver"))
    assert "`winkube up --name ci`" in found
    assert not Report(rows("apiserver"), [], found).healthy


@pytest.mark.parametrize("left", [SUPERVISOR, GUARD])
def test_while_one_of_them_is_left_it_heals_by_itself(left: str) -> None:
    assert way_out("ci", rows(left)) == ""
