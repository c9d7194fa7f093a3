"""Play scenarios on a plane: ``python -m tests.upstream.play_workloads upstream [set …]`` records.

With ``winkube`` instead of ``upstream`` it prints where ours differs from the record.
"""

import asyncio
import contextlib
import importlib
import json
import pkgutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import tests.upstream.workloads
from tests.upstream.exchange import differences
from tests.upstream.scenario import LONG_QUIET_SECONDS, PATIENCE, Scenario, Stage, play, sight_of

from winkube.client.rest import ApiClient
from winkube.testing.planes import Make, Plane, api_server, controllers, nodes, scheduler

Json = Any
DATA: Final = Path(__file__).parents[1] / "data" / "upstream" / "workloads"
_TIMES: Final = (
    "--node-monitor-grace-period=12s",
    "--node-startup-grace-period=20s",
    "--node-monitor-period=1s",
)
# Upstream's own brake would make many scenarios at once slow.
_RATE: Final = ("--kube-api-qps=1000", "--kube-api-burst=2000")
# So many scenarios at once keep two cores busy and time limits honest.
_AT_ONCE: Final = 24
NODES: Final = 14


def scenario_sets() -> dict[str, list[Scenario]]:
    names = sorted(entry.name for entry in pkgutil.iter_modules(tests.upstream.workloads.__path__))
    modules = {name: importlib.import_module(f"tests.upstream.workloads.{name}") for name in names}
    return {
        name: list(module.SCENARIOS)
        for name, module in modules.items()
        if hasattr(module, "SCENARIOS")
    }


@contextmanager
def plane_of(api: Make, parts: Make, folder: Path, flags: Sequence[str] = ()) -> Iterator[Plane]:
    """A whole control plane with simulated nodes; ``flags`` are more for upstream's parts."""
    rate = (*_RATE, *flags) if parts == "upstream" else ()
    with ExitStack() as stack:
        plane = stack.enter_context(api_server(api, folder))
        stack.enter_context(controllers(parts, plane, (*_TIMES, *rate)))
        stack.enter_context(scheduler(parts, plane, rate))
        stack.enter_context(
            nodes(
                plane,
                {"name": "lin", "count": 4},
                {"name": "win", "count": 2, "windows": "ltsc2022", "taints": [
                    {"key": "os", "value": "windows", "effect": "NoSchedule"}]},
                {"name": "spare", "count": 8, "taints": [
                    {"key": "spare", "effect": "NoSchedule"}]},
                renew_seconds=2.0,
            )
        )  # fmt: skip
        yield plane


async def play_all(
    plane: Plane, chosen: dict[str, list[Scenario]], record: dict[str, dict[str, Json]]
) -> dict[str, dict[str, Json]]:
    """``record`` is what to wait for; without one, what there is when all is quiet counts."""
    stages: dict[tuple[str, str], Stage] = {}
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(group: str, number: int, scenario: Scenario) -> None:
        async with contextlib.nullcontext() if scenario.patient else gate:
            # No name is part of another's, or words for one would change the other.
            place = f"{group.replace('_', '-')}-{number}x"
            began = time.monotonic()
            known = record.get(group, {}).get(scenario.name, [])
            stages[group, scenario.name] = await play(client, sight, scenario, place, known)
            if time.monotonic() - began > 30:
                print(f"slow: {group} {scenario.name} {time.monotonic() - began:.0f} s")

    async with ApiClient(plane.client) as client, sight_of(client) as sight:
        assert await sight.until("", lambda: _prepared(sight.every("Node", "")), PATIENCE)
        for last in (False, True):
            async with asyncio.TaskGroup() as tasks:
                for group, scenarios in chosen.items():
                    for number, scenario in enumerate(scenarios):
                        if scenario.last is last:
                            tasks.create_task(one(group, number, scenario))
        await sight.quiet("events", LONG_QUIET_SECONDS)
        async with asyncio.TaskGroup() as tasks:
            for stage in stages.values():
                tasks.create_task(stage.hear())
    said: dict[str, dict[str, Json]] = {name: {} for name in chosen}
    for (group, name), stage in stages.items():
        said[group][name] = stage.said
    return said


