"""Simulated nodes: pods live on them as on real ones."""

import asyncio
from typing import Any

import pytest

from winkube.api.errors import ForbiddenError
from winkube.base.clock import SystemClock
from winkube.base.types import JsonObject
from winkube.client.resource import EVENTS, LEASES, NODES, PODS, Resource
from winkube.kubelet.pod.status import Surroundings
from winkube.kubelet.simulated.fleet import STATE, SimulatedNodes
from winkube.kubelet.simulated.life import Life
from winkube.kubelet.simulated.node import NodeSpec
from winkube.testing.fake_api import FakeApi
from winkube.testing.fake_clock import FakeClock
from winkube.testing.tasks import eventually, running

NOW = 1_700_000_000.0


def make_pod(*, node: str = "n", notes: dict[str, str] | None = None, **spec: Any) -> JsonObject:
    annotations = {f"simulation.winkube.dev/{key}": text for key, text in (notes or {}).items()}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "uid": "u", "annotations": annotations},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}], **spec},
        "status": {"phase": "Pending"},
    }


def live(pod: JsonObject, *times: float) -> tuple[Life, float | None]:
    life, later = Life.adopt(pod, NOW), None
    for seconds in (0.0, *times):
        later = life.advance(NOW + seconds, lambda: "10.0.0.2")
        life.report(Surroundings(("1.1.1.1",), NOW + seconds))
    return life, None if later is None else round(later - NOW, 3)


def conditions(status: JsonObject) -> dict[str, str]:
    return {entry["type"]: entry["status"] for entry in status["conditions"]}


def test_a_pod_runs_and_is_ready_and_needs_no_further_look() -> None:
    life, later = live(make_pod())
    assert life.status["phase"] == "Running"
    assert life.status["podIP"] == "10.0.0.2"
    assert conditions(life.status)["Ready"] == "True"
    assert conditions(life.status)["PodReadyToStartContainers"] == "True"
    assert later is None


