import asyncio
from typing import Any

import pytest

from winkube.base.types import JsonObject
from winkube.client.events import EventRecorder
from winkube.client.informer import InformerPool
from winkube.client.resource import CONTROLLERREVISIONS, DAEMONSETS, EVENTS, NODES, PODS
from winkube.controllers.controller import Context
from winkube.controllers.daemonset.backoff import FailedPodBackoff
from winkube.controllers.daemonset.controller import DaemonSetController
from winkube.controllers.daemonset.history import new_revision, plan_cleanup, sort_history
from winkube.controllers.daemonset.placement import (
    Fit,
    daemon_pod,
    daemon_tolerations,
    fit,
    target_node,
)
from winkube.controllers.daemonset.plan import Daemon, plan_placement, plan_status, plan_update
from winkube.testing.fake_api import FakeApi
from winkube.testing.fake_clock import FakeClock
from winkube.testing.tasks import eventually, running

NOW = 1_600_000_000.0
READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}


def daemon_set(strategy: JsonObject | None = None, **pod_spec: Any) -> JsonObject:
    labels = {"app": "agent"}
    container = {"name": "c", "image": pod_spec.pop("image", "agent:1")}
    rolling = {"maxUnavailable": 1, "maxSurge": 0}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "default", "uid": "ds", "generation": 1},
        "spec": {
            "selector": {"matchLabels": labels},
            "revisionHistoryLimit": 10,
            "updateStrategy": strategy or {"type": "RollingUpdate", "rollingUpdate": rolling},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [container], **pod_spec},
            },
        },
    }


def rolling(**limits: Any) -> JsonObject:
    return {"type": "RollingUpdate", "rollingUpdate": limits}


def node(name: str, *taints: tuple[str, str], **labels: str) -> JsonObject:
    listed = [{"key": key, "effect": effect} for key, effect in taints]
    return {"metadata": {"name": name, "labels": labels}, "spec": {"taints": listed}}


def pod(name: str, where: str, digest: str = "new", **facts: Any) -> JsonObject:
    metadata: JsonObject = {
        "name": name,
        "namespace": "default",
        "uid": name,
        "labels": {"app": "agent", "controller-revision-hash": digest},
        "creationTimestamp": facts.get("created", "2020-01-01T00:00:00Z"),
    }
    if facts.get("deleting"):
        metadata["deletionTimestamp"] = "2020-01-01T00:00:00Z"
    conditions = [READY] if facts.get("ready", True) else []
    status = {"phase": facts.get("phase", "Running"), "conditions": conditions}
    return {"metadata": metadata, "spec": {"nodeName": where}, "status": status}


def daemon(subject: JsonObject, nodes: list[JsonObject], *pods: JsonObject) -> Daemon:
    return Daemon(subject, nodes, pods, "new", NOW)


def names(pods: tuple[JsonObject, ...]) -> list[str]:
    return [each["metadata"]["name"] for each in pods]


@pytest.mark.parametrize(
    ("spec", "where", "wanted"),
    [
        ({}, node("a"), Fit(True, True)),
        ({"nodeSelector": {"os": "windows"}}, node("a", os="linux"), Fit(False, False)),
        ({"nodeSelector": {"os": "windows"}}, node("a", os="windows"), Fit(True, True)),
        ({}, node("a", ("os", "NoSchedule")), Fit(False, True)),
        ({}, node("a", ("os", "NoExecute")), Fit(False, False)),
        ({}, node("a", ("os", "PreferNoSchedule")), Fit(True, True)),
        ({}, node("a", ("node.kubernetes.io/unschedulable", "NoSchedule")), Fit(True, True)),
        ({}, node("a", ("node.kubernetes.io/not-ready", "NoExecute")), Fit(True, True)),
        (
            {"tolerations": [{"operator": "Exists"}]},
            node("a", ("os", "NoExecute")),
            Fit(True, True),
        ),
        ({"nodeName": "b"}, node("a"), Fit(False, False)),
    ],
)
def test_node_fits(spec: JsonObject, where: JsonObject, wanted: Fit) -> None:
    assert fit(daemon_set(**spec), where) == wanted


def test_daemons_tolerate_trouble_for_ever() -> None:
    key = "node.kubernetes.io/not-ready"
    mine = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    found = daemon_tolerations({"tolerations": [mine], "hostNetwork": True})
    assert found[0] == {"key": key, "operator": "Exists", "effect": "NoExecute"}
    assert len(found) == 7
    assert found[-1]["key"] == "node.kubernetes.io/network-unavailable"


