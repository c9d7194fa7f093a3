from typing import Any

import pytest
from tests.unit.controllers.stage import controlling, make_context

from winkube.base.types import JsonObject
from winkube.client.resource import (
    EVENTS,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODS,
    STORAGECLASSES,
    VOLUMEATTRIBUTESCLASSES,
    Resource,
)
from winkube.controllers.config import ControllerConfig
from winkube.controllers.controller import Controller
from winkube.controllers.volume.attributes import AttributesClassProtection
from winkube.controllers.volume.binder import PersistentVolumeBinder
from winkube.controllers.volume.expansion import VolumeExpander
from winkube.controllers.volume.local_path import LocalPathProvisioner, new_volume
from winkube.controllers.volume.plan import (
    ClaimView,
    bound_volume,
    plan_claim,
    plan_reclaim,
    plan_volume,
    unbound_volume,
)
from winkube.controllers.volume.protection import (
    ClaimProtection,
    ServedPods,
    VolumeProtection,
    plan_finalizers,
)
from winkube.controllers.volume.usage import is_using
from winkube.testing.fake_api import FakeApi
from winkube.testing.fake_clock import FakeClock
from winkube.testing.tasks import eventually, running

BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
DELAYED = {
    "metadata": {"name": "standard"},
    "provisioner": "winkube.io/local-path",
    "reclaimPolicy": "Delete",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def claim(annotations: dict[str, str] | None = None, **spec: Any) -> JsonObject:
    body = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    metadata = {"name": "c", "namespace": "default", "uid": "c1", "annotations": annotations or {}}
    return {"metadata": metadata, "spec": {**body, **spec}, "status": {"phase": "Pending"}}


def volume(name: str = "v", phase: str = "Available", **spec: Any) -> JsonObject:
    body = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "2Gi"},
        "persistentVolumeReclaimPolicy": "Retain",
    }
    return {
        "metadata": {"name": name},
        "spec": {**body, **spec},
        "status": {"phase": phase},
    }


REFERENCE = {"namespace": "default", "name": "c", "uid": "c1"}


def test_claim_takes_a_volume_that_fits() -> None:
    free = volume()
    assert plan_claim(ClaimView(claim(), [free])).bind is free


def test_claim_without_volume_or_class_waits_and_says_so() -> None:
    plan = plan_claim(ClaimView(claim(), []))
    assert plan.phase == "Pending"
    assert plan.note is not None
    assert plan.note.reason == "FailedBinding"


@pytest.mark.parametrize(
    ("pods", "reason", "message"),
    [
        ([], "WaitForFirstConsumer", "waiting for first consumer to be created before binding"),
        (["a"], "WaitForPodScheduled", "waiting for pod a to be scheduled"),
        (["a", "b"], "WaitForPodScheduled", "waiting for pods a,b to be scheduled"),
    ],
)
def test_delayed_claim_waits_for_its_pod(pods: list[str], reason: str, message: str) -> None:
    wanted = claim(storageClassName="standard")
    plan = plan_claim(ClaimView(wanted, [], storage_class=DELAYED, waiting_pods=pods))
    assert plan.note is not None
    assert (plan.phase, plan.note.reason, plan.note.message) == ("Pending", reason, message)


def test_claim_with_a_selected_node_is_given_to_the_provisioner() -> None:
    wanted = claim({"volume.kubernetes.io/selected-node": "n"}, storageClassName="standard")
    plan = plan_claim(ClaimView(wanted, [], storage_class=DELAYED))
    assert plan.provisioner == "winkube.io/local-path"
    assert plan.note is not None
    assert plan.note.reason == "ExternalProvisioning"


def test_class_that_is_missing_or_makes_nothing_is_said() -> None:
    wanted = claim(storageClassName="x")
    missing = plan_claim(ClaimView(wanted, [])).note
    assert missing is not None
    assert missing.message == 'storageclass.storage.k8s.io "x" not found'
    barren = {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "Immediate"}
    nothing = plan_claim(ClaimView(wanted, [], storage_class=barren)).note
    assert nothing is not None
    assert nothing.reason == "ProvisioningFailed"


def test_named_volume_is_taken_refused_or_waited_for() -> None:
    wanted = claim(volumeName="v")
    assert plan_claim(ClaimView(wanted, [])).phase == "Pending"
    assert plan_claim(ClaimView(wanted, [], volume())).bind is not None
    small = plan_claim(ClaimView(wanted, [], volume(capacity={"storage": "1Mi"}))).note
    assert small is not None
    assert small.message == 'Cannot bind to requested volume "v": requested PV is too small'
    taken = volume(claimRef={"namespace": "default", "name": "other", "uid": "o"})
    other = plan_claim(ClaimView(wanted, [], taken)).note
    assert other is not None
    assert other.message == 'volume "v" already bound to a different claim.'