def test_a_container_ends_as_its_script_says() -> None:
    pod = make_pod(notes={"exit": "after=2,code=3"}, restartPolicy="Never")
    life, later = live(pod)
    assert (life.status["phase"], later) == ("Running", 2.0)
    life, later = live(pod, 2.0)
    assert life.over
    assert life.status["phase"] == "Failed"
    ended = life.status["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (3, "Error")
    assert conditions(life.status)["PodReadyToStartContainers"] == "False"


def test_a_failing_container_is_restarted_with_growing_waits() -> None:
    life, later = live(make_pod(notes={"exit": "code=1"}))
    status = life.status["containerStatuses"][0]
    assert status["restartCount"] == 1
    assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert later is not None
    assert 9.9 < later < 10.1
    assert life.status["phase"] == "Running"


def test_a_script_may_be_for_the_first_starts_only() -> None:
    life, later = live(make_pod(notes={"exit": "code=1,times=1"}))
    status = life.status["containerStatuses"][0]
    assert (status["restartCount"], status["ready"], later) == (1, True, None)


def test_a_script_may_be_for_one_index_only() -> None:
    pod = make_pod(notes={"exit": "code=0", "exit-1": "code=7"}, restartPolicy="Never")
    pod["metadata"]["labels"] = {"batch.kubernetes.io/job-completion-index": "1"}
    assert live(pod)[0].status["phase"] == "Failed"
    pod["metadata"]["labels"] = {"batch.kubernetes.io/job-completion-index": "2"}
    assert live(pod)[0].status["phase"] == "Succeeded"


def test_init_containers_end_before_others_start() -> None:
    life, _ = live(make_pod(initContainers=[{"name": "first", "image": "i"}]))
    first = life.status["initContainerStatuses"][0]
    assert first["state"]["terminated"]["exitCode"] == 0
    assert life.status["phase"] == "Running"


def test_a_pod_may_never_become_ready() -> None:
    life, later = live(make_pod(notes={"ready": "never"}))
    assert conditions(life.status)["Ready"] == "False"
    assert later is None


def test_a_slow_start_is_seen_as_pending() -> None:
    pod = make_pod(notes={"start": "after=2"})
    life, later = live(pod)
    assert (life.status["phase"], later) == ("Pending", 2.0)
    waiting = life.status["containerStatuses"][0]["state"]["waiting"]
    assert waiting == {"reason": "ContainerCreating"}
    assert live(pod, 2.0)[0].status["phase"] == "Running"


def test_a_missing_image_keeps_the_pod_pending() -> None:
    life, later = live(make_pod(notes={"image": "missing"}))
    assert life.status["phase"] == "Pending"
    state = life.status["containerStatuses"][0]["state"]
    assert state["waiting"]["reason"] == "ImagePullBackOff"
    assert later is None


def test_a_new_process_goes_on_where_the_old_one_was_killed() -> None:
    pod = make_pod(notes={"exit": "after=5,code=0"}, restartPolicy="Never")
    first, _ = live(pod)
    again, later = live({**pod, "status": first.status}, 1.0)
    assert (again.status["phase"], later) == ("Running", 5.0)
    assert again.status["containerStatuses"] == first.status["containerStatuses"]


def specs() -> list[NodeSpec]:
    return [NodeSpec("n"), NodeSpec("w", windows="ltsc2022", cpus=1)]


async def fleet(api: FakeApi) -> SimulatedNodes:
    return SimulatedNodes(api, specs(), clock=api.clock)


async def test_nodes_register_with_their_system_and_renew_leases() -> None:
    api = FakeApi()
    made = await fleet(api)
    async with running(made.run()):
        await made.ready.wait()
        await eventually(lambda: len(api.all(LEASES)) == 2)
    windows = api.find(NODES, "w")
    assert windows is not None
    assert windows["metadata"]["labels"]["node.kubernetes.io/windows-build"] == "10.0.20348"
    assert windows["status"]["nodeInfo"]["operatingSystem"] == "windows"
    assert windows["status"]["capacity"]["cpu"] == "1"


class _Renewals(FakeApi):
    """Counts updates of leases."""

    renewals = 0

    async def update(self, resource: Resource, obj: JsonObject, **options: Any) -> JsonObject:
        self.renewals += resource == LEASES
        return await super().update(resource, obj, **options)


async def test_a_lease_is_renewed_when_it_is_time_and_not_right_after_it_was_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("winkube.kubelet.simulated.fleet._TICK_SECONDS", 0.0)
    clock = FakeClock()
    api = _Renewals(clock=clock)
    made = SimulatedNodes(api, specs(), clock=clock, renew_seconds=10.0)
    async with running(made.run()):
        await made.ready.wait()
        await eventually(lambda: len(api.all(LEASES)) == 2)
        clock.advance(9.0)
        for _ in range(100):  # many looks at who is due
            await asyncio.sleep(0)
        assert api.renewals == 0
        clock.advance(2.0)
        await eventually(lambda: api.renewals == 2)


async def test_a_bound_pod_runs_and_goes_when_deleted() -> None:
    api = FakeApi()
    made = await fleet(api)
    async with running(made.run()):
        await made.ready.wait()
        await api.create(PODS, make_pod())
        await eventually(lambda: phase(api) == "Running")
        await api.delete(PODS, "p", namespace="default")
        await eventually(lambda: not api.all(PODS))


async def test_what_a_node_cannot_run_is_refused_with_the_kubelets_words() -> None:
    api = FakeApi()
    made = await fleet(api)
    requests = {"resources": {"requests": {"cpu": "2"}}}
    async with running(made.run()):
        await made.ready.wait()
        big = make_pod(node="w")
        big["spec"]["containers"][0] |= requests
        await api.create(PODS, big)
        await eventually(lambda: phase(api) == "Failed")
        await eventually(lambda: api.all(EVENTS))
    found = api.find(PODS, "default/p")
    assert found is not None
    assert found["status"]["reason"] == "OutOfcpu"
    assert found["status"]["message"] == (
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 2000, used: 0, "
        "capacity: 1000"
    )


async def test_a_pod_does_not_outlive_its_deadline() -> None:
    api = FakeApi(SystemClock())
    made = await fleet(api)
    async with running(made.run()):
        await made.ready.wait()
        await api.create(PODS, make_pod(activeDeadlineSeconds=1))
        await eventually(lambda: phase(api) == "Failed")


async def test_nothing_happens_on_a_stopped_node() -> None:
    api = FakeApi()
    made = await fleet(api)
    async with running(made.run()):
        await made.ready.wait()
        await api.patch(NODES, "n", {"metadata": {"annotations": {STATE: "stopped"}}})
        await eventually(lambda: STATE in str(made._nodes["n"].object))
        await api.create(PODS, make_pod())
        await eventually(lambda: made._lives and not len(made._queue))
        assert phase(api) == "Pending"
        await api.patch(NODES, "n", {"metadata": {"annotations": {STATE: None}}})
        await eventually(lambda: phase(api) == "Running")


def phase(api: FakeApi) -> str:
    found = api.find(PODS, "default/p")
    return "" if found is None else str(found["status"].get("phase"))


async def test_a_node_that_cannot_register_keeps_none_of_the_others_from_living() -> None:
    class Refusing(FakeApi):
        async def create(self, resource: Resource, obj: JsonObject, **more: Any) -> JsonObject:
            if resource is NODES and obj["metadata"]["name"] == "bad":
                raise ForbiddenError("no")
            return await super().create(resource, obj, **more)

    api = Refusing()
    fleet = SimulatedNodes(api, [NodeSpec("bad"), NodeSpec("n")])
    api.seed(PODS, make_pod())
    async with running(fleet.run()):
        await eventually(lambda: api.all(PODS)[0]["status"]["phase"] == "Running")
    assert not fleet.ready.is_set()
