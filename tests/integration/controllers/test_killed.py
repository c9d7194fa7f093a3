"""Parts are killed over and over while workloads change: these come to the same end.

As ``test_faults``, whose worlds these are; ``WINKUBE_SEED=<n>`` repeats the run that failed.
"""

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.integration.controllers.test_faults import (
    CALM_SECONDS,
    NODES,
    SCALING_SECONDS,
    TROUBLE_SECONDS,
    WORLDS,
    config_for,
)
from tests.integration.controllers.worlds.world import World, remove_folders

from winkube.api.errors import AlreadyExistsError, NotFoundError
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.rest import ApiClient
from winkube.controllers.manager import ControllerManager
from winkube.kubelet.simulated.fleet import SimulatedNodes
from winkube.scheduler.scheduler import Scheduler
from winkube.testing.planes import Plane, api_server, controllers, restarted, scheduler
from winkube.testing.tasks import running

SEEDS = [int(os.environ["WINKUBE_SEED"])] if "WINKUBE_SEED" in os.environ else [1]
KILLS = 4
ELECT = ("--leader-elect=true",)
SCALE = (f"--horizontal-pod-autoscaler-sync-period={SCALING_SECONDS}s",)


class Insistent(ApiClient):
    """Says what it wants until it is heard; what was done though nobody said so is done."""

    async def _bytes(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        accept: str | None = None,
    ) -> bytes:
        said = False
        while True:
            try:
                return await super()._bytes(
                    method, path, query=query, body=body, content_type=content_type, accept=accept
                )
            except (AlreadyExistsError, NotFoundError):
                if not said or method not in ("POST", "DELETE"):
                    raise
                return b"{}"
            except TransportError:
                said = True
                await asyncio.sleep(0.1)


async def work(world: World, client: ApiClient, rng: random.Random) -> None:
    await world.begin(client)
    await asyncio.sleep(rng.uniform(0.0, 3.0))
    await world.change(client)


async def come_to_an_end(world: World, client: ApiClient) -> JsonObject:
    found: JsonObject = {}
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(2 * CALM_SECONDS):
            while not found or not world.is_done(found):
                await asyncio.sleep(0.3)
                found = await world.state(client)
    return found


@contextlib.asynccontextmanager
async def everybody(plane: Plane, client: ApiClient) -> AsyncIterator[SimulatedNodes]:
    nodes = SimulatedNodes(client, NODES)
    async with ApiClient(plane.client) as one, ApiClient(plane.client) as other:
        parts = (
            ControllerManager(one, config_for(plane)).run(),
            Scheduler(other).run(),
            nodes.run(),
        )
        async with running(*parts, remove_folders(client)):
            yield nodes


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("make", WORLDS)
async def test_the_same_end_is_reached_though_the_server_is_killed(
    tmp_path: Path, make: type[World], seed: int
) -> None:
    rng = random.Random(seed)
    world = make()
    with api_server("winkube", tmp_path) as plane, contextlib.ExitStack() as stack:
        async with (
            Insistent(plane.client) as user,
            ApiClient(plane.client) as client,
            everybody(plane, client) as nodes,
        ):
            await nodes.ready.wait()
            async with asyncio.TaskGroup() as group:
                group.create_task(work(world, user, rng), name="work")
                for _ in range(KILLS):
                    await asyncio.sleep(rng.uniform(0.1, 2.0))
                    again = await asyncio.to_thread(stack.enter_context, restarted(plane))
                    plane = again
            found = await come_to_an_end(world, client)
    assert world.is_done(found), f"WINKUBE_SEED={seed}: {found}"


Part = Callable[..., contextlib.AbstractContextManager[int]]


async def killed_over_and_over(
    part: Part, plane: Plane, flags: Sequence[str], rng: random.Random, calm: asyncio.Event
) -> None:
    """A process that never gets to clean up, until it is calm.

    It lives longer each time: a world that waits for something before it changes shall get there.
    """
    longest = 3.0
    while not calm.is_set():
        with part("winkube", plane, flags) as pid:
            await asyncio.sleep(rng.uniform(0.5, longest))
            os.kill(pid, signal.SIGKILL)
        longest *= 1.5
    with part("winkube", plane, flags):
        await asyncio.Event().wait()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("make", WORLDS)
async def test_the_same_end_is_reached_though_controllers_and_scheduler_are_killed(
    tmp_path: Path, make: type[World], seed: int
) -> None:
    rng = random.Random(seed)
    world = make()
    with api_server("winkube", tmp_path) as plane:
        async with ApiClient(plane.client) as client:
            nodes = SimulatedNodes(client, NODES)
            calm = asyncio.Event()
            parts = [
                killed_over_and_over(
                    part, plane, flags, random.Random(rng.randrange(1 << 30)), calm
                )
                for part, flags in ((controllers, (*ELECT, *SCALE)), (scheduler, ELECT))
            ]
            async with running(nodes.run(), remove_folders(client), *parts):
                await nodes.ready.wait()
                await work(world, client, rng)
                await asyncio.sleep(TROUBLE_SECONDS / 2)
                calm.set()
                found = await come_to_an_end(world, client)
    assert world.is_done(found), f"WINKUBE_SEED={seed}: {found}"
