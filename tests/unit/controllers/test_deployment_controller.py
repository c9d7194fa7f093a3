import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.unit.controllers.stage import controlling, make_context, play_kubelet

from winkube.api.errors import ForbiddenError
from winkube.base.types import JsonObject
from winkube.client.resource import DEPLOYMENTS, EVENTS, PODS, REPLICASETS, Resource
from winkube.controllers.config import ControllerConfig
from winkube.controllers.deployment.controller import DeploymentController
from winkube.controllers.deployment.template import template_hash
from winkube.controllers.manager import ControllerManager
from winkube.testing.fake_api import FakeApi
from winkube.testing.tasks import eventually, running


def deployment(image: str = "one", **spec: object) -> JsonObject:
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": image}]},
    }
    body = {
        "replicas": 2,
        "selector": {"matchLabels": labels},
        "template": template,
        "progressDeadlineSeconds": 600,
        "revisionHistoryLimit": 10,
        **spec,
    }
    return {"metadata": {"name": "web"}, "spec": body}


def images(api: FakeApi) -> list[str]:
    return sorted(pod["spec"]["containers"][0]["image"] for pod in api.all(PODS))


def conditions(api: FakeApi) -> dict[str, str]:
    found = api.find(DEPLOYMENTS, "default/web") or {}
    listed = found.get("status", {}).get("conditions") or ()
    return {entry["type"]: entry["reason"] for entry in listed}


def settled(api: FakeApi, image: str, count: int = 2) -> bool:
    done = conditions(api).get("Progressing") == "NewReplicaSetAvailable"
    return done and images(api) == [image] * count


@asynccontextmanager
async def rolled_out() -> AsyncIterator[FakeApi]:
    api = FakeApi()
    manager = ControllerManager(api, ControllerConfig())
    api.seed(DEPLOYMENTS, deployment())
    async with running(manager.run(), play_kubelet(api)):
        await eventually(lambda: settled(api, "one"))
        yield api


async def test_recreate_waits_for_the_last_old_pod() -> None:
    api, linger = FakeApi(), asyncio.Event()
    manager = ControllerManager(api, ControllerConfig())
    api.seed(DEPLOYMENTS, deployment(strategy={"type": "Recreate"}))
    async with running(manager.run(), play_kubelet(api, linger=linger)):
        await eventually(lambda: settled(api, "one"))
        template = deployment("two")["spec"]["template"]
        await api.patch(DEPLOYMENTS, "web", {"spec": {"template": template}})
        await eventually(
            lambda: all(pod["metadata"].get("deletionTimestamp") for pod in api.all(PODS))
        )
        await asyncio.sleep(0.03)
        assert images(api) == ["one", "one"]
        linger.set()
        await eventually(lambda: settled(api, "two"))


async def test_paused_deployment_does_not_roll_but_scales() -> None:
    async with rolled_out() as api:
        template = deployment("two")["spec"]["template"]
        body = {"spec": {"paused": True, "template": template, "replicas": 3}}
        await api.patch(DEPLOYMENTS, "web", body)
        await eventually(lambda: conditions(api).get("Progressing") == "DeploymentPaused")
        await eventually(lambda: images(api) == ["one"] * 3)
        await api.patch(DEPLOYMENTS, "web", {"spec": {"paused": None}})
        await eventually(lambda: settled(api, "two", 3))


