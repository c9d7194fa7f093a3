"""The API server is killed and comes back: controllers and scheduler carry on."""

import asyncio
import multiprocessing
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.integration.controllers.control_plane import (
    client_config,
    listen,
    node,
    server_config,
    write_keys,
)
from tests.integration.controllers.test_control_plane import deployment, items, until

from winkube.api.errors import ApiError
from winkube.apiserver.server import ApiServer
from winkube.client.errors import TransportError
from winkube.client.resource import DEPLOYMENTS, NODES, PODS
from winkube.client.rest import ApiClient
from winkube.controllers.config import ControllerConfig
from winkube.controllers.manager import ControllerManager
from winkube.scheduler.scheduler import Scheduler
from winkube.testing.tasks import running


def serve(folder: Path, port: int) -> None:
    with listen(port) as listener:
        asyncio.run(ApiServer(server_config(folder, listener)).run())


@asynccontextmanager
async def server(folder: Path, port: int, client: ApiClient) -> AsyncIterator[None]:
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(folder, port))
    process.start()
    try:
        await until(lambda: answers(client))
        yield
    finally:
        process.kill()
        await asyncio.to_thread(process.join)
        process.close()


async def answers(client: ApiClient) -> bool:
    try:
        await client.get_path("/version")
    except (ApiError, TransportError):
        return False
    return True


async def counts(client: ApiClient) -> tuple[int, int]:
    """Pods that have a node, and pods told to stop."""
    pods = await items(client, PODS, namespace="default")
    placed = sum(bool(pod["spec"].get("nodeName")) for pod in pods)
    return placed, sum("deletionTimestamp" in pod["metadata"] for pod in pods)


async def test_work_goes_on_after_the_server_is_killed(tmp_path: Path) -> None:
    write_keys(tmp_path)
    with listen() as listener:
        port = listener.getsockname()[1]
    async with ApiClient(client_config(tmp_path, port)) as client:
        manager = ControllerManager(client, ControllerConfig())

        async def reaches(*wanted: int) -> bool:
            return await counts(client) == wanted

        async with running(manager.run(), Scheduler(client).run()):
            async with server(tmp_path, port, client):
                await client.create(NODES, node("win-1"))
                await client.create(DEPLOYMENTS, deployment(replicas=2), namespace="default")
                await until(lambda: reaches(2, 0))
            async with server(tmp_path, port, client):
                body = {"spec": {"replicas": 5}}
                await client.patch(DEPLOYMENTS, "iis", body, namespace="default")
                await until(lambda: reaches(5, 0))
            async with server(tmp_path, port, client):
                body = {"spec": {"replicas": 1}}
                await client.patch(DEPLOYMENTS, "iis", body, namespace="default")
                await until(lambda: reaches(5, 4))
