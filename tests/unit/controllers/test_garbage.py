from typing import Any

import pytest
from tests.unit.controllers.stage import make_context

from winkube.api.errors import ConflictError
from winkube.base.types import JsonObject
from winkube.client.resource import (
    CONFIGMAPS,
    DEPLOYMENTS,
    EVENTS,
    NODES,
    PODS,
    REPLICASETS,
    Resource,
)
from winkube.controllers.garbage.collector import GarbageCollector
from winkube.testing.fake_api import FakeApi
from winkube.testing.tasks import eventually, running


def collector(api: FakeApi) -> GarbageCollector:
    return GarbageCollector(make_context(api))


def owned(name: str, *owners: JsonObject, block: bool = True) -> JsonObject:
    references = [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": block,
        }
        for owner in owners
    ]
    return {"metadata": {"name": name, "ownerReferences": references}}


def chain(api: FakeApi) -> JsonObject:
    """A deployment, its replica set, two pods."""
    top = api.seed(DEPLOYMENTS, {"metadata": {"name": "d"}})
    middle = api.seed(REPLICASETS, owned("r", top))
    for name in ("p1", "p2"):
        api.seed(PODS, owned(name, middle))
    return top


def count(api: FakeApi, *resources: Resource) -> list[int]:
    return [len(api.all(resource)) for resource in resources]


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
async def test_everything_below_a_deleted_owner_goes(policy: str) -> None:
    api = FakeApi()
    chain(api)
    async with running(collector(api).run()):
        await api.delete(DEPLOYMENTS, "d", options={"propagationPolicy": policy})
        await eventually(lambda: count(api, DEPLOYMENTS, REPLICASETS, PODS) == [0, 0, 0])


async def test_foreground_owner_stays_until_its_dependents_are_gone() -> None:
    api = FakeApi()
    top = api.seed(DEPLOYMENTS, {"metadata": {"name": "d"}})
    stuck = owned("r", top)
    stuck["metadata"]["finalizers"] = ["example.com/wait"]
    api.seed(REPLICASETS, stuck)
    async with running(collector(api).run()):
        await api.delete(DEPLOYMENTS, "d", options={"propagationPolicy": "Foreground"})
        await eventually(
            lambda: api.all(REPLICASETS)[0]["metadata"].get("deletionTimestamp") is not None
        )
        assert count(api, DEPLOYMENTS) == [1]
        await api.patch(REPLICASETS, "r", {"metadata": {"finalizers": None}})
        await eventually(lambda: count(api, DEPLOYMENTS, REPLICASETS) == [0, 0])


async def test_orphaned_dependents_stay_without_their_owner() -> None:
    api = FakeApi()
    chain(api)
    async with running(collector(api).run()):
        await api.delete(DEPLOYMENTS, "d", options={"propagationPolicy": "Orphan"})
        await eventually(lambda: count(api, DEPLOYMENTS) == [0])
        assert count(api, REPLICASETS, PODS) == [1, 2]
        assert "ownerReferences" not in api.all(REPLICASETS)[0]["metadata"]


async def test_owner_stays_until_a_dependent_that_others_write_has_lost_it() -> None:
    class Contended(FakeApi):
        refusals = 3

        async def patch(self, resource: Resource, name: str, *body: Any, **more: Any) -> JsonObject:
            if resource == PODS and self.refusals:
                self.refusals -= 1
                raise ConflictError("the object has been modified")
            return await super().patch(resource, name, *body, **more)

    api = Contended()
    top = api.seed(REPLICASETS, {"metadata": {"name": "r"}})
    api.seed(PODS, owned("p", top))
    async with running(collector(api).run()):
        await api.delete(REPLICASETS, "r", options={"propagationPolicy": "Orphan"})
        await eventually(lambda: count(api, REPLICASETS) == [0])
        assert not api.refusals
        assert "ownerReferences" not in api.all(PODS)[0]["metadata"]


async def test_owner_that_never_existed_is_looked_up_before_deleting() -> None:
    api = FakeApi()
    ghost = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "uid": "no"}}
    api.seed(PODS, owned("orphan", ghost))
    foreign = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": ghost["metadata"]}
    api.seed(PODS, owned("unknown-kind", foreign))
    async with running(collector(api).run()):
        await eventually(lambda: api.find(PODS, "default/orphan") is None)
        assert api.find(PODS, "default/unknown-kind") is not None