async def test_rollback_by_annotation_takes_the_old_template() -> None:
    async with rolled_out() as api:
        template = deployment("two")["spec"]["template"]
        await api.patch(DEPLOYMENTS, "web", {"spec": {"template": template}})
        await eventually(lambda: settled(api, "two"))
        note = {"metadata": {"annotations": {"deprecated.deployment.rollback.to": "1"}}}
        await api.patch(DEPLOYMENTS, "web", note)
        await eventually(lambda: settled(api, "one"))
        found = api.find(DEPLOYMENTS, "default/web") or {}
        assert found["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3"
        await eventually(
            lambda: "DeploymentRollback" in {event["reason"] for event in api.all(EVENTS)}
        )


async def test_name_that_is_taken_by_another_set_is_avoided() -> None:
    api = FakeApi()
    manager = ControllerManager(api, ControllerConfig())
    digest = template_hash(deployment()["spec"]["template"], None)
    spec = {"replicas": 0, "template": {}, "selector": {"matchLabels": {"app": "other"}}}
    stranger = {"metadata": {"name": f"web-{digest}"}, "spec": spec}
    api.seed(REPLICASETS, stranger)
    api.seed(DEPLOYMENTS, deployment())
    async with running(manager.run(), play_kubelet(api)):
        await eventually(lambda: settled(api, "one"))
    found = api.find(DEPLOYMENTS, "default/web") or {}
    assert found["status"]["collisionCount"] == 1
    assert len(api.all(REPLICASETS)) == 2


async def test_scaling_is_announced() -> None:
    api = FakeApi()
    manager = ControllerManager(api, ControllerConfig())
    api.seed(DEPLOYMENTS, deployment())
    async with running(manager.run(), play_kubelet(api)):
        await eventually(lambda: settled(api, "one"))
        await api.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 5}})
        await eventually(lambda: settled(api, "one", 5))
        name = api.all(REPLICASETS)[0]["metadata"]["name"]
        wanted = {
            f"Scaled up replica set {name} from 0 to 2",
            f"Scaled up replica set {name} from 2 to 5",
        }
        await eventually(
            lambda: wanted <= {event["message"] for event in api.all(EVENTS)}, seconds=10
        )


class Refusing(FakeApi):
    """Makes no replica sets."""

    async def create(
        self,
        resource: Resource,
        obj: JsonObject,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
    ) -> JsonObject:
        if resource == REPLICASETS:
            raise ForbiddenError("exceeded quota: no more sets")
        return await super().create(
            resource, obj, namespace=namespace, name=name, subresource=subresource
        )


def progress(api: FakeApi) -> JsonObject:
    found = api.find(DEPLOYMENTS, "default/web") or {}
    listed = found.get("status", {}).get("conditions") or ()
    return next((entry for entry in listed if entry["type"] == "Progressing"), {})


async def test_a_set_that_cannot_be_made_is_told_of() -> None:
    api = Refusing()
    api.seed(DEPLOYMENTS, deployment())
    async with running(ControllerManager(api, ControllerConfig()).run()):
        await eventually(lambda: progress(api).get("reason") == "ReplicaSetCreateError")
        await eventually(lambda: "ReplicaSetCreateError" in {e["reason"] for e in api.all(EVENTS)})
    name = f"web-{template_hash(deployment()['spec']['template'], None)}"
    said = f'Failed to create new replica set "{name}": exceeded quota: no more sets'
    assert (progress(api)["status"], progress(api)["message"]) == ("False", said)


@pytest.mark.parametrize("paused", [False, True])
async def test_without_a_deadline_no_progress_is_told(paused: bool) -> None:
    api = FakeApi()
    api.seed(DEPLOYMENTS, deployment(progressDeadlineSeconds=2**31 - 1, paused=paused))
    seen: set[str] = set()

    def done() -> bool:
        seen.update(conditions(api))
        return "Available" in seen and (paused or images(api) == ["one"] * 2)

    async with running(ControllerManager(api, ControllerConfig()).run(), play_kubelet(api)):
        await eventually(done)
    assert "Progressing" not in seen


async def test_progress_with_a_set_that_was_there_counts_from_the_first_look() -> None:
    api = FakeApi()
    async with running(ControllerManager(api, ControllerConfig()).run()):
        api.seed(DEPLOYMENTS, deployment())
        await eventually(lambda: progress(api).get("reason") == "NewReplicaSetCreated")
        await api.patch(DEPLOYMENTS, "web", {"status": None}, subresource="status")
        await eventually(lambda: progress(api))
    (found,) = api.all(REPLICASETS)
    assert progress(api)["reason"] == "FoundNewReplicaSet"
    assert progress(api)["message"] == f'Found new replica set "{found["metadata"]["name"]}"'


async def test_pods_that_go_cost_nothing_that_stays() -> None:
    async with rolled_out() as api:
        controller = DeploymentController(make_context(api))
        async with controlling(controller):
            before = len(controller._reads)
            for pod in api.all(PODS):
                await api.delete(PODS, pod["metadata"]["name"], options={"gracePeriodSeconds": 0})
            await eventually(lambda: settled(api, "one"))
            assert len(controller._reads) == before
