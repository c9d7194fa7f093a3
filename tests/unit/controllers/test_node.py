import ipaddress
from typing import Any

import pytest
from tests.unit.controllers.stage import controlling

from winkube.api.errors import ConflictError, InternalError
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.events import EventRecorder
from winkube.client.informer import InformerPool
from winkube.client.resource import EVENTS, LEASES, NODES, PODS, Resource
from winkube.controllers.config import ControllerConfig, ControllerConfigError
from winkube.controllers.controller import Context
from winkube.controllers.node.cidr import CidrPool, NodeCidrController, pod_cidrs
from winkube.controllers.node.eviction import TaintEvictionController, plan_eviction
from winkube.controllers.node.health import plan_taints
from winkube.controllers.node.lifecycle import NodeLifecycleController
from winkube.controllers.pod_gc import PodGarbageCollector, plan_pod_gc
from winkube.testing.fake_api import FakeApi
from winkube.testing.fake_clock import FakeClock
from winkube.testing.tasks import eventually, running


def network(text: str) -> ipaddress.IPv4Network:
    return ipaddress.IPv4Network(text)


def pool(cluster: str, mask: int, *taken: str) -> CidrPool:
    found = CidrPool(cluster, mask)
    for text in taken:
        found.occupy(network(text))
    return found


def test_lowest_free_block_is_given() -> None:
    subject = pool("10.244.0.0/16", 24, "10.244.0.0/24", "10.244.2.0/24")
    assert [str(subject.take()) for _ in range(2)] == ["10.244.1.0/24", "10.244.3.0/24"]
    subject.release(network("10.244.2.0/24"))
    assert str(subject.take()) == "10.244.2.0/24"


def test_block_of_another_size_is_avoided() -> None:
    assert str(pool("10.244.0.0/16", 24, "10.244.0.0/22").take()) == "10.244.4.0/24"
    assert str(pool("10.244.0.0/16", 24, "10.0.0.0/8").take()) == "None"
    assert str(pool("10.244.0.0/16", 24, "192.168.0.0/16").take()) == "10.244.0.0/24"


def test_full_range_gives_nothing_until_a_block_is_free() -> None:
    subject = pool("10.0.0.0/24", 25)
    assert [str(subject.take()) for _ in range(3)] == ["10.0.0.0/25", "10.0.0.128/25", "None"]
    subject.release(network("10.0.0.0/25"))
    assert str(subject.take()) == "10.0.0.0/25"


async def test_node_without_a_network_gets_the_one_of_a_node_that_leaves() -> None:
    api, clock = FakeApi(), FakeClock()
    config = ControllerConfig(cluster_cidr="10.0.0.0/24", node_cidr_mask=24)
    shared = Context(api, InformerPool(api), EventRecorder(api, "test"), config, clock)
    controller = NodeCidrController(shared)
    api.seed(NODES, {"metadata": {"name": "a"}, "spec": {"podCIDR": "10.0.0.0/24"}})
    api.seed(NODES, {"metadata": {"name": "b"}})
    async with controlling(controller):
        await eventually(lambda: controller._hungry == {"b"})
        await api.delete(NODES, "a")
        await eventually(lambda: "podCIDR" in (api.find(NODES, "b") or {}).get("spec", {}))


