"""Play all scenarios: ``python -m tests.upstream.scheduling.play upstream|winkube [word ...]``.

``upstream`` keeps the answers of upstream's scheduler as test data; ``winkube`` plays ours on the
same API server and prints what differs. Words choose scenarios whose names contain one of them.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import yaml
from tests.upstream.scheduling.player import Player
from tests.upstream.scheduling.profiles import CONFIGURATION
from tests.upstream.scheduling.scenario import Scenario
from tests.upstream.scheduling.scenarios import SCENARIOS

from winkube.client.rest import ApiClient
from winkube.scheduler.config import SchedulerConfig
from winkube.scheduler.scheduler import Scheduler
from winkube.testing.planes import Plane, api_server, scheduler
from winkube.testing.tasks import running

Json = Any
DATA: Final = Path(__file__).parents[2] / "data" / "upstream" / "scheduling.json"
_BETWEEN: Final = "untolerated taint {node.kubernetes.io/not-ready"


def recorded() -> dict[str, Json]:
    found: dict[str, Json] = json.loads(DATA.read_text())
    return found


def write_config(folder: Path, kubeconfig: Path | None = None) -> Path:
    path = folder / "scheduler.yaml"
    connection = {"clientConnection": {"kubeconfig": str(kubeconfig)}} if kubeconfig else {}
    path.write_text(yaml.safe_dump({**CONFIGURATION, **connection}))
    return path


@contextmanager
def upstream_scheduler(plane: Plane) -> Iterator[None]:
    config = write_config(plane.folder, plane.kubeconfig("system:kube-scheduler"))
    with scheduler("upstream", plane, [f"--config={config}"]):
        yield


async def play_upstream(
    plane: Plane, chosen: list[Scenario], known: Mapping[str, Json] | None = None
) -> dict[str, Json]:
    """What upstream is known to do is waited for; without it, what there is when all is quiet."""
    async with ApiClient(plane.client) as client:
        with upstream_scheduler(plane):
            return await _play(Player(client, "upstream", 0.7, known), chosen)


async def play_ours(
    client: ApiClient, folder: Path, chosen: list[Scenario], known: Mapping[str, Json]
) -> dict[str, Json]:
    ours = Scheduler(client, SchedulerConfig(config_file=write_config(folder)))
    async with running(ours.run()):
        await ours.ready.wait()
        return await _play(Player(client, "winkube", 0.35, known), chosen)


async def _play(player: Player, chosen: list[Scenario]) -> dict[str, Json]:
    async with player.ready():
        return {each.name: await player.play(each, number) for number, each in enumerate(chosen)}


def with_places(played: Mapping[str, Json], known: Mapping[str, Json]) -> dict[str, Json]:
    """Equal nodes are chosen among by chance: one that was once chosen could have been again."""
    return {name: {**each, "places": _joined(each, known[name])} for name, each in played.items()}


def _joined(*outcomes: Json) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    for outcome in outcomes:
        for pod, places in outcome["places"].items():
            found.setdefault(pod, set()).update(places)
    return {pod: sorted(places) for pod, places in found.items()}


def differences(ours: Json, upstream: Json) -> list[str]:
    """What ours did that upstream would not have done."""
    here, there = ours["places"], upstream["places"]
    found = [
        f"{name} went to {here.get(name)}, upstream to {there.get(name)}"
        for name in sorted(here.keys() | there.keys())
        if name not in here or not set(here[name]) <= set(there.get(name) or ())
    ]
    for number, (now, then) in enumerate(zip(ours["seen"], upstream["seen"], strict=True)):
        found += [
            f"step {number}: {name} is {now.get(name)}, not {then.get(name)}"
            for name in sorted(now.keys() | then.keys())
            if now.get(name) != then.get(name)
        ]
    said, words = _lasting(ours["events"]), _lasting(upstream["events"])
    found += [f"event missing: {event}" for event in words if event not in said]
    return found + [f"event too many: {event}" for event in said if event not in words]


def all_differences(ours: Mapping[str, Json], upstream: Mapping[str, Json]) -> dict[str, list[str]]:
    """By scenario, where there are any."""
    found = {name: differences(outcome, upstream[name]) for name, outcome in ours.items()}
    return {name: each for name, each in found.items() if each}


def _lasting(events: list[Json]) -> list[Json]:
    """Without what is said only when an attempt falls between the two writes of a new node.

    It comes, and then it is ready.
    """
    return [event for event in events if _BETWEEN not in str(event)]


def main() -> None:
    make, *words = sys.argv[1:]
    chosen = [s for s in SCENARIOS if not words or any(word in s.name for word in words)]
    with tempfile.TemporaryDirectory() as name, api_server("upstream", Path(name)) as plane:
        if make == "upstream":
            found = asyncio.run(play_upstream(plane, chosen))
            kept = recorded() if words and DATA.exists() else {}
            DATA.write_text(json.dumps({**kept, **found}, indent=1, sort_keys=True) + "\n")
            print(f"{len(found)} scenarios recorded")
            return

        async def play() -> dict[str, Json]:
            async with ApiClient(plane.client) as client:
                return await play_ours(client, Path(name), chosen, recorded())

        report(asyncio.run(play()))


def report(ours: dict[str, Json]) -> None:
    for name, lines in all_differences(ours, recorded()).items():
        for line in lines:
            print(f"{name}: {line}")


if __name__ == "__main__":
    main()