def test_pod_is_pinned_to_its_node() -> None:
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}
    subject = daemon_set(affinity={"nodeAffinity": preferred})
    subject["metadata"]["annotations"] = {"deprecated.daemonset.template.generation": "3"}
    made = daemon_pod(subject, "win-1", "abc")
    assert target_node(made) == "win-1"
    assert made["metadata"]["generateName"] == "agent-"
    assert made["metadata"]["labels"] == {
        "app": "agent",
        "controller-revision-hash": "abc",
        "pod-template-generation": "3",
    }
    affinity = made["spec"]["affinity"]["nodeAffinity"]
    assert affinity["preferredDuringSchedulingIgnoredDuringExecution"] == [{"weight": 1}]


def test_placement_fills_tidies_and_leaves() -> None:
    nodes = [node("a"), node("b"), node("c"), node("d", ("x", "NoExecute"))]
    plan = plan_placement(
        daemon(
            daemon_set(),
            nodes,
            pod("ok", "b"),
            pod("newer", "b", created="2020-02-01T00:00:00Z"),
            pod("failed", "c", phase="Failed"),
            pod("banned", "d"),
        )
    )
    assert plan.create == ("a",)
    assert sorted(names(plan.delete)) == ["banned", "failed", "newer"]
    assert [note.reason for note in plan.notes] == ["FailedDaemonPod"]
    assert plan.failed == ("c",)


def test_failed_pod_waits_while_its_node_backs_off() -> None:
    subject = daemon(daemon_set(), [node("a")], pod("failed", "a", phase="Failed"))
    assert plan_placement(subject, frozenset({"a"})).delete == ()
    clock = FakeClock()
    backoff = FailedPodBackoff(clock)
    backoff.failed("ds", "a")
    assert backoff.waiting("ds") == {"a": 1.0}
    clock.advance(1.5)
    assert backoff.waiting("ds") == {}
    backoff.failed("ds", "a")
    assert backoff.waiting("ds") == {"a": 2.0}


def test_update_takes_the_unavailable_first_and_keeps_to_the_limit() -> None:
    nodes = [node(name) for name in "abcd"]
    pods = [pod(name, name, "old") for name in "abc"]
    broken = pod("d", "d", "old", ready=False)
    assert names(plan_update(daemon(daemon_set(), nodes, *pods, broken)).delete) == ["d"]
    two = daemon_set(rolling(maxUnavailable="50%", maxSurge=0))
    assert names(plan_update(daemon(two, nodes, *pods, pod("d", "d"))).delete) == ["a", "b"]


def test_surge_adds_a_pod_and_removes_the_old_one_when_the_new_is_available() -> None:
    subject = daemon_set(rolling(maxUnavailable=0, maxSurge=1))
    nodes = [node(name) for name in "ab"]
    old = [pod(name, name, "old") for name in "ab"]
    assert plan_update(daemon(subject, nodes, *old)).create == ("a",)
    waiting = pod("a2", "a", ready=False)
    plan = plan_update(daemon(subject, nodes, *old, waiting))
    assert (plan.create, plan.delete) == ((), ())
    plan = plan_update(daemon(subject, nodes, *old, pod("a2", "a")))
    assert (plan.create, names(plan.delete)) == (("b",), ["a"])


def test_status_counts_nodes() -> None:
    nodes = [node("a"), node("b"), node("c"), node("d", ("x", "NoSchedule"))]
    pods = [pod("a", "a"), pod("b", "b", "old", ready=False), pod("d", "d")]
    status, again = plan_status(daemon(daemon_set(), nodes, *pods), observed=True)
    assert again is None
    assert status == {
        "currentNumberScheduled": 2,
        "desiredNumberScheduled": 3,
        "numberMisscheduled": 1,
        "numberReady": 1,
        "numberAvailable": 1,
        "numberUnavailable": 2,
        "updatedNumberScheduled": 1,
        "observedGeneration": 1,
    }


def test_new_pod_beside_an_old_one_is_looked_at_when_it_becomes_available() -> None:
    subject = daemon_set(rolling(maxSurge=1, maxUnavailable=0))
    subject["spec"]["minReadySeconds"] = 30
    new = pod("new", "a", created="2020-09-13T12:26:30Z")
    new["status"]["conditions"] = [{**READY, "lastTransitionTime": "2020-09-13T12:26:30Z"}]
    status, again = plan_status(
        daemon(subject, [node("a")], pod("old", "a", "old"), new), observed=True
    )
    assert status["numberAvailable"] == status["numberReady"] == 1
    assert again == 20.0  # it is 12:26:40


def test_history_keeps_what_pods_have_and_the_limit() -> None:
    subject = daemon_set()
    subject["spec"]["revisionHistoryLimit"] = 1
    revisions = [new_revision(daemon_set(image=f"agent:{n}"), n) for n in (1, 2, 3, 4)]
    found = sort_history(subject, revisions)
    assert [each["revision"] for each in found.current] == [1]
    assert found.next_number == 5
    digest = revisions[1]["metadata"]["labels"]["controller-revision-hash"]
    removed = plan_cleanup(subject, found.old, [pod("p", "a", digest)])
    assert [each["revision"] for each in removed] == [3, 4]