async def test_each_range_of_the_cluster_gives_a_node_a_block_or_none_does() -> None:
    api, clock = FakeApi(), FakeClock()
    config = ControllerConfig(cluster_cidr="10.0.0.0/24,fd00::/56", node_cidr_mask=24)
    shared = Context(api, InformerPool(api), EventRecorder(api, "test"), config, clock)
    controller = NodeCidrController(shared)
    api.seed(NODES, {"metadata": {"name": "a"}})
    async with controlling(controller):
        await eventually(lambda: "podCIDR" in (api.find(NODES, "a") or {}).get("spec", {}))
        api.seed(NODES, {"metadata": {"name": "b"}})
        await eventually(lambda: controller._hungry == {"b"})
    both = {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24", "fd00::/64"]}
    assert (api.find(NODES, "a") or {})["spec"] == both
    assert "podCIDR" not in (api.find(NODES, "b") or {}).get("spec", {})


def test_a_range_that_is_smaller_than_a_node_s_part_is_refused() -> None:
    with pytest.raises(ControllerConfigError, match="node_cidr_mask 64"):
        ControllerConfig(cluster_cidr="10.244.0.0/16,fd00::/80")


NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("tolerations", "left"),
    [
        ([], 0.0),
        ([{"operator": "Exists"}], None),
        ([{"key": NOT_READY["key"], "operator": "Exists", "tolerationSeconds": 300}], 200.0),
        (
            [
                {"key": NOT_READY["key"], "operator": "Exists", "tolerationSeconds": 300},
                {"operator": "Exists", "tolerationSeconds": 50},
            ],
            0.0,
        ),
        ([{"key": NOT_READY["key"], "effect": "NoSchedule", "operator": "Exists"}], 0.0),
    ],
    ids=["none", "for ever", "300 s", "shortest wins", "other effect"],
)
def test_time_until_eviction(tolerations: list[JsonObject], left: float | None) -> None:
    now = 1_600_000_100.0
    taint = {**NOT_READY, "timeAdded": to_rfc3339(now - 100)}
    assert plan_eviction(tolerations, [taint], now, now) == left


def test_a_taint_without_a_time_counts_from_when_it_was_seen() -> None:
    tolerations = [{"operator": "Exists", "tolerationSeconds": 30}]
    assert plan_eviction(tolerations, [NOT_READY], 100.0, 110.0) == 20.0


def node(name: str, *, ready: str = "True", **spec: Any) -> JsonObject:
    condition = {"type": "Ready", "status": ready, "lastHeartbeatTime": "x"}
    return {"metadata": {"name": name}, "spec": spec, "status": {"conditions": [condition]}}


def test_taints_of_others_stay() -> None:
    mine = {"key": "team", "value": "a", "effect": "NoExecute"}
    stale = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}
    planned = plan_taints(node("n", ready="False", taints=[mine, stale]), 0.0, evict=True)
    assert planned is not None
    assert [(taint["key"], taint["effect"]) for taint in planned] == [
        ("team", "NoExecute"),
        ("node.kubernetes.io/not-ready", "NoSchedule"),
        ("node.kubernetes.io/not-ready", "NoExecute"),
    ]


def test_healthy_node_has_nothing_to_change() -> None:
    assert plan_taints(node("n"), 0.0, evict=True) is None


def context(api: FakeApi, clock: FakeClock) -> Context:
    config = ControllerConfig(node_monitor_period=0.005)
    return Context(api, InformerPool(api), EventRecorder(api, "test"), config, clock)


def lease(name: str, renewed: str) -> JsonObject:
    return {
        "metadata": {"name": name, "namespace": "kube-node-lease"},
        "spec": {"renewTime": renewed},
    }


def taints(api: FakeApi, name: str) -> set[tuple[str, str]]:
    found = api.find(NODES, name) or {}
    listed = found.get("spec", {}).get("taints") or ()
    return {(taint["key"].rpartition("/")[2], taint["effect"]) for taint in listed}


