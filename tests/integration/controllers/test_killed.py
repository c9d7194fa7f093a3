"""Parts are killed over and over while workloads change: these come to the same end.

As ``test_faults``, whose workloads these are; ``WINKUBE_SEED=<n>`` repeats the run that failed.
"""

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.integration.controllers.test_faults import (
    CALM_SECONDS,
    NODES,
    TROUBLE_SECONDS,
    begin,
    change,
    is_done,
    state,
)

from winkube.api.errors import AlreadyExistsError, NotFoundError
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.rest import ApiClient
from winkube.controllers.config import ControllerConfig
from winkube.controllers.manager import ControllerManager
from winkube.kubelet.simulated.fleet import SimulatedNodes
from winkube.scheduler.scheduler import Scheduler
from winkube.testing.planes import Plane, api_server, controllers, restarted, scheduler
from winkube.testing.tasks import running

SEEDS = [int(os.environ["WINKUBE_SEED"])] if "WINKUBE_SEED" in os.environ else [1]
KILLS = 4
ELECT = ("--leader-elect=true",)


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


async def work(client: ApiClient, rng: random.Random) -> None:
    await begin(client)
    await asyncio.sleep(rng.uniform(0.0, 3.0))
    await change(client)


async def come_to_an_end(client: ApiClient) -> JsonObject:
    found: JsonObject = {}
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(2 * CALM_SECONDS):
            while not found or not is_done(found):
                await asyncio.sleep(0.3)
                found = await state(client)
    return found


@contextlib.asynccontextmanager
async def everybody(plane: Plane, client: ApiClient) -> AsyncIterator[SimulatedNodes]:
    config = ControllerConfig(root_ca=plane.keys.ca.read_bytes())
    nodes = SimulatedNodes(client, NODES)
    async with ApiClient(plane.client) as one, ApiClient(plane.client) as other:
        parts = (ControllerManager(one, config).run(), Scheduler(other).run(), nodes.run())
        async with running(*parts):
            yield nodes


@pytest.mark.parametrize("seed", SEEDS)
async def test_the_same_end_is_reached_though_the_server_is_killed(
    tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    with api_server("winkube", tmp_path) as plane, contextlib.ExitStack() as stack:
        async with (
            Insistent(plane.client) as user,
            ApiClient(plane.client) as client,
            everybody(plane, client) as nodes,
        ):
            await nodes.ready.wait()
            async with asyncio.TaskGroup() as group:
                group.create_task(work(user, rng), name="work")
                for _ in range(KILLS):
                    await asyncio.sleep(rng.uniform(0.1, 2.0))
                    again = await asyncio.to_thread(stack.enter_context, restarted(plane))
                    plane = again
            found = await come_to_an_end(client)
    assert is_done(found), f"WINKUBE_SEED={seed}: {found}"


Part = Callable[..., contextlib.AbstractContextManager[int]]


async def killed_over_and_over(
    part: Part, plane: Plane, rng: random.Random, calm: asyncio.Event
) -> None:
    """A process that never gets to clean up, until it is calm."""
    while not calm.is_set():
        with part("winkube", plane, ELECT) as pid:
            await asyncio.sleep(rng.uniform(0.5, 3.0))
            os.kill(pid, signal.SIGKILL)
    with part("winkube", plane, ELECT):
        await asyncio.Event().wait()


@pytest.mark.parametrize("seed", SEEDS)
async def test_the_same_end_is_reached_though_controllers_and_scheduler_are_killed(
    tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    with api_server("winkube", tmp_path) as plane:
        async with ApiClient(plane.client) as client:
            nodes = SimulatedNodes(client, NODES)
            calm = asyncio.Event()
            parts = [
                killed_over_and_over(part, plane, random.Random(rng.randrange(1 << 30)), calm)
                for part in (controllers, scheduler)
            ]
            async with running(nodes.run(), *parts):
                await nodes.ready.wait()
                await work(client, rng)
                await asyncio.sleep(TROUBLE_SECONDS / 2)
                calm.set()
                found = await come_to_an_end(client)
    assert is_done(found), f"WINKUBE_SEED={seed}: {found}"
