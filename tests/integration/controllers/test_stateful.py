"""StatefulSets, persistent volumes and disruption budgets against the real API server."""

from pathlib import Path

import pytest
from tests.integration.controllers.control_plane import control_plane, node
from tests.integration.controllers.test_control_plane import items, play_kubelet, until

from winkube.api.errors import NotFoundError, TooManyRequestsError
from winkube.base.types import JsonObject
from winkube.client.resource import (
    CONTROLLERREVISIONS,
    EVENTS,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODDISRUPTIONBUDGETS,
    PODS,
    STATEFULSETS,
    STORAGECLASSES,
)
from winkube.client.rest import ApiClient
from winkube.testing.tasks import running

LABELS = {"app": "db"}
STANDARD = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {
        "name": "standard",
        "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
    },
    "provisioner": "winkube.io/local-path",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def stateful_set(replicas: int, image: str = "db:1") -> JsonObject:
    mount = {"name": "data", "mountPath": "/data"}
    container = {"name": "db", "image": image, "volumeMounts": [mount]}
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db"},
        "spec": {
            "replicas": replicas,
            "serviceName": "db",
            "selector": {"matchLabels": LABELS},
            "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [container]}},
            "volumeClaimTemplates": [claim],
            "persistentVolumeClaimRetentionPolicy": {
                "whenDeleted": "Retain",
                "whenScaled": "Delete",
            },
        },
    }


async def is_settled(client: ApiClient, image: str, count: int) -> bool:
    found = await client.get(STATEFULSETS, "db", namespace="default")
    pods = await items(client, PODS, namespace="default")
    status = found["status"]
    return (
        [pod["spec"]["containers"][0]["image"] for pod in pods] == [image] * count
        and status.get("readyReplicas") == count
        and status.get("observedGeneration") == found["metadata"]["generation"]
        and status.get("currentRevision") == status.get("updateRevision")
    )


async def drop_finalizers(client: ApiClient) -> None:
    """What the kubelet does when the folder is gone."""
    for volume in await items(client, PERSISTENTVOLUMES):
        if volume["metadata"].get("deletionTimestamp"):
            body = {"metadata": {"finalizers": None}}
            await client.patch(PERSISTENTVOLUMES, volume["metadata"]["name"], body)


async def test_set_with_claims_lives_rolls_shrinks_and_cleans_up(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client, running(play_kubelet(client)):
        await client.create(STORAGECLASSES, STANDARD)
        for name in ("win-1", "win-2"):
            fresh = node(name)
            fresh["metadata"]["labels"]["kubernetes.io/hostname"] = name
            await client.create(NODES, fresh)
        await client.create(STATEFULSETS, stateful_set(2), namespace="default")
        await until(lambda: is_settled(client, "db:1", 2), 20)

        claims = await items(client, PERSISTENTVOLUMECLAIMS, namespace="default")
        assert {each["status"]["phase"] for each in claims} == {"Bound"}
        assert [each["metadata"]["name"] for each in claims] == ["data-db-0", "data-db-1"]
        pods = {
            pod["metadata"]["name"]: pod for pod in await items(client, PODS, namespace="default")
        }
        for volume in await items(client, PERSISTENTVOLUMES):
            assert volume["status"]["phase"] == "Bound"
            assert volume["spec"]["hostPath"]["path"].startswith("C:\\local-path\\pvc-")
            number = volume["spec"]["claimRef"]["name"][-1]
            place = volume["metadata"]["labels"]["winkube.io/local-path-node"]
            assert pods[f"db-{number}"]["spec"]["nodeName"] == place

        template = stateful_set(2, "db:2")["spec"]["template"]
        body = {"spec": {"template": template}}
        await client.patch(STATEFULSETS, "db", body, namespace="default")
        await until(lambda: is_settled(client, "db:2", 2), 20)
        revisions = await items(client, CONTROLLERREVISIONS, namespace="default")
        assert sorted(each["revision"] for each in revisions) == [1, 2]
        again = {
            pod["metadata"]["name"]: pod for pod in await items(client, PODS, namespace="default")
        }
        assert all(
            again[name]["spec"]["nodeName"] == pods[name]["spec"]["nodeName"] for name in pods
        )

        await client.patch(STATEFULSETS, "db", {"spec": {"replicas": 1}}, namespace="default")

        async def is_smaller() -> bool:
            await drop_finalizers(client)
            left = await items(client, PERSISTENTVOLUMECLAIMS, namespace="default")
            kept = await items(client, PERSISTENTVOLUMES)
            return len(left) == len(kept) == 1

        await until(is_smaller, 20)
        said = {event["reason"] for event in await items(client, EVENTS, namespace="default")}
        assert {"SuccessfulCreate", "SuccessfulDelete", "ProvisioningSucceeded"} <= said


async def test_budget_keeps_pods_from_eviction(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client, running(play_kubelet(client)):
        await client.create(STORAGECLASSES, STANDARD)
        await client.create(NODES, node("win-1"))
        await client.create(STATEFULSETS, stateful_set(2), namespace="default")
        budget = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "db"},
            "spec": {"maxUnavailable": "50%", "selector": {"matchLabels": LABELS}},
        }
        await client.create(PODDISRUPTIONBUDGETS, budget, namespace="default")

        async def allowed() -> int:
            found = await client.get(PODDISRUPTIONBUDGETS, "db", namespace="default")
            return int((found.get("status") or {}).get("disruptionsAllowed") or 0)

        await until(allowed, 20)
        await evict(client, "db-1")
        marked = await client.get(PODDISRUPTIONBUDGETS, "db", namespace="default")
        assert marked["status"]["expectedPods"] == 2
        # The controller may be at work: what counts is that two never go at once.
        body = {"spec": {"maxUnavailable": 0}}
        await client.patch(PODDISRUPTIONBUDGETS, "db", body, namespace="default")
        await until(lambda: is_settled(client, "db:1", 2), 20)

        async def is_seen() -> bool:
            found = await client.get(PODDISRUPTIONBUDGETS, "db", namespace="default")
            status = found["status"]
            seen = (status["observedGeneration"], status["currentHealthy"])
            return bool(seen == (found["metadata"]["generation"], 2))

        await until(is_seen)
        with pytest.raises(TooManyRequestsError, match="would violate the pod's") as caught:
            await evict(client, "db-0")
        causes = caught.value.details["causes"]
        assert causes[0]["message"] == (
            "The disruption budget db needs 2 healthy pods and has 2 currently"
        )


async def evict(client: ApiClient, name: str) -> None:
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": "default"},
    }
    await client.create(PODS, body, namespace="default", name=name, subresource="eviction")


async def test_claim_in_use_outlives_its_deletion(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client, running(play_kubelet(client)):
        await client.create(STORAGECLASSES, STANDARD)
        await client.create(NODES, node("win-1"))
        await client.create(STATEFULSETS, stateful_set(1), namespace="default")
        await until(lambda: is_settled(client, "db:1", 1), 20)
        await client.delete(PERSISTENTVOLUMECLAIMS, "data-db-0", namespace="default")
        held = await client.get(PERSISTENTVOLUMECLAIMS, "data-db-0", namespace="default")
        assert held["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
        await client.delete(STATEFULSETS, "db", namespace="default")

        async def is_gone() -> bool:
            try:
                await client.get(PERSISTENTVOLUMECLAIMS, "data-db-0", namespace="default")
            except NotFoundError:
                return True
            return False

        await until(is_gone, 20)
