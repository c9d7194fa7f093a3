"""Pod statuses reach the API server, and whoever waits for that is never left waiting."""

import asyncio

from winkube.api.errors import ConflictError
from winkube.base.types import JsonObject
from winkube.client.resource import PODS
from winkube.kubelet.pod.statuswriter import StatusWriter
from winkube.testing.fake_api import FakeApi
from winkube.testing.tasks import running


def make_pod(api: FakeApi) -> JsonObject:
    metadata = {"name": "p", "namespace": "default"}
    return api.seed(PODS, {"metadata": metadata, "spec": {}, "status": {"phase": "Pending"}})


async def settled(writer: StatusWriter, uid: str) -> None:
    async with asyncio.timeout(5):
        await writer.settle(uid)


async def test_the_newest_status_is_sent_before_settling() -> None:
    api = FakeApi()
    pod, writer = make_pod(api), StatusWriter(api)
    for phase in ("Running", "Failed"):
        writer.set(pod, {"phase": phase})
    async with running(writer.run()):
        await settled(writer, pod["metadata"]["uid"])
    found = await api.get(PODS, "p", namespace="default")
    assert found["status"]["phase"] == "Failed"


async def test_a_pod_that_goes_ends_the_wait_for_its_status() -> None:
    api = FakeApi()
    pod, writer = make_pod(api), StatusWriter(api)
    uid = pod["metadata"]["uid"]
    writer.set(pod, {"phase": "Failed"})
    async with asyncio.TaskGroup() as group:
        group.create_task(settled(writer, uid))
        await asyncio.sleep(0)
        writer.forget(uid)


async def test_a_status_that_returns_to_what_was_sent_is_settled() -> None:
    api = FakeApi()
    pod, writer = make_pod(api), StatusWriter(api)
    for phase in ("Pending", "Running", "Pending"):
        writer.set(pod, {"phase": phase})
    async with running(writer.run()):
        await settled(writer, pod["metadata"]["uid"])


async def test_a_status_of_a_pod_that_is_gone_is_settled() -> None:
    api = FakeApi()
    pod, writer = make_pod(api), StatusWriter(api)
    uid = pod["metadata"]["uid"]
    await api.delete(PODS, "p", namespace="default", options={"gracePeriodSeconds": 0})
    async with running(writer.run()):
        for phase in ("Running", "Failed"):
            writer.set(pod, {"phase": phase})
            await settled(writer, uid)


async def test_a_conflict_about_anything_but_the_pod_itself_is_no_end() -> None:
    api = FakeApi()
    pod, writer = make_pod(api), StatusWriter(api)
    api.fail_next(ConflictError("the object has been modified"))
    writer.set(pod, {"phase": "Running"})
    async with running(writer.run()):
        await settled(writer, pod["metadata"]["uid"])
    found = await api.get(PODS, "p", namespace="default")
    assert found["status"]["phase"] == "Running"


async def test_conditions_that_others_have_written_meanwhile_stay() -> None:
    api = FakeApi()
    pod, writer = make_pod(api), StatusWriter(api)
    gate = {"type": "example.com/gate", "status": "True"}
    await api.patch(PODS, "p", {"status": {"conditions": [gate]}}, subresource="status")
    waits = {"type": "Ready", "status": "False", "reason": "ContainersNotReady"}
    async with running(writer.run()):
        for ready in (waits, {"type": "Ready", "status": "True"}):
            writer.set(pod, {"phase": "Running", "conditions": [ready]})
            await settled(writer, pod["metadata"]["uid"])
    found = await api.get(PODS, "p", namespace="default")
    conditions = sorted(found["status"]["conditions"], key=lambda each: str(each["type"]))
    assert conditions == [{"type": "Ready", "status": "True"}, gate]


async def test_a_pod_that_has_its_node_is_nominated_for_none() -> None:
    api = FakeApi()
    pod, writer = make_pod(api), StatusWriter(api)
    await api.patch(PODS, "p", {"status": {"nominatedNodeName": "n"}}, subresource="status")
    writer.set(pod, {"phase": "Running", "podIPs": [{"ip": "10.0.0.2"}]})
    async with running(writer.run()):
        await settled(writer, pod["metadata"]["uid"])
    found = await api.get(PODS, "p", namespace="default")
    assert found["status"] == {"phase": "Running", "podIPs": [{"ip": "10.0.0.2"}]}


async def test_a_status_is_not_written_to_another_pod_of_the_name() -> None:
    api = FakeApi()
    pod, writer = make_pod(api), StatusWriter(api)
    await api.delete(PODS, "p", namespace="default", options={"gracePeriodSeconds": 0})
    make_pod(api)
    writer.set(pod, {"phase": "Failed"})
    async with running(writer.run()):
        await settled(writer, pod["metadata"]["uid"])
    found = await api.get(PODS, "p", namespace="default")
    assert found["status"]["phase"] == "Pending"
