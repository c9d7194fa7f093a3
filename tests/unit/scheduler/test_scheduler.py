from pathlib import Path
from typing import Any

from winkube.api.errors import InternalError
from winkube.base.types import JsonObject
from winkube.client.resource import NODES, PODS, Resource
from winkube.scheduler.config import SchedulerConfig
from winkube.scheduler.recorder import EVENTS
from winkube.scheduler.scheduler import Scheduler
from winkube.testing.fake_api import FakeApi
from winkube.testing.tasks import eventually, running

CONFIG = SchedulerConfig(initial_backoff=0.01, max_backoff=0.02)


def node(name: str) -> JsonObject:
    allocatable = {"cpu": "2", "memory": "4Gi", "pods": "110"}
    return {"metadata": {"name": name}, "status": {"allocatable": allocatable}}


def pod(name: str, cpu: str = "100m", **spec: object) -> JsonObject:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def node_of(api: FakeApi, name: str) -> str:
    found = api.find(PODS, f"default/{name}") or {}
    return str(found.get("spec", {}).get("nodeName", ""))


def events(api: FakeApi, reason: str) -> list[str]:
    return [event["note"] for event in api.all(EVENTS) if event["reason"] == reason]


async def test_pod_is_bound_and_the_event_says_where() -> None:
    api = FakeApi()
    api.seed(NODES, node("win-1"))
    async with running(Scheduler(api, CONFIG).run()):
        await api.create(PODS, pod("web"))
        await eventually(lambda: node_of(api, "web") == "win-1")
        await eventually(lambda: events(api, "Scheduled"))
    assert events(api, "Scheduled") == ["Successfully assigned default/web to win-1"]


