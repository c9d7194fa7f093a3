"""Parts of the two makes work together: each reaches the states that upstream's own reach.

This is how users outgrow one machine: our controllers and scheduler on an upstream API server, or
upstream's on ours. A few scenarios of every kind are played and compared with the record.
"""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from tests.upstream.play_workloads import compare, plane_of, play_all, read_record, scenario_sets
from tests.upstream.scenario import Scenario

from winkube.testing.planes import upstream_folder

CHOSEN: Final = {
    "budgets": ("budget: minAvailable",),
    "cluster": ("account and root certificate", "empty namespace", "gc: foreground"),
    "cronjobs": ("cron: one missed run",),
    "daemonsets": ("roll", "windows nodes"),
    "deployments": ("delete in the foreground", "recreate", "roll", "undo by template"),
    "jobs": ("back-off limit", "indexed", "success policy", "ttl"),
    "nodes": ("taint evicts at once and later",),
    "replicasets": ("ReplicaSet: scale", "ReplicationController: scale"),
    "services": ("headless", "named ports", "endpoints by hand are mirrored"),
    "statefulsets": ("claims that go with the set", "roll"),
    "volumes": ("volume: static", "volume: wait for the first consumer"),
}
SETS: Final = {
    group: [entry for entry in scenarios if entry.name in CHOSEN[group]]
    for group, scenarios in scenario_sets().items()
    if group in CHOSEN
}
ALL: Final = [
    pytest.param(group, scenario.name, id=f"{group}: {scenario.name}")
    for group, scenarios in SETS.items()
    for scenario in scenarios
]
Said = dict[str, dict[str, list[Any]]]
MIXES: Final = {
    "our parts on upstream's API server": ("upstream", "winkube", ()),
    "upstream's parts on our API server": ("winkube", "upstream", ()),
    "upstream's parts on our API server, in JSON": (
        "winkube",
        "upstream",
        ("--kube-api-content-type=application/json",),
    ),
}
# What upstream's parts complain of when an API server does not give them what they ask for.
_COMPLAINTS: Final = re.compile(
    r"could not find the requested resource|no kind \S+ is registered|Failed to watch"
    r"|failed to list|is forbidden: User|the server rejected|unable to decode|unknown field"
    r"|NotAcceptable|UnsupportedMediaType",
    re.IGNORECASE,
)


@pytest.fixture(scope="module", params=list(MIXES), ids=list(MIXES))
def mixed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Said, Path]]:
    if upstream_folder() is None:
        pytest.skip("not built (`make upstream`): parts cannot be swapped")
    api, parts, flags = MIXES[request.param]
    folder = tmp_path_factory.mktemp("mixed")
    record = {group: read_record(group) for group in SETS}
    with plane_of(api, parts, folder, flags) as plane:  # type: ignore[arg-type]
        yield asyncio.run(play_all(plane, SETS, record)), folder


def test_every_scenario_was_found() -> None:
    found = {group: {entry.name for entry in entries} for group, entries in SETS.items()}
    assert found == {group: set(names) for group, names in CHOSEN.items()}


@pytest.mark.parametrize(("group", "name"), ALL)
def test_mixed_parts_reach_the_recorded_state(
    mixed: tuple[Said, Path], group: str, name: str
) -> None:
    different = compare(read_record(group)[name], mixed[0][group][name])
    if different:
        pytest.fail("\n".join(different), pytrace=False)


def test_upstreams_parts_miss_nothing(mixed: tuple[Said, Path]) -> None:
    logs = [path for path in mixed[1].glob("upstream-*.log") if "apiserver" not in path.name]
    lines = [line for path in logs for line in path.read_text().splitlines()]
    complaints = [line for line in lines if _COMPLAINTS.search(line)]
    assert complaints == []


def test_scenarios_are_the_record_of_something() -> None:
    missing = [
        entry.name
        for group, entries in SETS.items()
        for entry in entries
        if not _is_recorded(group, entry)
    ]
    assert missing == []


def _is_recorded(group: str, scenario: Scenario) -> bool:
    return scenario.name in read_record(group)