class Cluster:
    def __init__(self) -> None:
        self.clock = FakeClock(NOW)
        self.api = FakeApi(self.clock)
        recorder = EventRecorder(self.api, "daemonset-controller", clock=self.clock)
        self.context = Context(self.api, InformerPool(self.api), recorder, clock=self.clock)
        self.subject = DaemonSetController(self.context)

    def run(self) -> Any:
        return running(self.context.informers.run(), self.context.recorder.run(), self._control())

    async def _control(self) -> None:
        await self.context.informers.synced()
        await self.subject.run()

    async def play_kubelet(self) -> None:
        for each in self.api.all(PODS):
            name = each["metadata"]["name"]
            if each["metadata"].get("deletionTimestamp"):
                await self.api.delete(PODS, name, options={"gracePeriodSeconds": 0})
            elif each["status"]["phase"] == "Pending":
                status = {"phase": "Running", "conditions": [READY]}
                target = {"target": {"name": target_node(each)}, "metadata": {}}
                await self.api.create(
                    PODS, target, namespace="default", name=name, subresource="binding"
                )
                await self.api.patch(PODS, name, {"status": status}, subresource="status")

    def status(self) -> JsonObject:
        return (self.api.find(DAEMONSETS, "default/agent") or {}).get("status") or {}

    def where(self) -> list[str]:
        return sorted(str(target_node(each)) for each in self.api.all(PODS))


async def test_every_node_gets_a_pod_and_new_nodes_too() -> None:
    cluster = Cluster()
    for name in "ab":
        cluster.api.seed(NODES, node(name))
    cluster.api.seed(DAEMONSETS, daemon_set())
    async with cluster.run():
        await eventually(lambda: cluster.where() == ["a", "b"])
        await cluster.play_kubelet()
        await eventually(lambda: cluster.status().get("numberAvailable") == 2)
        cluster.api.seed(NODES, node("c"))
        await eventually(lambda: cluster.where() == ["a", "b", "c"])
        await cluster.context.recorder.flush()
    (revision,) = cluster.api.all(CONTROLLERREVISIONS)
    assert revision["revision"] == 1
    assert revision["data"]["spec"]["template"]["$patch"] == "replace"
    assert {event["reason"] for event in cluster.api.all(EVENTS)} == {"SuccessfulCreate"}


async def test_change_rolls_through_the_nodes_and_back() -> None:
    cluster = Cluster()
    for name in "abc":
        cluster.api.seed(NODES, node(name))
    cluster.api.seed(DAEMONSETS, daemon_set())
    lowest = 3

    def images() -> set[str]:
        return {each["spec"]["containers"][0]["image"] for each in cluster.api.all(PODS)}

    def settled() -> bool:
        status = cluster.status()
        return status.get("updatedNumberScheduled") == status.get("numberAvailable") == 3

    async with cluster.run():
        await eventually(lambda: len(cluster.where()) == 3)
        await cluster.play_kubelet()
        await eventually(lambda: cluster.status().get("numberAvailable") == 3)
        for image, revisions in (("agent:2", [1, 2]), ("agent:1", [2, 3])):
            template = daemon_set(image=image)["spec"]["template"]
            await cluster.api.patch(DAEMONSETS, "agent", {"spec": {"template": template}})
            for _ in range(2000):
                if images() == {image} and settled():
                    break
                alive = [
                    p for p in cluster.api.all(PODS) if "deletionTimestamp" not in p["metadata"]
                ]
                lowest = min(lowest, len(alive))
                await cluster.play_kubelet()
                await asyncio.sleep(0.001)
            assert settled()
            found = sorted(each["revision"] for each in cluster.api.all(CONTROLLERREVISIONS))
            assert found == revisions
    assert lowest == 2


async def test_on_delete_waits_for_the_user() -> None:
    cluster = Cluster()
    cluster.api.seed(NODES, node("a"))
    cluster.api.seed(DAEMONSETS, daemon_set({"type": "OnDelete"}))
    async with cluster.run():
        await eventually(lambda: cluster.where() == ["a"])
        await cluster.play_kubelet()
        template = daemon_set(image="agent:2")["spec"]["template"]
        await cluster.api.patch(DAEMONSETS, "agent", {"spec": {"template": template}})
        await eventually(lambda: cluster.status().get("observedGeneration") == 2)
        assert "updatedNumberScheduled" not in cluster.status()
        (old,) = cluster.api.all(PODS)
        await cluster.api.delete(PODS, old["metadata"]["name"], options={"gracePeriodSeconds": 0})
        await eventually(
            lambda: (
                [p["spec"]["containers"][0]["image"] for p in cluster.api.all(PODS)] == ["agent:2"]
            )
        )
