import asyncio
from typing import Any

from winkube.base.types import JsonObject
from winkube.client.resource import (
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODS,
    STORAGECLASSES,
)
from winkube.scheduler.decision import Decider
from winkube.scheduler.profile import default_profile
from winkube.scheduler.recorder import EVENTS
from winkube.scheduler.scheduler import Scheduler
from winkube.scheduler.shape import PodInfo, ShapeCache
from winkube.scheduler.volumes import CONFLICT, NO_MATCH, NO_VOLUME, Volumes
from winkube.scheduler.world import World
from winkube.testing.fake_api import FakeApi
from winkube.testing.tasks import eventually, running

DELAYED = {
    "metadata": {"name": "local"},
    "provisioner": "winkube.io/local-path",
    "volumeBindingMode": "WaitForFirstConsumer",
}
STATIC = {
    "metadata": {"name": "static"},
    "provisioner": "kubernetes.io/no-provisioner",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def claim(name: str, storage_class: str = "local", **facts: Any) -> JsonObject:
    metadata: JsonObject = {"name": name, "namespace": "default", "uid": name}
    metadata["annotations"] = facts.pop("annotations", {})
    metadata["resourceVersion"] = "1"
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": facts.pop("size", "1Gi")}},
        "storageClassName": storage_class,
        **facts,
    }
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


def bound(name: str, volume_name: str) -> JsonObject:
    notes = {"pv.kubernetes.io/bind-completed": "yes"}
    return claim(name, annotations=notes, volumeName=volume_name)


def volume(name: str, host: str, size: str = "1Gi", storage_class: str = "static") -> JsonObject:
    term = {"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}}
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": size},
        "storageClassName": storage_class,
        "nodeAffinity": affinity,
    }
    return {"metadata": {"name": name}, "spec": spec, "status": {"phase": "Available"}}


def volumes(*objects: JsonObject) -> Volumes:
    claims = {
        f"default/{each['metadata']['name']}": each
        for each in objects
        if "capacity" not in each["spec"]
    }
    stored = {each["metadata"]["name"]: each for each in objects if "capacity" in each["spec"]}
    classes = {"local": DELAYED, "static": STATIC}
    return Volumes(
        claims.get,
        stored.get,
        classes.get,
        lambda wanted: [*stored.values()],
    )


def with_volume(source: JsonObject) -> PodInfo:
    metadata = {"name": "p", "namespace": "default", "uid": "p"}
    return ShapeCache().pod({"metadata": metadata, "spec": {"volumes": [{"name": "v", **source}]}})


A, B = (("a", {"kubernetes.io/hostname": "a"}), ("b", {"kubernetes.io/hostname": "b"}))


def test_bound_volume_decides_the_node() -> None:
    known = volumes(bound("c", "v"), volume("v", "a"))
    assert known.choose(("default/c",), A).refusals == ()
    assert known.choose(("default/c",), B).refusals == (CONFLICT,)
    assert volumes(bound("c", "v")).choose(("default/c",), A).refusals == (NO_VOLUME,)


def test_claim_without_a_volume_is_provisioned_anywhere() -> None:
    choice = volumes(claim("c")).choose(("default/c",), A)
    assert choice.refusals == ()
    assert [each["metadata"]["name"] for each in choice.provision] == ["c"]


def test_claim_that_has_a_node_stays_there() -> None:
    placed = claim("c", annotations={"volume.kubernetes.io/selected-node": "a"})
    assert volumes(placed).choose(("default/c",), A).refusals == ()
    assert volumes(placed).choose(("default/c",), B).refusals == (NO_MATCH,)


def test_two_claims_of_a_pod_get_two_volumes_smallest_first() -> None:
    known = volumes(
        claim("big", "static", size="5Gi"),
        claim("small", "static"),
        volume("v9", "a", "9Gi"),
        volume("v2", "a", "2Gi"),
    )
    choice = known.choose(("default/big", "default/small"), A)
    pairs = [(one["metadata"]["name"], two["metadata"]["name"]) for one, two in choice.bind]
    assert pairs == [("small", "v2"), ("big", "v9")]
    assert known.choose(("default/big", "default/small"), B).refusals == (NO_MATCH,)


def test_volume_that_is_assumed_is_not_chosen_again() -> None:
    known = volumes(claim("one", "static"), claim("two", "static"), volume("v", "a"))
    choice = known.choose(("default/one",), A)
    known.assume(choice)
    assert known.choose(("default/two",), A).refusals == (NO_MATCH,)
    assert known.choose(("default/one",), A).refusals == ()
    known.forget(choice)
    assert known.choose(("default/two",), A).refusals == ()