@pytest.mark.parametrize(
    ("spec", "named", "reason"),
    [
        ({}, None, "ClaimLost"),
        ({"volumeName": "v"}, None, "ClaimLost"),
        ({"volumeName": "v"}, volume(claimRef={**REFERENCE, "uid": "x"}), "ClaimMisbound"),
    ],
)
def test_bound_claim_that_lost_its_volume_is_lost(
    spec: JsonObject, named: JsonObject | None, reason: str
) -> None:
    plan = plan_claim(ClaimView(claim(BOUND, **spec), [], named))
    assert plan.note is not None
    assert (plan.phase, plan.note.reason, plan.once) == ("Lost", reason, True)


@pytest.mark.parametrize(
    ("subject", "owner", "phase"),
    [
        (volume(), None, "Available"),
        (volume(claimRef={"namespace": "default", "name": "c"}), None, "Available"),
        (volume(claimRef=REFERENCE), None, "Released"),
        (volume(claimRef=REFERENCE), claim(volumeName="v"), "Bound"),
    ],
    ids=["free", "reserved", "released", "bound"],
)
def test_phase_of_a_volume(subject: JsonObject, owner: JsonObject | None, phase: str) -> None:
    assert plan_volume(subject, owner).phase == phase


def test_volume_whose_claim_went_elsewhere_is_freed() -> None:
    bound = bound_volume(volume(), claim())
    assert plan_volume(bound, claim(volumeName="w")).unbind
    freed = unbound_volume(bound)
    assert "claimRef" not in freed["spec"]
    assert "annotations" not in freed["metadata"]
    written = volume(claimRef=REFERENCE)
    assert unbound_volume(written)["spec"]["claimRef"] == {"namespace": "default", "name": "c"}


@pytest.mark.parametrize(
    ("spec", "delete", "reason"),
    [
        ({}, False, None),
        ({"persistentVolumeReclaimPolicy": "Recycle"}, False, "VolumeFailedRecycle"),
        ({"persistentVolumeReclaimPolicy": "Delete", "local": {}}, False, "VolumeFailedDelete"),
        (
            {"persistentVolumeReclaimPolicy": "Delete", "hostPath": {"path": "/etc"}},
            False,
            "VolumeFailedDelete",
        ),
        ({"persistentVolumeReclaimPolicy": "Delete", "hostPath": {"path": "/tmp/x"}}, True, None),
        ({"persistentVolumeReclaimPolicy": "Delete", "csi": {}}, False, None),
    ],
)
def test_reclaiming_a_volume_made_by_hand(
    spec: JsonObject, delete: bool, reason: str | None
) -> None:
    found, note = plan_reclaim(volume(**spec))
    assert found is delete
    assert (None if note is None else note.reason) == reason


def test_finalizer_is_put_on_and_taken_off() -> None:
    assert plan_finalizers(volume(), "f", in_use=False) == ["f"]
    going = {"metadata": {"deletionTimestamp": "now", "finalizers": ["a", "f"]}}
    assert plan_finalizers(going, "f", in_use=True) is None
    assert plan_finalizers(going, "f", in_use=False) == ["a"]


def pod(node: str = "n") -> JsonObject:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]
    metadata = {"name": "p", "namespace": "default", "uid": "p1"}
    return {"metadata": metadata, "spec": {"nodeName": node, "volumes": volumes}}


def test_claim_is_used_by_pods_that_have_a_node() -> None:
    assert is_using(pod(), claim())
    assert not is_using(pod(node=""), claim())


def node(name: str, system: str) -> JsonObject:
    labels = {"kubernetes.io/os": system, "kubernetes.io/hostname": name}
    return {"metadata": {"name": name, "labels": labels}}


@pytest.mark.parametrize(
    ("system", "path"),
    [
        ("linux", "/var/lib/winkube/local-path/pvc-c1_default_c"),
        ("windows", "C:\\local-path\\pvc-c1_default_c"),
    ],
)
def test_volume_is_a_folder_of_the_selected_node(system: str, path: str) -> None:
    wanted = claim(storageClassName="standard")
    made = new_volume(wanted, DELAYED, node("n1", system), ControllerConfig())
    assert made["metadata"]["name"] == "pvc-c1"
    assert made["spec"]["hostPath"] == {"path": path, "type": "DirectoryOrCreate"}
    term = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]
    assert term["matchExpressions"][0]["values"] == ["n1"]
    assert made["spec"]["capacity"] == {"storage": "1Gi"}
    assert made["spec"]["claimRef"]["uid"] == "c1"


