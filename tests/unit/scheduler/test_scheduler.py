from winkube.api.errors import InternalError
from winkube.base.types import JsonObject
from winkube.client.resource import NODES, PODS
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
