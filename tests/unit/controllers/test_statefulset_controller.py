import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.unit.controllers.stage import controlling, make_context, play_kubelet

from winkube.base.types import JsonObject
from winkube.client.resource import (
    CONTROLLERREVISIONS,
    EVENTS,
    PERSISTENTVOLUMECLAIMS,
    PODS,
    STATEFULSETS,
    Resource,
)
from winkube.client.stream import WatchEvent
from winkube.controllers.statefulset.controller import StatefulSetController
from winkube.testing.fake_api import FakeApi
from winkube.testing.tasks import eventually

CLAIM = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}


def stateful_set(replicas: int = 3, image: str = "one", **spec: Any) -> JsonObject:
    labels = {"app": "db"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": image}]},
    }
    return {
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "serviceName": "db",
            "selector": {"matchLabels": labels},
            "template": template,
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            **spec,
        },
    }


def names(api: FakeApi) -> list[str]:
    return sorted(pod["metadata"]["name"] for pod in api.all(PODS))


def images(api: FakeApi) -> list[str]:
    return [pod["spec"]["containers"][0]["image"] for pod in api.all(PODS)]


def status(api: FakeApi) -> JsonObject:
    return (api.find(STATEFULSETS, "default/db") or {}).get("status") or {}


def settled(api: FakeApi, image: str, count: int) -> bool:
    seen = status(api)
    return (
        images(api) == [image] * count
        and seen.get("availableReplicas") == count
        and seen.get("currentRevision") == seen.get("updateRevision")
        and seen.get("updatedReplicas", 0) == count
    )


async def test_pods_come_in_order_roll_in_reverse_and_leave_their_claims() -> None:
    api = FakeApi()
    api.seed(STATEFULSETS, stateful_set(volumeClaimTemplates=[CLAIM]))
    subject = StatefulSetController(make_context(api))
    async with controlling(subject, beside=(play_kubelet(api),)):
        await eventually(lambda: settled(api, "one", 3))
        assert names(api) == ["db-0", "db-1", "db-2"]
        template = stateful_set(image="two")["spec"]["template"]
        await api.patch(STATEFULSETS, "db", {"spec": {"template": template}})
        await eventually(lambda: settled(api, "two", 3))
        await api.patch(STATEFULSETS, "db", {"spec": {"replicas": 1}})
        await eventually(lambda: names(api) == ["db-0"])
        await subject.context.recorder.flush()
    claims = sorted(each["metadata"]["name"] for each in api.all(PERSISTENTVOLUMECLAIMS))
    assert claims == ["data-db-0", "data-db-1", "data-db-2"]
    assert len(api.all(CONTROLLERREVISIONS)) == 2
    said = [event["message"] for event in api.all(EVENTS)]
    made = [text for text in said if text.startswith("create Pod")]
    assert made == [f"create Pod db-{number} in StatefulSet db successful" for number in range(3)]
    assert "create Claim data-db-0 Pod db-0 in StatefulSet db success" in said
    assert "delete Pod db-2 in StatefulSet db successful" in said


async def test_cache_that_lags_makes_no_pod_twice() -> None:
    api = FakeApi()
    api.seed(STATEFULSETS, stateful_set(10, podManagementPolicy="Parallel"))
    subject = StatefulSetController(make_context(api))
    async with controlling(subject, beside=(play_kubelet(api),)):
        for _ in range(20):
            subject.queue.add("default/db")
            api.break_watches()
            await asyncio.sleep(0)
        await eventually(lambda: settled(api, "one", 10))
    created = [kind for verb, kind, part in api.calls if (verb, part) == ("create", "")]
    assert created.count("pods") == 10


async def test_scaled_away_pods_take_their_claims_when_the_policy_says_so() -> None:
    api = FakeApi()
    policy = {"whenDeleted": "Retain", "whenScaled": "Delete"}
    api.seed(
        STATEFULSETS,
        stateful_set(2, volumeClaimTemplates=[CLAIM], persistentVolumeClaimRetentionPolicy=policy),
    )
    subject = StatefulSetController(make_context(api))
    async with controlling(subject, beside=(play_kubelet(api),)):
        await eventually(lambda: settled(api, "one", 2))
        await api.patch(STATEFULSETS, "db", {"spec": {"replicas": 1}})
        await eventually(lambda: names(api) == ["db-0"])
    leaving = api.find(PERSISTENTVOLUMECLAIMS, "default/data-db-1") or {}
    assert [each["kind"] for each in leaving["metadata"]["ownerReferences"]] == ["Pod"]
    staying = api.find(PERSISTENTVOLUMECLAIMS, "default/data-db-0") or {}
    assert "ownerReferences" not in staying["metadata"]


class DeafToClaims(FakeApi):
    """Nobody hears of a claim that is made."""

    @asynccontextmanager
    async def watch(
        self, resource: Resource, **options: Any
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        async with super().watch(resource, **options) as events:
            yield _silent() if resource == PERSISTENTVOLUMECLAIMS else events


async def _silent() -> AsyncIterator[WatchEvent]:
    await asyncio.Event().wait()
    yield WatchEvent("BOOKMARK", {})


async def test_claims_that_the_cache_never_saw_go_with_their_pods_too() -> None:
    api = DeafToClaims()
    policy = {"whenDeleted": "Retain", "whenScaled": "Delete"}
    api.seed(
        STATEFULSETS,
        stateful_set(2, volumeClaimTemplates=[CLAIM], persistentVolumeClaimRetentionPolicy=policy),
    )
    subject = StatefulSetController(make_context(api))
    async with controlling(subject, beside=(play_kubelet(api),)):
        await eventually(lambda: settled(api, "one", 2))
        await api.patch(STATEFULSETS, "db", {"spec": {"replicas": 1}})
        await eventually(lambda: names(api) == ["db-0"])
    leaving = api.find(PERSISTENTVOLUMECLAIMS, "default/data-db-1") or {}
    assert [each["kind"] for each in leaving["metadata"]["ownerReferences"]] == ["Pod"]


async def test_rollback_raises_the_old_revision() -> None:
    api = FakeApi()
    api.seed(STATEFULSETS, stateful_set(1))
    subject = StatefulSetController(make_context(api))
    async with controlling(subject, beside=(play_kubelet(api),)):
        for image in ("one", "two", "one"):
            template = stateful_set(image=image)["spec"]["template"]
            await api.patch(STATEFULSETS, "db", {"spec": {"template": template}})
            await eventually(lambda image=image: settled(api, image, 1))  # type: ignore[misc]
    assert sorted(each["revision"] for each in api.all(CONTROLLERREVISIONS)) == [2, 3]
