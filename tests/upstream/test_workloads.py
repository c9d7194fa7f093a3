"""Our control plane makes of workloads what upstream's makes: as recorded, and as it does now."""

import asyncio
from typing import Any

import pytest
from tests.upstream.play_workloads import (
    compare,
    plane_of,
    play_all,
    read_record,
    scenario_sets,
)

from winkube.testing.planes import Make, upstream_folder

SETS = scenario_sets()
ALL = [
    pytest.param(group, scenario.name, id=f"{group}: {scenario.name}")
    for group, scenarios in SETS.items()
    for scenario in scenarios
]
Said = dict[str, dict[str, list[Any]]]


def play_on(make: Make, factory: pytest.TempPathFactory) -> Said:
    """All scenarios at once: they wait most of the time."""
    record = {group: read_record(group) for group in SETS}
    with plane_of(make, make, factory.mktemp(make)) as plane:
        return asyncio.run(play_all(plane, SETS, record))


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Said:
    return play_on("winkube", tmp_path_factory)


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Said:
    if upstream_folder() is None:
        pytest.skip("not built (`make upstream`): only the recorded states are compared")
    return play_on("upstream", tmp_path_factory)


def check(expected: list[Any], found: list[Any]) -> None:
    different = compare(expected, found)
    if different:
        pytest.fail("\n".join(different), pytrace=False)


@pytest.mark.parametrize(("group", "name"), ALL)
def test_a_workload_becomes_what_was_recorded(ours: Said, group: str, name: str) -> None:
    expected = read_record(group).get(name)
    command = f"python -m tests.upstream.play_workloads upstream {group}"
    assert expected is not None, f"not recorded: run `{command}`"
    check(expected, ours[group][name])


@pytest.mark.parametrize(("group", "name"), ALL)
def test_the_record_is_what_upstream_does(upstream: Said, group: str, name: str) -> None:
    check(read_record(group)[name], upstream[group][name])