async def test_pod_without_room_says_so_and_goes_when_a_node_comes() -> None:
    api = FakeApi()
    api.seed(NODES, node("win-1"))
    api.seed(PODS, pod("big", cpu="3"))
    async with running(Scheduler(api, CONFIG).run()):
        await eventually(lambda: events(api, "FailedScheduling"))
        await eventually(lambda: (api.find(PODS, "default/big") or {})["status"].get("conditions"))
        found = api.find(PODS, "default/big") or {}
        condition = found["status"]["conditions"][0]
        assert condition["reason"] == "Unschedulable"
        assert condition["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
        larger = node("win-2")
        larger["status"]["allocatable"]["cpu"] = "8"
        await api.create(NODES, larger)
        await eventually(lambda: node_of(api, "big") == "win-2")


async def test_room_of_a_deleted_pod_is_used_again() -> None:
    api = FakeApi()
    api.seed(NODES, node("n"))
    api.seed(PODS, pod("first", cpu="2"))
    async with running(Scheduler(api, CONFIG).run()):
        await eventually(lambda: node_of(api, "first"))
        await api.create(PODS, pod("second", cpu="2"))
        await eventually(lambda: events(api, "FailedScheduling"))
        await api.delete(PODS, "first", options={"gracePeriodSeconds": 0})
        await eventually(lambda: node_of(api, "second"))


async def test_finished_pod_takes_up_no_room() -> None:
    api = FakeApi()
    api.seed(NODES, node("n"))
    api.seed(PODS, pod("first", cpu="2"))
    async with running(Scheduler(api, CONFIG).run()):
        await eventually(lambda: node_of(api, "first"))
        await api.patch(PODS, "first", {"status": {"phase": "Succeeded"}}, subresource="status")
        await api.create(PODS, pod("second", cpu="2"))
        await eventually(lambda: node_of(api, "second"))


async def test_failed_binding_is_tried_again() -> None:
    api = FakeApi()
    api.seed(NODES, node("n"))
    api.seed(PODS, pod("p"))
    api.fail_next(InternalError("down"))
    async with running(Scheduler(api, CONFIG).run()):
        await eventually(lambda: node_of(api, "p") == "n")


async def test_gated_and_foreign_pods_are_left_alone() -> None:
    api = FakeApi()
    api.seed(NODES, node("n"))
    api.seed(PODS, pod("gated", schedulingGates=[{"name": "g"}]))
    api.seed(PODS, pod("foreign", schedulerName="mine"))
    api.seed(PODS, pod("plain"))
    async with running(Scheduler(api, CONFIG).run()):
        await eventually(lambda: node_of(api, "plain"))
        assert node_of(api, "gated") == node_of(api, "foreign") == ""
        await api.patch(PODS, "gated", {"spec": {"schedulingGates": None}})
        await eventually(lambda: node_of(api, "gated"))


def conditions(api: FakeApi, name: str) -> dict[str, JsonObject]:
    found = api.find(PODS, f"default/{name}") or {}
    listed = (found.get("status") or {}).get("conditions") or []
    return {condition["type"]: condition for condition in listed}


async def test_lesser_pod_makes_room_and_the_greater_goes_there_when_it_is_gone() -> None:
    api = FakeApi()
    api.seed(NODES, node("n"))
    low = pod("low", cpu="2", terminationGracePeriodSeconds=30, nodeName="n", priority=1)
    api.seed(PODS, low)
    async with running(Scheduler(api, CONFIG).run()):
        await api.create(PODS, pod("vip", cpu="2", priority=10))
        await eventually(lambda: events(api, "Preempted"))
        target = conditions(api, "low")["DisruptionTarget"]
        assert target["reason"] == "PreemptionByScheduler"
        assert target["message"] == (
            "default-scheduler: preempting to accommodate a higher priority pod"
        )
        leaving = api.find(PODS, "default/low") or {}
        assert leaving["metadata"]["deletionTimestamp"]
        vip = api.find(PODS, "default/vip") or {}
        assert events(api, "Preempted") == [f"Preempted by pod {vip['metadata']['uid']} on node n"]
        await eventually(
            lambda: (api.find(PODS, "default/vip") or {})["status"].get("nominatedNodeName") == "n"
        )
        message = conditions(api, "vip")["PodScheduled"]["message"]
        assert message == "0/1 nodes are available: 1 Insufficient cpu."
        # Others do not get the room, whether they come before or after the victim is gone.
        await api.create(PODS, pod("rival", cpu="1", priority=5))
        await eventually(lambda: conditions(api, "rival"))
        await api.delete(PODS, "low", options={"gracePeriodSeconds": 0})
        await eventually(lambda: node_of(api, "vip") == "n")
        assert node_of(api, "rival") == ""


async def test_victim_that_cannot_be_deleted_is_tried_again() -> None:
    api = FakeApi()
    api.seed(NODES, node("n"))
    api.seed(PODS, pod("low", cpu="2", nodeName="n", terminationGracePeriodSeconds=0))
    scheduler = Scheduler(api, CONFIG)
    async with running(scheduler.run()):
        await scheduler.ready.wait()
        api.fail_next(*(InternalError("down") for _ in range(6)))
        api.seed(PODS, pod("vip", cpu="2", priority=10))
        await eventually(lambda: node_of(api, "vip") == "n")


class StubbornApi(FakeApi):
    """A pod of this name cannot be deleted, once."""

    stubborn = ""

    async def delete(self, resource: Resource, name: str, **asked: Any) -> JsonObject:
        if name == self.stubborn:
            self.stubborn = ""
            raise InternalError("down")
        return await super().delete(resource, name, **asked)


async def test_one_of_two_victims_that_cannot_be_deleted_is_tried_again() -> None:
    api = StubbornApi()
    api.seed(NODES, node("n"))
    for name, start in (("old", "2025-01-01T00:00:00Z"), ("young", "2025-02-01T00:00:00Z")):
        low = pod(name, cpu="1", nodeName="n", terminationGracePeriodSeconds=0)
        api.seed(PODS, {**low, "status": {"startTime": start}})
    # The last to be sent away: that the other one went tells nothing.
    api.stubborn = "young"
    async with running(Scheduler(api, CONFIG).run()):
        await api.create(PODS, pod("vip", cpu="2", priority=10))
        await eventually(lambda: node_of(api, "vip") == "n")


async def test_pod_that_waits_for_a_node_that_goes_is_freed_of_it() -> None:
    api = FakeApi()
    api.seed(NODES, node("n"))
    api.seed(PODS, pod("low", cpu="2", nodeName="n", terminationGracePeriodSeconds=30))
    async with running(Scheduler(api, CONFIG).run()):
        await api.create(PODS, pod("vip", cpu="2", priority=10))
        await eventually(lambda: events(api, "Preempted"))
        await api.delete(PODS, "vip", options={"gracePeriodSeconds": 0})
        await api.delete(PODS, "low", options={"gracePeriodSeconds": 0})
        await api.create(PODS, pod("plain", cpu="2"))
        await eventually(lambda: node_of(api, "plain") == "n")


async def test_profiles_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text(
        """
        apiVersion: kubescheduler.config.k8s.io/v1
        kind: KubeSchedulerConfiguration
        profiles:
        - schedulerName: default-scheduler
        - schedulerName: packing
          pluginConfig:
          - name: NodeResourcesFit
            args: {scoringStrategy: {type: MostAllocated}}
        """
    )
    api = FakeApi()
    for name in ("a", "b"):
        api.seed(NODES, node(name))
    api.seed(PODS, pod("there", cpu="1", nodeName="a"))
    async with running(Scheduler(api, SchedulerConfig(config_file=path)).run()):
        await api.create(PODS, pod("spread", cpu="500m"))
        await api.create(PODS, pod("packed", cpu="500m", schedulerName="packing"))
        await api.create(PODS, pod("foreign", schedulerName="nobody"))
        await eventually(lambda: node_of(api, "spread") and node_of(api, "packed"))
        assert (node_of(api, "spread"), node_of(api, "packed")) == ("b", "a")
        assert node_of(api, "foreign") == ""
        await eventually(lambda: len(events(api, "Scheduled")) == 2)
    said = {event["regarding"]["name"]: event for event in api.all(EVENTS)}
    assert said["packed"]["reportingController"] == "packing"
    assert said["packed"]["reportingInstance"].startswith("packing-")
    assert said["packed"]["action"] == "Binding"