async def test_silent_node_is_unknown_and_tainted_until_it_speaks() -> None:
    api, clock = FakeApi(), FakeClock()
    for name in ("a", "b"):
        api.seed(NODES, node(name))
        api.seed(LEASES, lease(name, "1"))
    ready = {"type": "Ready", "status": "True"}
    pod = {"metadata": {"name": "p"}, "spec": {"nodeName": "a"}, "status": {"conditions": [ready]}}
    api.seed(PODS, pod)
    shared = context(api, clock)
    controller = NodeLifecycleController(shared)
    async with controlling(controller):
        await eventually(lambda: len(controller._pulses) == 2)
        clock.advance(40)
        await api.patch(LEASES, "b", lease("b", "2"), namespace="kube-node-lease")
        await eventually(lambda: controller._pulses["b"].lease == "2")
        clock.advance(20)
        both = {("unreachable", "NoSchedule"), ("unreachable", "NoExecute")}
        await eventually(lambda: taints(api, "a") == both)
        assert taints(api, "b") == set()
        found = (api.find(NODES, "a") or {})["status"]["conditions"][0]
        assert found["reason"] == "NodeStatusUnknown"
        await eventually(lambda: api.all(PODS)[0]["status"]["conditions"][0]["status"] == "False")
        await api.patch(LEASES, "a", lease("a", "3"), namespace="kube-node-lease")
        await api.patch(NODES, "a", node("a"), subresource="status")
        await eventually(lambda: taints(api, "a") == set())


async def test_node_that_speaks_for_itself_keeps_its_pods_ready() -> None:
    """Whoever says that it is not ready is not silent: its kubelet says what its pods are."""
    api, clock = FakeApi(), FakeClock()
    unready = [{"type": "Ready", "status": "False", "lastHeartbeatTime": "1"}]
    api.seed(NODES, node("b"))
    api.seed(NODES, node("a"))
    api.seed(NODES, {"metadata": {"name": "new", "creationTimestamp": "2020-01-01T00:00:00Z"}})
    ready = {"type": "Ready", "status": "True"}
    status = {"conditions": [ready]}
    api.seed(PODS, {"metadata": {"name": "p"}, "spec": {"nodeName": "a"}, "status": status})
    controller = NodeLifecycleController(context(api, clock))
    async with controlling(controller):
        await eventually(lambda: len(controller._pulses) == 3)
        await api.patch(NODES, "a", {"status": {"conditions": unready}}, subresource="status")
        await eventually(lambda: ("not-ready", "NoExecute") in taints(api, "a"))
        # Of one that never spoke nothing is known.
        for name, place in (("r", "new"), ("q", "a")):
            metadata = {"name": name}
            api.seed(PODS, {"metadata": metadata, "spec": {"nodeName": place}, "status": status})

        def told() -> list[str]:
            found = sorted(api.all(PODS), key=lambda pod: str(pod["metadata"]["name"]))
            return [pod["status"]["conditions"][0]["status"] for pod in found]

        await eventually(lambda: told() == ["True", "False", "True"])


async def test_node_that_never_spoke_has_longer() -> None:
    api, clock = FakeApi(), FakeClock()
    api.seed(NODES, {"metadata": {"name": "new", "creationTimestamp": "2020-01-01T00:00:00Z"}})
    api.seed(NODES, node("old"))
    controller = NodeLifecycleController(context(api, clock))
    async with controlling(controller):
        await eventually(lambda: len(controller._pulses) == 2)
        clock.advance(55)
        await eventually(lambda: ("unreachable", "NoSchedule") in taints(api, "old"))
        assert taints(api, "new") == set()
        clock.advance(6)
        await eventually(lambda: ("unreachable", "NoSchedule") in taints(api, "new"))
        found = (api.find(NODES, "new") or {})["status"]["conditions"][0]
        assert found["reason"] == "NodeStatusNeverUpdated"


async def test_nothing_is_evicted_when_every_node_is_silent() -> None:
    api, clock = FakeApi(), FakeClock()
    for name in ("a", "b"):
        api.seed(NODES, node(name))
    shared = context(api, clock)
    controller = NodeLifecycleController(shared)
    async with controlling(controller):
        await eventually(lambda: len(controller._pulses) == 2)
        clock.advance(60)
        await eventually(lambda: taints(api, "a") and taints(api, "b"))
        assert taints(api, "a") == {("unreachable", "NoSchedule")}


