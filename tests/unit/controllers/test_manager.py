"""All controllers together."""

import asyncio
from typing import Any

from winkube.base.types import JsonObject
from winkube.client.resource import DEPLOYMENTS, NODES, Resource
from winkube.controllers.config import ControllerConfig
from winkube.controllers.manager import ControllerManager
from winkube.testing.fake_api import FakeApi
from winkube.testing.tasks import running


class _Slow(FakeApi):
    """Lists of one resource are never answered."""

    async def list(self, resource: Resource, **options: Any) -> JsonObject:
        if resource == DEPLOYMENTS:
            await asyncio.Event().wait()
        return await super().list(resource, **options)


async def _network(api: FakeApi) -> str:
    while True:
        node = await api.get(NODES, "n")
        if found := node["spec"].get("podCIDR"):
            return str(found)
        await asyncio.sleep(0.001)


async def test_a_node_gets_its_network_while_other_caches_are_still_empty() -> None:
    api = _Slow()
    api.seed(NODES, {"metadata": {"name": "n"}, "spec": {}, "status": {}})
    manager = ControllerManager(api, ControllerConfig(cluster_cidr="10.244.0.0/16"))
    async with running(manager.run()), asyncio.timeout(10):
        assert await _network(api) == "10.244.0.0/24"
    assert not manager.ready.is_set()