def phases(api: FakeApi) -> tuple[str | None, str | None]:
    found = [api.find(PERSISTENTVOLUMECLAIMS, "default/c"), *api.all(PERSISTENTVOLUMES)[:1]]
    said = [(each or {}).get("status", {}).get("phase") for each in found]
    return said[0], said[1] if len(said) > 1 else None


async def test_pair_is_bound_and_released_and_the_folder_goes_with_its_claim() -> None:
    api = FakeApi()
    api.seed(STORAGECLASSES, DELAYED)
    api.seed(NODES, node("n1", "linux"))
    api.seed(PERSISTENTVOLUMECLAIMS, claim(storageClassName="standard"))
    context = make_context(api)
    subjects = [
        make(context)
        for make in (
            PersistentVolumeBinder,
            LocalPathProvisioner,
            ClaimProtection,
            VolumeProtection,
        )
    ]
    async with controlling(*subjects):
        await eventually(
            lambda: "WaitForFirstConsumer" in {each["reason"] for each in api.all(EVENTS)}
        )
        note = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n1"}}}
        await api.patch(PERSISTENTVOLUMECLAIMS, "c", note)
        await eventually(lambda: phases(api) == ("Bound", "Bound"))
        bound = api.find(PERSISTENTVOLUMECLAIMS, "default/c") or {}
        assert bound["spec"]["volumeName"] == "pvc-c1"
        assert bound["status"]["capacity"] == {"storage": "1Gi"}
        assert bound["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
        api.seed(PODS, {**pod(), "status": {"phase": "Running"}})
        await eventually(lambda: context.informers[PODS].get("default/p") is not None)
        await api.delete(PERSISTENTVOLUMECLAIMS, "c")
        await eventually(
            lambda: (
                "deletionTimestamp"
                in (context.informers[PERSISTENTVOLUMECLAIMS].get("default/c") or {"metadata": {}})[
                    "metadata"
                ]
            )
        )
        assert api.find(PERSISTENTVOLUMECLAIMS, "default/c") is not None
        await api.delete(PODS, "p", options={"gracePeriodSeconds": 0})
        await eventually(lambda: api.find(PERSISTENTVOLUMECLAIMS, "default/c") is None)
        held = "external-provisioner.volume.kubernetes.io/finalizer"
        await eventually(
            lambda: (
                (api.find(PERSISTENTVOLUMES, "pvc-c1") or {})["metadata"].get("finalizers")
                == [held]
            )
        )
        released = api.find(PERSISTENTVOLUMES, "pvc-c1") or {}
        assert released["status"]["phase"] == "Released"
        assert released["metadata"]["deletionTimestamp"]
        # The node leaves: nobody can remove the folder any more.
        await api.delete(NODES, "n1")
        await eventually(lambda: api.find(PERSISTENTVOLUMES, "pvc-c1") is None)
    reasons = {each["reason"] for each in api.all(EVENTS)}
    assert {"ExternalProvisioning", "Provisioning", "ProvisioningSucceeded"} <= reasons


async def test_retained_volume_stays_released() -> None:
    api = FakeApi()
    api.seed(PERSISTENTVOLUMES, volume(phase="Pending", hostPath={"path": "/x"}))
    api.seed(PERSISTENTVOLUMECLAIMS, claim())
    context = make_context(api)
    subject = PersistentVolumeBinder(context)
    async with controlling(subject):
        await eventually(lambda: phases(api) == ("Bound", "Bound"))
        await api.delete(PERSISTENTVOLUMECLAIMS, "c")
        await eventually(lambda: phases(api) == (None, "Released"))
        assert (api.find(PERSISTENTVOLUMES, "v") or {})["spec"]["claimRef"]["uid"] == "c1"


@pytest.mark.parametrize("kind", [PersistentVolumeBinder, LocalPathProvisioner])
async def test_claims_and_volumes_of_a_namespace_wait_for_each_other_alone(
    kind: type[Controller],
) -> None:
    api = FakeApi()
    api.seed(PERSISTENTVOLUMES, volume("theirs", claimRef={"namespace": "flood", "name": "c-1"}))
    api.seed(PERSISTENTVOLUMES, volume("ours", claimRef={"namespace": "shop", "name": "c"}))
    context = make_context(api)
    subject = kind(context)
    async with running(context.informers.run()):
        await context.informers.synced()
        for number in range(1000):
            subject.queue.add(f"claims/flood/c-{number}")
        subject.queue.add("claims/shop/c")
        taken: list[str] = []
        while not {"claims/shop/c", "volumes/ours", "volumes/theirs"} <= {*taken}:
            async with subject.queue.take() as key:
                taken.append(key)
    assert len(taken) < 10, taken


async def test_pods_are_listed_once_for_all_claims_that_go_together() -> None:
    class Counting(FakeApi):
        lists = 0

        async def list(self, resource: Resource, **options: Any) -> JsonObject:
            self.lists += resource == PODS
            return await super().list(resource, **options)

    api = Counting()
    claims = []
    for number in range(50):
        fresh = claim()
        fresh["metadata"] |= {"name": f"c-{number}", "uid": f"c-{number}"}
        claims.append(await api.create(PERSISTENTVOLUMECLAIMS, fresh))
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c-7"}}]
    spec = {"nodeName": "n", "volumes": volumes}
    await api.create(PODS, {"metadata": {"name": "p"}, "spec": spec})
    clock = FakeClock()
    served = ServedPods(api, clock)
    clock.advance(10)
    found = [await served.use(each) for each in claims]
    assert found == [number == 7 for number in range(50)]
    assert api.lists == 1
    # What is newer than the list may be used by a pod that is newer, too.
    late = claim()
    late["metadata"] |= {"name": "late", "uid": "late"}
    clock.advance(0.1)
    assert not await served.use(await api.create(PERSISTENTVOLUMECLAIMS, late))
    assert api.lists == 2
    # A pod that was seen may have gone, and time alone makes a list old.
    await api.delete(PODS, "p", options={"gracePeriodSeconds": 0})
    clock.advance(0.1)
    assert not await served.use(claims[7])
    assert api.lists == 3
    clock.advance(5)
    assert not await served.use(claims[8])
    assert api.lists == 4


async def test_claim_that_asks_for_more_waits_for_somebody_outside() -> None:
    api = FakeApi()
    api.seed(PERSISTENTVOLUMES, volume(claimRef={"uid": "c1"}))
    bound = claim(volumeName="v")
    api.seed(
        PERSISTENTVOLUMECLAIMS,
        {**bound, "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}},
    )
    more = {"resources": {"requests": {"storage": "2Gi"}}}
    async with controlling(VolumeExpander(make_context(api))):
        await api.patch(PERSISTENTVOLUMECLAIMS, "c", {"spec": more})
        await eventually(lambda: len(api.all(EVENTS)) == 1)
        await api.patch(PERSISTENTVOLUMECLAIMS, "c", {"status": {"capacity": {"storage": "2Gi"}}})
    told = api.all(EVENTS)[0]
    assert (told["reason"], told["source"]["component"]) == ("ExternalExpanding", "volume_expand")


async def test_class_of_attributes_stays_until_the_last_claim_has_another() -> None:
    api = FakeApi()
    api.seed(VOLUMEATTRIBUTESCLASSES, {"metadata": {"name": "fast"}, "driverName": "d"})
    api.seed(PERSISTENTVOLUMECLAIMS, claim(volumeAttributesClassName="fast"))
    async with controlling(AttributesClassProtection(make_context(api))):
        await eventually(
            lambda: (
                api.all(VOLUMEATTRIBUTESCLASSES)[0]["metadata"].get("finalizers")
                == ["kubernetes.io/vac-protection"]
            )
        )
        changing = {"status": {"modifyVolumeStatus": {"targetVolumeAttributesClassName": "fast"}}}
        await api.patch(PERSISTENTVOLUMECLAIMS, "c", changing)
        await api.delete(VOLUMEATTRIBUTESCLASSES, "fast")
        await api.patch(
            PERSISTENTVOLUMECLAIMS, "c", {"spec": {"volumeAttributesClassName": "slow"}}
        )
        assert api.find(VOLUMEATTRIBUTESCLASSES, "fast") is not None
        await api.patch(PERSISTENTVOLUMECLAIMS, "c", {"status": {"modifyVolumeStatus": None}})
        await eventually(lambda: api.find(VOLUMEATTRIBUTESCLASSES, "fast") is None)