async def test_pod_that_does_not_tolerate_is_evicted() -> None:
    api, clock = FakeApi(), FakeClock()
    api.seed(NODES, node("n", taints=[NOT_READY]))
    tolerant = {"nodeName": "n", "tolerations": [{"operator": "Exists"}]}
    api.seed(PODS, {"metadata": {"name": "stays"}, "spec": tolerant})
    api.seed(PODS, {"metadata": {"name": "goes"}, "spec": {"nodeName": "n"}})
    shared = context(api, clock)
    controller = TaintEvictionController(shared)
    async with controlling(controller):
        await eventually(
            lambda: (api.find(PODS, "default/goes") or {})["metadata"].get("deletionTimestamp")
        )
    assert "deletionTimestamp" not in (api.find(PODS, "default/stays") or {})["metadata"]
    (why,) = (api.find(PODS, "default/goes") or {})["status"]["conditions"]
    assert (why["type"], why["reason"]) == ("DisruptionTarget", "DeletionByTaintManager")


async def test_eviction_that_met_a_conflict_is_tried_again_without_another_wait() -> None:
    api, clock = FakeApi(), FakeClock()
    api.seed(NODES, node("n", taints=[NOT_READY]))
    patient = {"nodeName": "n", "tolerations": [{"operator": "Exists", "tolerationSeconds": 60}]}
    api.seed(PODS, {"metadata": {"name": "p"}, "spec": patient})
    shared = context(api, clock)
    controller = TaintEvictionController(shared)
    async with controlling(controller):
        await eventually(lambda: controller._planned)
        clock.advance(60)
        api.fail_next(ConflictError("the object has been modified"))
        controller.queue.add("default/p")
        await eventually(
            lambda: (api.find(PODS, "default/p") or {})["metadata"].get("deletionTimestamp")
        )


async def test_a_planned_eviction_is_called_off_when_the_taint_goes() -> None:
    api, clock = FakeApi(), FakeClock()
    api.seed(NODES, node("n", taints=[NOT_READY]))
    patient = {"nodeName": "n", "tolerations": [{"operator": "Exists", "tolerationSeconds": 60}]}
    api.seed(PODS, {"metadata": {"name": "p"}, "spec": patient})
    shared = context(api, clock)
    controller = TaintEvictionController(shared)
    async with controlling(controller):
        await eventually(lambda: controller._planned)
        await api.patch(NODES, "n", {"spec": {"taints": None}})
        await eventually(lambda: api.all(EVENTS))
    (said,) = api.all(EVENTS)
    assert said["message"] == "Cancelling deletion of Pod default/p"


async def test_pods_of_a_node_that_is_gone_are_removed_after_a_while() -> None:
    api, clock = FakeApi(), FakeClock()
    api.seed(NODES, node("here"))
    api.seed(PODS, {"metadata": {"name": "lost"}, "spec": {"nodeName": "gone"}})
    api.seed(PODS, {"metadata": {"name": "fine"}, "spec": {"nodeName": "here"}})
    shared = context(api, clock)
    controller = PodGarbageCollector(shared)
    async with running(shared.informers.run()):
        await shared.informers.synced()
        await controller.sweep()
        assert len(api.all(PODS)) == 2
        clock.advance(41)
        api.fail_next(ConflictError("the object has been modified"))
        await controller.sweep()
        assert len(api.all(PODS)) == 2, "its owner was not told what became of it"
        await controller.sweep()
    assert [pod["metadata"]["name"] for pod in api.all(PODS)] == ["fine"]