async def test_object_with_one_owner_left_loses_only_the_reference() -> None:
    api = FakeApi()
    one = api.seed(CONFIGMAPS, {"metadata": {"name": "one"}})
    two = api.seed(CONFIGMAPS, {"metadata": {"name": "two"}})
    api.seed(PODS, owned("p", one, two))
    async with running(collector(api).run()):
        await api.delete(CONFIGMAPS, "one")
        await eventually(
            lambda: (
                [owner["name"] for owner in api.all(PODS)[0]["metadata"]["ownerReferences"]]
                == ["two"]
            )
        )


async def test_cluster_scoped_owner_of_a_namespaced_object() -> None:
    api = FakeApi()
    node = api.seed(NODES, {"metadata": {"name": "n"}})
    api.seed(CONFIGMAPS, owned("c", node))
    async with running(collector(api).run()):
        await api.delete(NODES, "n")
        await eventually(lambda: count(api, CONFIGMAPS) == [0])


async def test_what_is_in_no_namespace_does_not_go_with_an_owner_in_one() -> None:
    api = FakeApi()
    ghost = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "uid": "no"}}
    api.seed(NODES, owned("kept", ghost))
    api.seed(PODS, owned("goes", ghost))
    controller = collector(api)
    async with running(controller.run(), controller.context.recorder.run()):
        await eventually(lambda: count(api, PODS) == [0])
        assert count(api, NODES) == [1]
        there = api.seed(CONFIGMAPS, {"metadata": {"name": "there"}})
        api.seed(NODES, owned("told", there))
        await eventually(lambda: api.all(EVENTS))
        assert count(api, NODES) == [2]
    (said,) = api.all(EVENTS)
    assert (said["reason"], said["involvedObject"]["name"]) == ("OwnerRefInvalidNamespace", "told")
    uid = there["metadata"]["uid"]
    what = f"[v1/ConfigMap, namespace: , name: there, uid: {uid}]"
    assert said["message"] == f'ownerRef {what} does not exist in namespace ""'


async def test_owner_made_again_under_the_same_name_is_another_owner() -> None:
    api = FakeApi()
    old = api.seed(CONFIGMAPS, {"metadata": {"name": "c"}})
    await api.delete(CONFIGMAPS, "c")
    api.seed(CONFIGMAPS, {"metadata": {"name": "c"}})
    api.seed(PODS, owned("p", old))
    async with running(collector(api).run()):
        await eventually(lambda: count(api, PODS) == [0])


async def test_foreground_also_deletes_what_does_not_hold_the_owner_up() -> None:
    api = FakeApi()
    top = api.seed(DEPLOYMENTS, {"metadata": {"name": "d"}})
    for name, block in (("holding", True), ("loose", False)):
        stuck = owned(name, top, block=block)
        stuck["metadata"]["finalizers"] = ["example.com/wait"]
        api.seed(REPLICASETS, stuck)
    async with running(collector(api).run()):
        await api.delete(DEPLOYMENTS, "d", options={"propagationPolicy": "Foreground"})
        await eventually(
            lambda: all("deletionTimestamp" in r["metadata"] for r in api.all(REPLICASETS))
        )
        assert api.all(DEPLOYMENTS)


@pytest.mark.parametrize("length", [2, 3, 5])
async def test_owners_in_a_circle_do_not_wait_for_each_other(length: int) -> None:
    api = FakeApi()
    made = [api.seed(CONFIGMAPS, {"metadata": {"name": "m0"}})]
    for number in range(1, length):
        made.append(api.seed(CONFIGMAPS, owned(f"m{number}", made[-1])))
    circle = {"metadata": {"ownerReferences": owned("m0", made[-1])["metadata"]["ownerReferences"]}}
    await api.patch(CONFIGMAPS, "m0", circle)
    async with running(collector(api).run()):
        await api.delete(CONFIGMAPS, "m0", options={"propagationPolicy": "Foreground"})
        await eventually(lambda: count(api, CONFIGMAPS) == [0])
