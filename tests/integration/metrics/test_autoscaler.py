"""Autoscalers against the real API server, controllers and metrics server."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.integration.controllers.test_control_plane import items, until
from tests.integration.metrics.stack import Stack, stack

from winkube.api.errors import ConflictError, NotFoundError
from winkube.api.meta import get_condition
from winkube.base.clock import SystemClock, to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.resource import DEPLOYMENTS, EVENTS, HORIZONTALPODAUTOSCALERS, PODS, Resource
from winkube.client.rest import PatchType
from winkube.testing.tasks import running

V1 = Resource("autoscaling", "v1", "horizontalpodautoscalers", True)
AT_ONCE = {
    "scaleUp": {"policies": [{"type": "Pods", "value": 10, "periodSeconds": 1}]},
    "scaleDown": {
        "stabilizationWindowSeconds": 0,
        "policies": [{"type": "Percent", "value": 100, "periodSeconds": 1}],
    },
}


def deployment(replicas: int = 1) -> JsonObject:
    container = {"name": "main", "image": "web", "resources": {"requests": {"cpu": "100m"}}}
    return {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"nodeName": "win-1", "containers": [container]},
            },
        },
    }


def autoscaler(*metrics: JsonObject, **spec: Any) -> JsonObject:
    return {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 1,
            "maxReplicas": 4,
            "metrics": list(metrics),
            "behavior": AT_ONCE,
            **spec,
        },
    }


def cpu(percent: int) -> JsonObject:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


async def play_node(made: Stack, rate: list[float]) -> None:
    """Pods have run for an hour as soon as they are there; each uses ``rate`` cores."""
    long_ago = to_rfc3339(SystemClock().now() - 3600)
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": long_ago}
    status = {"phase": "Running", "startTime": long_ago, "conditions": [ready]}
    while True:
        pods = await items(made.client, PODS)
        made.node.rates = {(pod["metadata"]["name"], "main"): rate[0] for pod in pods}
        for pod in pods:
            name = pod["metadata"]["name"]
            try:
                if pod["metadata"].get("deletionTimestamp"):
                    now = {"gracePeriodSeconds": 0}
                    await made.client.delete(PODS, name, namespace="default", options=now)
                elif pod["status"].get("phase") != "Running":
                    await made.client.patch(
                        PODS, name, {"status": status}, namespace="default",
                        subresource="status", patch_type=PatchType.STRATEGIC,
                    )  # fmt: skip
            except (NotFoundError, ConflictError):
                continue
        await asyncio.sleep(0.05)


async def read(made: Stack) -> JsonObject:
    return await made.client.get(HORIZONTALPODAUTOSCALERS, "web", namespace="default")


async def size(made: Stack) -> int:
    found = await made.client.get(DEPLOYMENTS, "web", namespace="default")
    return int(found["spec"]["replicas"])


async def said(made: Stack, reason: str) -> list[str]:
    events = await items(made.client, EVENTS, namespace="default")
    return [event["message"] for event in events if event["reason"] == reason]


def has_said(made: Stack, reason: str, words: str) -> Any:
    async def holds() -> bool:
        return words in await said(made, reason)

    return holds


def is_size(made: Stack, wanted: int) -> Any:
    async def holds() -> bool:
        return await size(made) == wanted

    return holds


def has_reason(made: Stack, kind: str, reason: str) -> Any:
    async def holds() -> bool:
        condition = get_condition(await read(made), kind) or {}
        return condition.get("reason") == reason

    return holds


async def test_a_deployment_follows_the_cpu_its_pods_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate = [0.05]
    async with (
        stack(tmp_path, monkeypatch) as made,
        made.metrics_server(),
        made.controllers(),
        running(play_node(made, rate)),
    ):
        await made.register("metrics-server", "metrics.k8s.io/v1beta1")
        await made.client.create(DEPLOYMENTS, deployment())
        await made.client.create(HORIZONTALPODAUTOSCALERS, autoscaler(cpu(50)))
        await until(has_reason(made, "ScalingActive", "ValidMetricFound"))
        assert await size(made) == 1
        rate[0] = 0.2
        await until(is_size(made, 4))
        await until(has_reason(made, "ScalingLimited", "TooManyReplicas"))
        words = "cpu resource utilization (percentage of request)"
        grown = await said(made, "SuccessfulRescale")
        assert any(f"reason: {words} above target" in message for message in grown)
        rate[0] = 0.001
        await until(is_size(made, 1))
        words = "New size: 1; reason: All metrics below target"
        await until(has_said(made, "SuccessfulRescale", words))
        await _check_old_form(made)


async def _check_old_form(made: Stack) -> None:
    async def shown() -> bool:
        old = await made.client.get(V1, "web", namespace="default")
        return "currentCPUUtilizationPercentage" in old["status"]

    await until(shown)
    old = await made.client.get(V1, "web", namespace="default")
    assert old["spec"]["targetCPUUtilizationPercentage"] == 50
    assert "autoscaling.alpha.kubernetes.io/behavior" in old["metadata"]["annotations"]


async def test_bounds_and_zero_need_no_metrics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stack(tmp_path, monkeypatch) as made, made.controllers():
        await made.client.create(DEPLOYMENTS, deployment(replicas=9))
        await made.client.create(HORIZONTALPODAUTOSCALERS, autoscaler(cpu(50)))
        await until(is_size(made, 4))
        words = "New size: 4; reason: Current number of replicas above Spec.MaxReplicas"
        await until(has_said(made, "SuccessfulRescale", words))
        await made.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 0}}, namespace="default")
        await until(has_reason(made, "ScalingActive", "ScalingDisabled"))
        assert await size(made) == 0


async def test_what_cannot_be_computed_is_said_in_upstreams_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stack(tmp_path, monkeypatch) as made, made.controllers():
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}
        await made.client.create(
            HORIZONTALPODAUTOSCALERS, autoscaler(cpu(50), scaleTargetRef=target)
        )
        await until(has_reason(made, "AbleToScale", "FailedGetScale"))
        kind = {"apiVersion": "apps/v1", "kind": "Robot", "name": "none"}
        body = {"spec": {"scaleTargetRef": kind}}
        await made.client.patch(HORIZONTALPODAUTOSCALERS, "web", body, namespace="default")
        words = 'no matches for kind "Robot" in group "apps"'
        await until(has_said(made, "FailedGetScale", words))
        await made.client.create(DEPLOYMENTS, deployment())
        body = {"spec": {"scaleTargetRef": {**target, "name": "web"}}}
        await made.client.patch(HORIZONTALPODAUTOSCALERS, "web", body, namespace="default")
        await until(has_reason(made, "ScalingActive", "FailedGetResourceMetric"))
        found = get_condition(await read(made), "ScalingActive")
        assert found is not None
        assert found["message"] == (
            "the HPA was unable to compute the replica count: failed to get cpu utilization: "
            "unable to get metrics for resource cpu: unable to fetch metrics from resource metrics "
            "API: the server could not find the requested resource (get pods.metrics.k8s.io)"
        )


async def test_custom_and_external_metrics_come_from_whoever_serves_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = {"value": "30"}
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(str(request.rel_url))
        if request.path.count("/") < 5:
            return web.json_response({"groupVersion": request.path, "resources": []})
        item = {
            "describedObject": {"kind": "Service", "name": "web"},
            "timestamp": to_rfc3339(SystemClock().now()),
            **figures,
        }
        return web.json_response({"kind": "List", "items": [item]})

    app = web.Application()
    app.router.add_get("/apis/{rest:.*}", answer)
    service = {"apiVersion": "v1", "kind": "Service", "name": "web"}
    external = {
        "type": "External",
        "external": {
            "metric": {"name": "queue", "selector": {"matchLabels": {"q": "one"}}},
            "target": {"type": "AverageValue", "averageValue": "10"},
        },
    }
    custom = {
        "type": "Object",
        "object": {
            "describedObject": service,
            "metric": {"name": "requests"},
            "target": {"type": "AverageValue", "averageValue": "15"},
        },
    }
    async with (
        stack(tmp_path, monkeypatch) as made,
        made.adapter(app),
        made.controllers(),
        running(play_node(made, [0.0])),
    ):
        await made.register(
            "adapter", "external.metrics.k8s.io/v1beta1", "custom.metrics.k8s.io/v1beta2"
        )
        await made.client.create(DEPLOYMENTS, deployment())
        await made.client.create(HORIZONTALPODAUTOSCALERS, autoscaler(external, custom))
        await until(is_size(made, 3))  # 30 of 10 each asks for more than 30 of 15 each

        async def settled() -> bool:
            status = (await read(made))["status"]
            shown = len(status.get("currentMetrics") or ())
            return status.get("currentReplicas") == 3 and shown == 2

        await until(settled)
        figures["value"] = "20"
        await until(is_size(made, 2))
        root = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default"
        assert f"{root}/queue?labelSelector=q%3Done" in asked
        custom_path = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/services/web/requests"
        assert custom_path in asked