async def test_pods_that_go_and_have_nobody_to_end_them_are_failed_and_removed() -> None:
    """Never scheduled, or on a node that is declared dead; a finalizer shows what was said."""
    api, clock = FakeApi(), FakeClock()
    taint = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
    down = [{"type": "Ready", "status": "Unknown"}]
    up = [{"type": "Ready", "status": "True"}]
    for name, taints, conditions in (
        ("dead", [taint], down),
        ("alive", [taint], up),
        ("silent", [], down),
    ):
        body = {"spec": {"taints": taints}, "status": {"conditions": conditions}}
        api.seed(NODES, {"metadata": {"name": name}, **body})
    for place in ("", "dead", "alive", "silent"):
        meta = {
            "name": f"on-{place or 'none'}",
            "finalizers": ["example.com/wait"],
            "generation": 2,
        }
        going = {**meta, "deletionTimestamp": "2020-01-01T00:00:00Z"}
        phase = {"phase": "Running" if place else "Pending"}
        api.seed(PODS, {"metadata": going, "spec": {"nodeName": place}, "status": phase})
    shared = context(api, clock)
    controller = PodGarbageCollector(shared)
    async with running(shared.informers.run()):
        await shared.informers.synced()
        await controller.sweep()
    phases = {each["metadata"]["name"]: each["status"]["phase"] for each in api.all(PODS)}
    failed = {name for name, phase in phases.items() if phase == "Failed"}
    assert failed == {"on-none", "on-dead"}
    seen = {each["status"].get("observedGeneration") for each in api.all(PODS)}
    assert seen == {2, None}
    assert all("conditions" not in each["status"] for each in api.all(PODS))


async def test_a_pod_that_cannot_be_collected_does_not_keep_the_others() -> None:
    class Refusing(FakeApi):
        async def update(
            self, resource: Resource, obj: JsonObject, *, subresource: str | None = None
        ) -> JsonObject:
            if obj["metadata"]["name"] == "first":
                raise InternalError("a webhook does not answer")
            return await super().update(resource, obj, subresource=subresource)

    api, clock = Refusing(), FakeClock()
    for name in ("first", "second"):
        api.seed(PODS, {"metadata": {"name": name}, "spec": {"nodeName": "gone"}})
    shared = context(api, clock)
    controller = PodGarbageCollector(shared)
    async with running(shared.informers.run()):
        await shared.informers.synced()
        await controller.sweep()
        clock.advance(41)
        await controller.sweep()
    assert [pod["metadata"]["name"] for pod in api.all(PODS)] == ["first"]


def test_oldest_ended_pods_go_beyond_the_threshold() -> None:
    pods = [
        {
            "metadata": {"name": f"p{n}", "creationTimestamp": f"2020-01-0{9 - n}"},
            "spec": {"nodeName": "n"},
            "status": {"phase": "Succeeded"},
        }
        for n in range(4)
    ]
    plan = plan_pod_gc(pods, {"n": node("n")}, {}, 2)
    assert [pod["metadata"]["name"] for pod in plan.ended] == ["p3", "p2"]


async def test_nodes_that_come_and_go_are_told_of() -> None:
    api, clock = FakeApi(), FakeClock()
    recorder = EventRecorder(api, "test", clock=clock)
    shared = Context(api, InformerPool(api), recorder, ControllerConfig(), clock)
    controller = NodeLifecycleController(shared)

    def said() -> set[str]:
        return {event["message"] for event in api.all(EVENTS)}

    async with running(shared.informers.run(), recorder.run(), controller.run()):
        await shared.informers.synced()
        await api.create(NODES, {"metadata": {"name": "a"}})
        await eventually(lambda: "Node a event: Registered Node a in Controller" in said())
        await api.delete(NODES, "a")
        await eventually(lambda: "Node a event: Removing Node a from Controller" in said())


def test_networks_in_odd_forms_are_read_as_the_api_reads_them() -> None:
    odd = ["010.244.1.0/024", "10.244.2.7/24", "fd00:0::/64"]
    found = [str(network) for network in pod_cidrs({"spec": {"podCIDRs": odd}})]
    assert found == ["10.244.1.0/24", "10.244.2.0/24", "fd00::/64"]
    assert pod_cidrs({"spec": {"podCIDR": "x"}}) == []
