"""The quota controller against the real API server: status, replenishment, quotas that change."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.integration.controllers.control_plane import control_plane
from tests.integration.controllers.test_control_plane import until

from winkube.api.errors import ForbiddenError
from winkube.base.types import JsonObject
from winkube.client.resource import CONFIGMAPS, DEPLOYMENTS, PODS, RESOURCEQUOTAS, SERVICES
from winkube.client.rest import ApiClient


def pod(name: str, cpu: str = "100m") -> JsonObject:
    resources = {"requests": {"cpu": cpu}}
    containers = [{"name": "c", "image": "i", "resources": resources}]
    return {"metadata": {"name": name}, "spec": {"containers": containers}}


async def quota(client: ApiClient, hard: dict[str, str], **spec: Any) -> None:
    obj = {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}}
    await client.create(RESOURCEQUOTAS, obj, namespace="default")
    await used(client, dict.fromkeys(hard))


async def used(client: ApiClient, wanted: dict[str, Any]) -> None:
    """Wait until the status says this; None stands for any amount."""

    async def reached() -> bool:
        found = await client.get(RESOURCEQUOTAS, "q", namespace="default")
        status = found.get("status") or {}
        says = status.get("used") or {}
        return status.get("hard") == found["spec"]["hard"] and all(
            name in says and value in (None, says[name]) for name, value in wanted.items()
        )

    await until(reached)


async def test_usage_follows_what_is_created_and_deleted(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client:
        await client.create(PODS, pod("early"), namespace="default")
        hard = {"pods": "3", "requests.cpu": "1", "count/services": "5", "configmaps": "10"}
        await quota(client, hard)
        # kube-root-ca.crt and the kubernetes service are there already.
        await used(
            client,
            {"pods": "1", "requests.cpu": "100m", "count/services": "1", "configmaps": "1"},
        )
        for name in ("a", "b"):
            await client.create(PODS, pod(name), namespace="default")
        await used(client, {"pods": "3", "requests.cpu": "300m"})
        with pytest.raises(ForbiddenError, match="exceeded quota: q, requested: pods=1"):
            await client.create(PODS, pod("c"), namespace="default")
        await client.delete(PODS, "a", namespace="default")
        await used(client, {"pods": "2", "requests.cpu": "200m"})
        ended = {"status": {"phase": "Succeeded"}}
        await client.patch(PODS, "b", ended, namespace="default", subresource="status")
        await used(client, {"pods": "1", "requests.cpu": "100m"})
        await client.create(CONFIGMAPS, {"metadata": {"name": "m"}}, namespace="default")
        await used(client, {"configmaps": "2"})
        await client.delete(CONFIGMAPS, "m", namespace="default")
        await used(client, {"configmaps": "1"})


async def test_a_changed_quota_is_counted_anew(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client:
        await quota(client, {"pods": "1"})
        port = {"port": 80}
        service = {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [port]}}
        await client.create(SERVICES, service, namespace="default")
        change = {"spec": {"hard": {"services.nodeports": "2", "count/deployments.apps": "1"}}}
        await client.patch(RESOURCEQUOTAS, "q", change, namespace="default")
        await used(client, {"pods": "0", "services.nodeports": "1", "count/deployments.apps": "0"})
        await client.patch(SERVICES, "s", {"spec": {"type": "ClusterIP"}}, namespace="default")
        await used(client, {"services.nodeports": "0"})


async def test_a_count_that_was_wrong_is_mended_after_a_creation(tmp_path: Path) -> None:
    """As when the controller counted while a pod was on its way."""
    async with control_plane(tmp_path) as client:
        await quota(client, {"pods": "5"})
        await client.create(PODS, pod("a"), namespace="default")
        found = await client.get(RESOURCEQUOTAS, "q", namespace="default")
        found["status"]["used"] = {"pods": "0"}
        await client.update(RESOURCEQUOTAS, found, subresource="status")
        await used(client, {"pods": "1"})


async def test_a_deployment_waits_for_the_quota(tmp_path: Path) -> None:
    async with control_plane(tmp_path) as client:
        await quota(client, {"pods": "2"})
        template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}
        spec = {"replicas": 4, "selector": {"matchLabels": {"a": "b"}}, "template": template}
        await client.create(
            DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec}, namespace="default"
        )
        await used(client, {"pods": "2"})
        await asyncio.sleep(0.5)
        pods = await client.list(PODS, namespace="default")
        assert len(pods["items"]) == 2
        change = {"spec": {"hard": {"pods": "4"}}}
        await client.patch(RESOURCEQUOTAS, "q", change, namespace="default")
        await used(client, {"pods": "4"})
