"""Waiting until a new cluster can be used."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Final

from winkube.api.errors import ApiError, NotFoundError
from winkube.api.simulation import ROLE
from winkube.base.types import JsonObject
from winkube.client.errors import ClientError
from winkube.client.resource import NODES
from winkube.client.rest import ApiClient
from winkube.cluster import addons
from winkube.cluster.access import admin_client_config
from winkube.cluster.components import log_file
from winkube.cluster.errors import StartError
from winkube.cluster.simulation import SIMULATED
from winkube.cluster.state import ClusterState

_API_SECONDS: Final = 60.0
_READY_SECONDS: Final = 120.0

Step = Callable[[str], AbstractContextManager[Callable[[str, float], None]]]


def await_cluster(state: ClusterState, step: Step) -> None:
    asyncio.run(_await_cluster(state, step))


async def _await_cluster(state: ClusterState, step: Step) -> None:
    async with ApiClient(admin_client_config(state)) as client:
        with step("API server"):
            await _await_api(state, client)
            await addons.ensure_addons(state, client)
        with step("Nodes") as progress:
            await _await_nodes(state, client, progress)
        if state.simulation.count or await _simulated(client):
            with step("Simulated nodes") as progress:
                await _await_simulated(state, client, progress)


async def _await_api(state: ClusterState, client: ApiClient) -> None:
    for _ in _ticks(0.02, _API_SECONDS):
        try:
            await client.list(NODES, limit=1)
        except (ApiError, ClientError):
            await asyncio.sleep(0.02)
        else:
            return
    raise StartError("the API server", _API_SECONDS, log_file(state, "apiserver"))


async def _await_nodes(
    state: ClusterState, client: ApiClient, progress: Callable[[str, float], None]
) -> None:
    wanted = {node.name for node in state.spec.nodes}
    missing = wanted
    for _ in _ticks(0.05, _READY_SECONDS):
        listing = await client.list(NODES)
        missing = wanted - {n["metadata"]["name"] for n in listing["items"] if is_ready(n)}
        progress(f"{len(wanted) - len(missing)}/{len(wanted)} ready", 0.0)
        if not missing:
            return
        await asyncio.sleep(0.05)
    first = min(missing)
    raise StartError(f"node {first}", _READY_SECONDS, log_file(state, f"kubelet-{first}"))


async def _simulated(client: ApiClient) -> dict[str, JsonObject]:
    listing = await client.list(NODES, label_selector=ROLE)
    return {node["metadata"]["name"]: node for node in listing["items"]}


async def _await_simulated(
    state: ClusterState, client: ApiClient, progress: Callable[[str, float], None]
) -> None:
    """Wait for those that are wanted; remove those of an earlier number."""
    wanted = set(state.simulation.names)
    pause = 0.1 + len(wanted) / 2000  # a list of thousands is work for the one who makes them
    for _ in _ticks(pause, _READY_SECONDS):
        found = await _simulated(client)
        surplus = found.keys() - wanted
        async with asyncio.TaskGroup() as group:
            for name in surplus:
                group.create_task(_delete_node(client, name), name=f"delete {name}")
        ready = sum(is_ready(node) for name, node in found.items() if name in wanted)
        progress(f"{ready}/{len(wanted)} ready", 0.0)
        if ready == len(wanted) and not surplus:
            return
        await asyncio.sleep(pause)
    raise StartError("a simulated node", _READY_SECONDS, log_file(state, SIMULATED))


async def _delete_node(client: ApiClient, name: str) -> None:
    with contextlib.suppress(NotFoundError):
        await client.delete(NODES, name)


def is_ready(node: dict[str, object]) -> bool:
    status = node.get("status")
    conditions = status.get("conditions", []) if isinstance(status, dict) else []
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _ticks(interval: float, seconds: float) -> Iterator[int]:
    yield from range(int(seconds / interval))
