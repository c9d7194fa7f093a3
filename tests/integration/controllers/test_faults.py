"""Whatever happens on the way, the same workloads come to the same end.

The API server is a process. Controllers and scheduler run here on clients with faults, are thrown
away and begun anew at random moments, while somebody else writes to the same objects all the time;
the kubelets' clients have faults too. A world is a set of workloads that belong together.
``WINKUBE_SEED=<n>`` repeats the run that failed.
"""

import asyncio
import contextlib
import os
import random
from pathlib import Path

import pytest
from tests.integration.controllers.worlds.policies import Policies
from tests.integration.controllers.worlds.volumes import Volumes
from tests.integration.controllers.worlds.workloads import Workloads
from tests.integration.controllers.worlds.world import World, remove_folders

from winkube.base.types import JsonObject
from winkube.client.rest import ApiClient
from winkube.controllers.config import ControllerConfig
from winkube.controllers.manager import ControllerManager
from winkube.kubelet.simulated.fleet import SimulatedNodes
from winkube.kubelet.simulated.node import NodeSpec
from winkube.scheduler.scheduler import Scheduler
from winkube.testing.faults import FaultyClient
from winkube.testing.planes import Plane, api_server
from winkube.testing.tasks import running

SEEDS = [int(os.environ["WINKUBE_SEED"])] if "WINKUBE_SEED" in os.environ else [1, 2]
WORLDS = [Workloads, Policies, Volumes]
NODES = [NodeSpec("lin-1"), NodeSpec("lin-2"), NodeSpec("win-1", "ltsc2022")]
TROUBLE_SECONDS = 6.0
CALM_SECONDS = 60.0
# Autoscalers look more often than anybody would want elsewhere.
SCALING_SECONDS = 0.5


async def settled(world: World, client: ApiClient, seconds: float) -> JsonObject:
    """The state once it is the wanted one and stays so, or the last one seen."""
    found: JsonObject = {}
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while True:
                found = await world.state(client)
                if world.is_done(found):
                    await asyncio.sleep(1.0)
                    if (again := await world.state(client)) == found:
                        return again
                await asyncio.sleep(0.2)
    return found


async def meddle(world: World, client: ApiClient, rng: random.Random) -> None:
    while True:
        await world.disturb(client, rng)
        await asyncio.sleep(0.01)


def config_for(plane: Plane) -> ControllerConfig:
    root_ca = plane.keys.ca.read_bytes()
    return ControllerConfig(root_ca=root_ca, autoscaler_period=SCALING_SECONDS)


async def control_with_faults(plane: Plane, rng: random.Random, calm: asyncio.Event) -> None:
    """Controllers and scheduler that are thrown away every second or so until it is calm."""
    config = config_for(plane)
    while True:
        async with (
            FaultyClient(plane.client, rng.randrange(1 << 30)) as one,
            FaultyClient(plane.client, rng.randrange(1 << 30)) as other,
        ):
            one.troubled = other.troubled = not calm.is_set()
            async with running(ControllerManager(one, config).run(), Scheduler(other).run()):
                if not calm.is_set():
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(calm.wait(), rng.uniform(0.3, 2.0))
                    continue
                await asyncio.Event().wait()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("make", WORLDS)
async def test_the_same_end_is_reached_through_faults(
    tmp_path: Path, make: type[World], seed: int
) -> None:
    rng = random.Random(seed)
    calm = asyncio.Event()
    world = make()
    with api_server("winkube", tmp_path) as plane:
        async with (
            ApiClient(plane.client) as client,
            FaultyClient(plane.client, rng.randrange(1 << 30)) as kubelets,
        ):
            nodes = SimulatedNodes(kubelets, NODES)
            async with running(
                nodes.run(), remove_folders(client), control_with_faults(plane, rng, calm)
            ):
                await nodes.ready.wait()
                async with running(meddle(world, client, rng)):
                    await world.begin(client)
                    await asyncio.sleep(rng.uniform(0.0, TROUBLE_SECONDS / 2))
                    await world.change(client)
                    await asyncio.sleep(TROUBLE_SECONDS / 2)
                kubelets.troubled = False
                calm.set()
                found = await settled(world, client, CALM_SECONDS)
    assert world.is_done(found), f"WINKUBE_SEED={seed}: {found}"
