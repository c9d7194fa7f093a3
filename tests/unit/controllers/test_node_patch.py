"""Several controllers' changes of one node, in one patch."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from tests.unit.controllers.stage import controlling, make_context

from winkube.api.errors import ConflictError
from winkube.base.types import JsonObject
from winkube.client.resource import NODES, Resource
from winkube.controllers.node.cidr import NodeCidrController
from winkube.controllers.node.lifecycle import NodeLifecycleController
from winkube.controllers.node.patch import NodePatches
from winkube.controllers.node.ttl import NodeTtlController
from winkube.testing.fake_api import FakeApi
from winkube.testing.tasks import eventually


class _Noting(FakeApi):
    """Notes patches; refuses them when told to."""

    def __init__(self, *, refuses: bool = False) -> None:
        super().__init__()
        self.patches: list[JsonObject] = []
        self.answers = asyncio.Event()
        self.answers.set()
        self._refuses = refuses

    async def patch(self, resource: Resource, name: str, body: Any, **options: Any) -> JsonObject:
        if resource == NODES:
            self.patches.append(body)
            await self.answers.wait()
            if self._refuses:
                raise ConflictError.of("nodes", name, "it has changed")
        return await super().patch(resource, name, body, **options)


NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
NODE: JsonObject = {
    "metadata": {"name": "n"},
    "spec": {"taints": [NOT_READY]},
    "status": {"conditions": [{"type": "Ready", "status": "True"}]},
}


async def test_changes_of_one_moment_are_one_patch() -> None:
    api = _Noting()
    api.seed(NODES, NODE)
    patches = NodePatches(api)
    async with asyncio.TaskGroup() as group:
        group.create_task(patches.patch("n", {"spec": {"podCIDR": "10.0.0.0/24"}}))
        group.create_task(patches.patch("n", {"metadata": {"annotations": {"a": "b"}}}))
        group.create_task(patches.patch("n", {"spec": {"taints": None}}))
    spec = {"podCIDR": "10.0.0.0/24", "taints": None}
    assert api.patches == [{"spec": spec, "metadata": {"annotations": {"a": "b"}}}]


async def test_an_error_is_told_to_all_whose_change_it_was() -> None:
    api = _Noting(refuses=True)
    api.seed(NODES, NODE)
    patches = NodePatches(api)
    changes: list[JsonObject] = [{"spec": {"podCIDR": "10.0.0.0/24"}}, {"spec": {"taints": None}}]
    async with asyncio.TaskGroup() as group:
        for change in changes:
            group.create_task(_refused(patches.patch("n", change)))
    assert len(api.patches) == 1


async def _refused(patch: Coroutine[Any, Any, None]) -> None:
    with pytest.raises(ConflictError):
        await patch


async def test_what_comes_while_a_patch_is_under_way_is_the_next_patch() -> None:
    api = _Noting()
    api.seed(NODES, NODE)
    patches = NodePatches(api)
    first, second, third = ({"metadata": {"annotations": {key: "x"}}} for key in "abc")
    api.answers.clear()
    async with asyncio.TaskGroup() as group:
        under_way = group.create_task(patches.patch("n", first))
        await eventually(lambda: api.patches == [first])
        group.create_task(patches.patch("n", second))
        await asyncio.sleep(0)
        api.answers.set()
        await under_way
        group.create_task(patches.patch("n", third))
    assert api.patches[1:] == [{"metadata": {"annotations": {"b": "x", "c": "x"}}}]


async def test_a_node_from_before_our_patch_is_behind() -> None:
    api = _Noting()
    api.seed(NODES, NODE)
    patches = NodePatches(api)
    before = await api.get(NODES, "n")
    assert not patches.is_behind(before)
    await patches.patch("n", {"spec": {"taints": None}})
    assert patches.is_behind(before)
    assert not patches.is_behind(await api.get(NODES, "n"))


async def test_a_new_node_is_patched_once_by_all_its_controllers() -> None:
    api = _Noting()
    context = make_context(api)
    kinds = (NodeCidrController, NodeTtlController, NodeLifecycleController)
    async with controlling(*(kind(context) for kind in kinds)):
        api.seed(NODES, NODE)
        await eventually(lambda: api.patches)
        await eventually(lambda: not (api.find(NODES, "n") or NODE)["spec"].get("taints"))
    node = await api.get(NODES, "n")
    assert node["spec"]["podCIDR"]
    assert node["metadata"]["annotations"] == {"node.alpha.kubernetes.io/ttl": "0"}
    assert len(api.patches) == 1