def _prepared(nodes: list[Json]) -> bool:
    """Whether the control plane has taken all nodes in: ranges given, no taints but their own."""
    return len(nodes) == NODES and all(
        node["spec"].get("podCIDR")
        and not any("kubernetes.io" in taint["key"] for taint in node["spec"].get("taints") or [])
        for node in nodes
    )


def read_record(name: str) -> dict[str, Json]:
    path = DATA / f"{name}.json"
    record: dict[str, Json] = json.loads(path.read_text()) if path.exists() else {}
    return record


def write_record(name: str, said: dict[str, Json]) -> None:
    """One line per object: a change upstream makes is seen in a diff."""
    DATA.mkdir(parents=True, exist_ok=True)
    scenarios = []
    for scenario, entries in said.items():
        lines = ",\n".join(f"  {_entry(entry)}" for entry in entries)
        scenarios.append(f" {json.dumps(scenario)}: [\n{lines}\n ]")
    (DATA / f"{name}.json").write_text("{\n" + ",\n".join(scenarios) + "\n}\n")


def _entry(entry: Json) -> str:
    if "objects" not in entry:
        return json.dumps(entry, ensure_ascii=False, sort_keys=True)
    objects = ",\n".join(
        f"   {json.dumps(obj, ensure_ascii=False, sort_keys=True)}" for obj in entry["objects"]
    )
    return f'{{"look": {json.dumps(entry["look"])}, "objects": [\n{objects}\n  ]}}'


def compare(expected: Json, found: Json) -> list[str]:
    """One line per difference; objects are matched by kind and name."""
    lines = []
    if len(expected) != len(found):
        told = [[_headline(entry) for entry in side] for side in (expected, found)]
        return [f"upstream {told[0]}, winkube {told[1]}"]
    for left, right in zip(expected, found, strict=True):
        if "objects" in left and "objects" in right:
            look = left["look"]
            lines += [f"[{look}] {line}" for line in _compare_objects(left, right)]
        else:
            lines += list(differences(left, right))
    return lines


def _headline(entry: Json) -> str:
    return f"look {entry['look']}" if "look" in entry else json.dumps(entry)[:200]


def _compare_objects(left: Json, right: Json) -> list[str]:
    sides = [
        {_key(obj, number): obj for number, obj in _numbered(side["objects"])}
        for side in (left, right)
    ]
    lines = []
    for key in sorted({*sides[0], *sides[1]}):
        if key not in sides[1]:
            lines.append(f"only upstream: {key} {json.dumps(sides[0][key])[:300]}")
        elif key not in sides[0]:
            lines.append(f"only winkube: {key} {json.dumps(sides[1][key])[:300]}")
        else:
            lines += [f"{key}{line}" for line in differences(sides[0][key], sides[1][key])]
    return lines


def _numbered(objects: list[Json]) -> Iterator[tuple[int, Json]]:
    seen: dict[str, int] = {}
    for obj in objects:
        key = _key(obj, 0)
        seen[key] = seen.get(key, -1) + 1
        yield seen[key], obj


def _key(obj: Json, number: int) -> str:
    if obj["kind"] == "Event":
        return f"Event {obj['reason']} of {obj['about']}: {obj['message']} ({obj['by']})"
    return f"{obj['kind']} {obj['metadata']['name']} {number or ''}".strip()


def main() -> None:
    make_, *wanted = sys.argv[1:]
    assert make_ in ("winkube", "upstream")
    chosen = {
        name: scenarios
        for name, scenarios in scenario_sets().items()
        if not wanted or name in wanted
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        plane_of(make_, make_, Path(folder)) as plane,  # type: ignore[arg-type]
    ):
        began = time.monotonic()
        record = {name: read_record(name) for name in chosen if make_ == "winkube"}
        said = asyncio.run(play_all(plane, chosen, record))
        print(f"{time.monotonic() - began:.0f} s")
    for name, answers in said.items():
        if make_ == "upstream":
            write_record(name, dict(sorted(answers.items())))
            continue
        for scenario, found in sorted(answers.items()):
            for line in compare(record[name].get(scenario, []), found):
                print(f"{name}: {scenario}: {line}")
    for name, answers in said.items():
        for scenario, found in answers.items():
            missing = [entry["never"] for entry in found if "never" in entry]
            if missing:
                print(f"{name}: {scenario}: never came: {missing}")


if __name__ == "__main__":
    main()
