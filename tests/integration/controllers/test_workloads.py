"""DaemonSets, jobs, cron jobs and replication controllers against the real API server."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.integration.controllers.control_plane import control_plane, node
from tests.integration.controllers.test_control_plane import items, play_kubelet, until

from winkube.api.errors import InvalidError, NotFoundError
from winkube.base.clock import SystemClock, to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.resource import (
    CONTROLLERREVISIONS,
    CRONJOBS,
    DAEMONSETS,
    JOBS,
    NODES,
    PODS,
    REPLICATIONCONTROLLERS,
    Resource,
)
from winkube.client.rest import ApiClient, PatchType
from winkube.testing.tasks import running

LABELS = {"app": "x"}


def template(restart: str = "Always", image: str = "x:1", **spec: Any) -> JsonObject:
    containers = [{"name": "c", "image": image}]
    return {
        "metadata": {"labels": dict(LABELS)},
        "spec": {"restartPolicy": restart, "containers": containers, **spec},
    }


def job(**spec: Any) -> JsonObject:
    return {"metadata": {"name": "j"}, "spec": {"template": template("Never"), **spec}}


async def play_job_kubelet(client: ApiClient, code: int = 0) -> None:
    """Pods that have a node end at once; pods told to stop are gone at once."""
    while True:
        for pod in await items(client, PODS):
            name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
            ended = pod["status"].get("phase") in ("Succeeded", "Failed")
            try:
                if pod["metadata"].get("deletionTimestamp"):
                    options = {"gracePeriodSeconds": 0}
                    await client.delete(PODS, name, namespace=namespace, options=options)
                elif pod["spec"].get("nodeName") and not ended:
                    await _end(client, name, code)
            except NotFoundError:
                continue
        await asyncio.sleep(0.02)


async def _end(client: ApiClient, name: str, code: int) -> None:
    at = to_rfc3339(SystemClock().now())
    terminated = {"exitCode": code, "finishedAt": at, "startedAt": at}
    container = {
        "name": "c", "image": "x:1", "imageID": "", "ready": False, "restartCount": 0,
        "state": {"terminated": terminated},
    }  # fmt: skip
    status = {"phase": "Failed" if code else "Succeeded", "containerStatuses": [container]}
    await client.patch(
        PODS,
        name,
        {"status": status},
        namespace="default",
        subresource="status",
        patch_type=PatchType.STRATEGIC,
    )


async def status_of(client: ApiClient, resource: Resource, name: str) -> JsonObject:
    found = await client.get(resource, name, namespace="default")
    return found.get("status") or {}


async def has_condition(client: ApiClient, name: str, type_: str) -> bool:
    conditions = (await status_of(client, JOBS, name)).get("conditions") or ()
    return any(each["type"] == type_ and each["status"] == "True" for each in conditions)


async def test_indexed_job_completes_and_goes_with_its_pods(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client, running(play_job_kubelet(client)):
        await client.create(NODES, node("win-1"))
        wanted = job(completions=5, parallelism=2, completionMode="Indexed")
        made = await client.create(JOBS, wanted, namespace="default")
        uid = made["metadata"]["uid"]
        labels = {
            **LABELS,
            "controller-uid": uid,
            "job-name": "j",
            "batch.kubernetes.io/controller-uid": uid,
            "batch.kubernetes.io/job-name": "j",
        }
        assert made["metadata"]["labels"] == labels
        assert made["spec"]["template"]["metadata"]["labels"] == labels
        selector = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
        assert made["spec"]["selector"] == selector
        await until(lambda: has_condition(client, "j", "Complete"))
        status = await status_of(client, JOBS, "j")
        assert (status["succeeded"], status["completedIndexes"]) == (5, "0-4")
        assert status["uncountedTerminatedPods"] == {}
        assert len(await items(client, PODS)) == 5
        options = {"propagationPolicy": "Foreground"}
        await client.delete(JOBS, "j", namespace="default", options=options)
        await until(lambda: _nothing_left(client, JOBS, PODS))


async def _nothing_left(client: ApiClient, *resources: Resource) -> bool:
    return not any([await items(client, each, namespace="default") for each in resources])


async def test_job_fails_by_its_policy_and_is_deleted_in_the_background(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client, running(play_job_kubelet(client, 42)):
        await client.create(NODES, node("win-1"))
        codes = {"operator": "In", "values": [42]}
        policy = {"rules": [{"action": "FailJob", "onExitCodes": codes}]}
        await client.create(JOBS, job(podFailurePolicy=policy), namespace="default")
        await until(lambda: has_condition(client, "j", "Failed"))
        status = await status_of(client, JOBS, "j")
        assert [each["type"] for each in status["conditions"]] == ["FailureTarget", "Failed"]
        assert status["conditions"][0]["reason"] == "PodFailurePolicy"
        assert status["failed"] == 1
        await client.delete(
            JOBS, "j", namespace="default", options={"propagationPolicy": "Background"}
        )
        await until(lambda: _nothing_left(client, JOBS, PODS))


async def test_running_job_is_deleted_with_its_pods(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client, running(play_kubelet(client)):
        await client.create(NODES, node("win-1"))
        await client.create(JOBS, job(completions=3, parallelism=3), namespace="default")

        async def ready() -> bool:
            return (await status_of(client, JOBS, "j")).get("ready") == 3

        await until(ready)
        await client.delete(
            JOBS, "j", namespace="default", options={"propagationPolicy": "Background"}
        )
        await until(lambda: _nothing_left(client, JOBS, PODS))


async def test_labels_that_contradict_the_selector_are_refused(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client:
        bad = job()
        bad["spec"]["template"]["metadata"]["labels"]["job-name"] = "other"
        with pytest.raises(InvalidError, match=r"labels\[job-name\]: Invalid value"):
            await client.create(JOBS, bad, namespace="default")


async def test_daemon_set_reaches_every_node_and_rolls(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client, running(play_kubelet(client)):
        for name in ("win-1", "win-2", "win-3"):
            await client.create(NODES, node(name))
        spec = {"selector": {"matchLabels": LABELS}, "template": template()}
        made = await client.create(
            DAEMONSETS, {"metadata": {"name": "d"}, "spec": spec}, namespace="default"
        )
        generation = "deprecated.daemonset.template.generation"
        assert made["metadata"]["annotations"][generation] == "1"

        async def settled(image: str, count: int) -> bool:
            found = await client.get(DAEMONSETS, "d", namespace="default")
            status = found["status"]
            pods = await items(client, PODS, namespace="default")
            return (
                status.get("numberAvailable") == status.get("updatedNumberScheduled") == count
                and status.get("observedGeneration") == found["metadata"]["generation"]
                and [pod["spec"]["containers"][0]["image"] for pod in pods] == [image] * count
            )

        await until(lambda: settled("x:1", 3))
        placed = {pod["spec"]["nodeName"] for pod in await items(client, PODS)}
        assert placed == {"win-1", "win-2", "win-3"}
        body = {"spec": {"template": template(image="x:2")}}
        changed = await client.patch(DAEMONSETS, "d", body, namespace="default")
        assert changed["metadata"]["annotations"][generation] == "2"
        await until(lambda: settled("x:2", 3))
        revisions = await items(client, CONTROLLERREVISIONS, namespace="default")
        assert sorted(each["revision"] for each in revisions) == [1, 2]
        taint = {"key": "gone", "effect": "NoExecute"}
        await client.patch(NODES, "win-3", {"spec": {"taints": [taint]}})
        await until(lambda: settled("x:2", 2))
        await client.delete(
            DAEMONSETS, "d", namespace="default", options={"propagationPolicy": "Background"}
        )
        await until(lambda: _nothing_left(client, DAEMONSETS, CONTROLLERREVISIONS, PODS))


async def test_replication_controller_scales(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client, running(play_kubelet(client)):
        await client.create(NODES, node("win-1"))
        spec = {"replicas": 2, "template": template()}
        await client.create(
            REPLICATIONCONTROLLERS, {"metadata": {"name": "rc"}, "spec": spec}, namespace="default"
        )

        async def available(count: int) -> bool:
            status = await status_of(client, REPLICATIONCONTROLLERS, "rc")
            return status.get("availableReplicas") == count == status.get("replicas")

        await until(lambda: available(2))
        body = {"spec": {"replicas": 4}}
        await client.patch(REPLICATIONCONTROLLERS, "rc", body, namespace="default")
        await until(lambda: available(4))


async def test_cron_job_starts_jobs_that_complete(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client, running(play_job_kubelet(client)):
        await client.create(NODES, node("win-1"))
        spec = {
            "schedule": "@every 1s",
            "successfulJobsHistoryLimit": 1,
            "jobTemplate": {"spec": {"template": template("Never")}},
        }
        await client.create(
            CRONJOBS, {"metadata": {"name": "c"}, "spec": spec}, namespace="default"
        )

        async def succeeded() -> bool:
            return bool((await status_of(client, CRONJOBS, "c")).get("lastSuccessfulTime"))

        await until(succeeded)
        await client.patch(CRONJOBS, "c", {"spec": {"suspend": True}}, namespace="default")
        (made, *_) = await items(client, JOBS, namespace="default")
        assert made["metadata"]["ownerReferences"][0]["kind"] == "CronJob"
        await client.delete(
            CRONJOBS, "c", namespace="default", options={"propagationPolicy": "Background"}
        )
        await until(lambda: _nothing_left(client, CRONJOBS, JOBS, PODS))