def test_claims_that_keep_a_pod_from_every_node() -> None:
    lost = {**claim("lost", volumeName="v"), "status": {"phase": "Lost"}}
    going = claim("going")
    going["metadata"]["deletionTimestamp"] = "now"
    now = claim("now", "immediate")
    known = volumes(lost, going, now, claim("fine"))
    said = {name: known.refuse(info(name)) for name in ("no", "lost", "going", "now", "fine")}
    assert said == {
        "no": 'persistentvolumeclaim "no" not found',
        "lost": 'persistentvolumeclaim "lost" bound to non-existent persistentvolume "v"',
        "going": 'persistentvolumeclaim "going" is being deleted',
        "now": "pod has unbound immediate PersistentVolumeClaims",
        "fine": "",
    }


def test_the_claim_of_an_ephemeral_volume_has_to_be_the_pods_own() -> None:
    own, foreign = claim("p-v"), claim("p-v")
    own["metadata"]["ownerReferences"] = [{"uid": "p", "controller": True}]
    pod = with_volume({"ephemeral": {}})
    said = [volumes(*known).refuse(pod) for known in ([], [foreign], [own])]
    assert said == [
        'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v"',
        "PVC default/p-v was not created for pod default/p (pod is not owner)",
        "",
    ]


def node(name: str) -> JsonObject:
    status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": status,
    }


def pod(*claims: str) -> JsonObject:
    mounted = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    metadata = {"name": "p", "namespace": "default", "uid": "p"}
    return {"metadata": metadata, "spec": {"containers": [], "volumes": mounted}}


def info(*claims: str) -> PodInfo:
    return ShapeCache().pod(pod(*claims))


def test_decision_follows_the_volume_and_says_why_not() -> None:
    world = World()
    for name in ("a", "b"):
        world.set_node(node(name))
    world.volumes = volumes(bound("c", "v"), volume("v", "b"))
    decider = Decider(default_profile(), world, tie_break=lambda: 0.0)
    assert decider.choose(info("c")) == "b"
    assert decider.choose(info("missing")) is None
    assert decider.diagnose(info("missing")).message() == (
        '0/2 nodes are available: persistentvolumeclaim "missing" not found.'
    )
    world.volumes = volumes(bound("c", "v"), volume("v", "x"))
    assert (
        decider.diagnose(info("c"))
        .message()
        .startswith(
            "0/2 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity."
        )
    )


async def test_pod_is_bound_when_its_claims_are() -> None:
    api = FakeApi()
    for name in ("a", "b"):
        api.seed(NODES, node(name))
    api.seed(STORAGECLASSES, DELAYED)
    api.seed(STORAGECLASSES, STATIC)
    api.seed(PERSISTENTVOLUMES, volume("v", "b"))
    for each in (claim("made"), claim("found", "static")):
        del each["metadata"]["resourceVersion"]
        api.seed(PERSISTENTVOLUMECLAIMS, each)
    api.seed(PODS, pod("made", "found"))
    scheduler = Scheduler(api)
    async with running(scheduler.run()):
        await scheduler.ready.wait()

        def asked() -> dict[str, str]:
            stored = api.find(PERSISTENTVOLUMECLAIMS, "default/made") or {}
            return stored["metadata"].get("annotations") or {}

        await eventually(lambda: asked().get("volume.kubernetes.io/selected-node") == "b")
        given = api.find(PERSISTENTVOLUMES, "v") or {}
        assert given["spec"]["claimRef"]["name"] == "found"
        await asyncio.sleep(0.02)
        assert not (api.find(PODS, "default/p") or {})["spec"].get("nodeName")
        for name, chosen in (("made", "new"), ("found", "v")):
            notes = {"pv.kubernetes.io/bind-completed": "yes"}
            body = {"metadata": {"annotations": notes}, "spec": {"volumeName": chosen}}
            await api.patch(PERSISTENTVOLUMECLAIMS, name, body)
        await eventually(lambda: (api.find(PODS, "default/p") or {})["spec"].get("nodeName") == "b")


async def test_pod_is_decided_again_when_its_volume_cannot_be_made() -> None:
    api = FakeApi()
    api.seed(NODES, node("a"))
    api.seed(STORAGECLASSES, DELAYED)
    wanted = claim("c")
    del wanted["metadata"]["resourceVersion"]
    api.seed(PERSISTENTVOLUMECLAIMS, wanted)
    api.seed(PODS, pod("c"))
    scheduler = Scheduler(api)
    key = "volume.kubernetes.io/selected-node"
    async with running(scheduler.run()):
        await scheduler.ready.wait()

        def selected() -> str | None:
            stored = api.find(PERSISTENTVOLUMECLAIMS, "default/c") or {}
            found: str | None = (stored["metadata"].get("annotations") or {}).get(key)
            return found

        await eventually(lambda: selected() == "a")
        await asyncio.sleep(0.02)
        await api.patch(PERSISTENTVOLUMECLAIMS, "c", {"metadata": {"annotations": {key: None}}})
        await eventually(
            lambda: any("provisioning failed for PVC" in event["note"] for event in api.all(EVENTS))
        )
        await eventually(lambda: selected() == "a")
