"""Play autoscaler scenarios: pods, figures and a target in, what a controller makes of them out.

Nothing else runs: pods are made by hand and keep their state, the target's size is what the
autoscaler sets, and figures are served by an adapter that says what the scenario says.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from aiohttp import web
from tests.integration.controllers.test_control_plane import items, until
from tests.integration.metrics.stack import Stack, pair, stack

from winkube.base.clock import SystemClock, to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.events import EventRecorder
from winkube.client.informer import InformerPool
from winkube.client.resource import (
    DEPLOYMENTS,
    EVENTS,
    HORIZONTALPODAUTOSCALERS,
    NAMESPACES,
    PODS,
    SERVICEACCOUNTS,
)
from winkube.client.rest import ApiClient, PatchType
from winkube.controllers.autoscaling.controller import HorizontalPodAutoscalerController
from winkube.controllers.config import ControllerConfig
from winkube.controllers.controller import Context
from winkube.testing.planes import process, upstream_folder
from winkube.testing.tasks import running

DATA: Final = Path(__file__).parents[1] / "data" / "upstream" / "autoscaling.json"
Make = Literal["upstream", "winkube"]
_ROUNDS: Final = 4  # looks without a change; autoscalers are looked at every second
_PATIENCE: Final = 90.0
_METRICS: Final = "metrics.k8s.io/v1beta1"
_CUSTOM: Final = "custom.metrics.k8s.io/v1beta2"
_EXTERNAL: Final = "external.metrics.k8s.io/v1beta1"


@dataclass(frozen=True)
class Pod:
    """``cpu`` (m) and ``memory`` (Mi) are what it uses; None is a pod without figures."""

    cpu: int | None = None
    memory: int = 100
    phase: str = "Running"
    ready: bool = True
    young: bool = False
    requests: dict[str, str] = field(default_factory=lambda: {"cpu": "100m", "memory": "200Mi"})


@dataclass(frozen=True)
class Scenario:
    name: str
    spec: JsonObject
    pods: tuple[Pod, ...] = ()
    replicas: int | None = None  # of the target; as many as there are pods
    custom: dict[str, list[str]] = field(default_factory=dict)  # metric -> values
    external: dict[str, list[str]] = field(default_factory=dict)
    other: JsonObject | None = None  # the specification of a second autoscaler


class Figures:
    """The adapter: answers for all three groups, by namespace."""

    def __init__(self) -> None:
        self.scenarios: dict[str, Scenario] = {}

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_get(f"/apis/{_METRICS}/namespaces/{{ns}}/pods", self._pods)
        app.router.add_get(f"/apis/{_CUSTOM}/namespaces/{{ns}}/pods/*/{{metric}}", self._each)
        app.router.add_get(f"/apis/{_CUSTOM}/namespaces/{{ns}}/{{r}}/{{o}}/{{metric}}", self._one)
        app.router.add_get(f"/apis/{_EXTERNAL}/namespaces/{{ns}}/{{metric}}", self._outside)
        app.router.add_get("/apis/{group}/{version}", self._resources)
        return app

    async def _resources(self, request: web.Request) -> web.Response:
        version = "/".join(request.match_info.values())
        document = {"kind": "APIResourceList", "groupVersion": version, "resources": []}
        return web.json_response({**document, "apiVersion": "v1"})

    async def _pods(self, request: web.Request) -> web.Response:
        found = [
            {
                "metadata": {"name": f"p{number}", "namespace": request.match_info["ns"]},
                "timestamp": to_rfc3339(SystemClock().now()),
                "window": "10s",
                "containers": [
                    {"name": "main", "usage": {"cpu": f"{pod.cpu}m", "memory": f"{pod.memory}Mi"}}
                ],
            }
            for number, pod in enumerate(self._scenario(request).pods)
            if pod.cpu is not None
        ]
        return _list("PodMetricsList", _METRICS, found)

    async def _each(self, request: web.Request) -> web.Response:
        values = self._scenario(request).custom.get(request.match_info["metric"])
        return _values(_CUSTOM, values, lambda number: f"p{number}")

    async def _one(self, request: web.Request) -> web.Response:
        values = self._scenario(request).custom.get(request.match_info["metric"])
        return _values(_CUSTOM, values, lambda _: request.match_info["o"])

    async def _outside(self, request: web.Request) -> web.Response:
        values = self._scenario(request).external.get(request.match_info["metric"])
        return _values(_EXTERNAL, values, lambda _: "")

    def _scenario(self, request: web.Request) -> Scenario:
        return self.scenarios[request.match_info["ns"]]


def _values(version: str, values: list[str] | None, name: Any) -> web.Response:
    if values is None:
        return web.Response(status=404, text="404 page not found\n")
    found = [
        {
            "describedObject": {"name": name(number)},
            "metric": {"name": "m"},
            "metricName": "m",
            "metricLabels": {},
            "timestamp": to_rfc3339(SystemClock().now()),
            "value": value,
        }
        for number, value in enumerate(values)
    ]
    kind = "ExternalMetricValueList" if version == _EXTERNAL else "MetricValueList"
    return _list(kind, version, found)


def _list(kind: str, version: str, found: list[JsonObject]) -> web.Response:
    document = {"kind": kind, "apiVersion": version, "metadata": {}, "items": found}
    return web.json_response(document)


async def play(
    make: Make, scenarios: list[Scenario], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, JsonObject]:
    figures = Figures()
    async with stack(folder, monkeypatch) as made, made.adapter(figures.app()):
        await made.register("adapter", _METRICS, _CUSTOM, _EXTERNAL)
        for name in (_METRICS, _CUSTOM, _EXTERNAL):
            group, _, version = name.partition("/")
            await until(lambda key=f"{version}.{group}": _answers(made, key))  # type: ignore[misc]
        for number, scenario in enumerate(scenarios):
            figures.scenarios[f"s{number}"] = scenario
            await _prepare(made.client, f"s{number}", scenario)
        async with _controller(make, made):
            return await _settled(made.client, scenarios)


async def _settled(client: ApiClient, scenarios: list[Scenario]) -> dict[str, JsonObject]:
    """What stays the same for a few rounds."""
    before: dict[str, JsonObject] = {}
    same = 0
    async with asyncio.timeout(_PATIENCE):
        while same < _ROUNDS:
            await asyncio.sleep(1.2)
            found = {
                scenario.name: await _result(client, f"s{number}", scenario)
                for number, scenario in enumerate(scenarios)
            }
            same = same + 1 if found == before else 0
            before = found
    return before


async def _answers(made: Stack, name: str) -> bool:
    return (await made.condition(name)).get("status") == "True"


@asynccontextmanager
async def _controller(make: Make, made: Stack) -> AsyncIterator[None]:
    if make == "upstream":
        program = upstream_folder()
        assert program is not None
        config = made.folder / "kubeconfig"
        config.write_text(json.dumps(_kubeconfig(made)))
        command = [
            str(program / "kube-controller-manager"),
            f"--kubeconfig={config}",
            "--leader-elect=false",
            "--secure-port=0",
            "--controllers=horizontal-pod-autoscaler-controller",
            "--horizontal-pod-autoscaler-sync-period=1s",
            "--kube-api-qps=1000",
            "--kube-api-burst=1000",
        ]
        with process(command, made.folder / "upstream.log"):
            yield
        return
    informers, recorder = InformerPool(made.client), EventRecorder(made.client, "test")
    settings = ControllerConfig(autoscaler_period=1.0)
    controller = HorizontalPodAutoscalerController(
        Context(made.client, informers, recorder, settings)
    )
    async with running(informers.run(), recorder.run()):
        await informers.synced()
        async with running(controller.run()):
            yield


def _kubeconfig(made: Stack) -> JsonObject:
    files = pair(made.folder, "admin")
    cluster = {
        "server": f"https://127.0.0.1:{made.port}",
        "certificate-authority": str(made.folder / "ca.crt"),
    }
    user = {"client-certificate": str(files.cert), "client-key": str(files.key)}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "current-context": "test",
    }


async def _prepare(client: ApiClient, namespace: str, scenario: Scenario) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": namespace}})
    account = {"metadata": {"name": "default", "namespace": namespace}}
    await client.create(SERVICEACCOUNTS, account)
    for number, pod in enumerate(scenario.pods):
        await _make_pod(client, namespace, f"p{number}", pod)
    replicas = len(scenario.pods) if scenario.replicas is None else scenario.replicas
    container = {"name": "main", "image": "web"}
    target = {
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [container]},
            },
        },
    }
    await client.create(DEPLOYMENTS, target)
    status = {"status": {"replicas": replicas}}
    await client.patch(DEPLOYMENTS, "web", status, namespace=namespace, subresource="status")
    for name, spec in (("web", scenario.spec), ("zweit", scenario.other)):
        if spec is not None:
            meta = {"name": name, "namespace": namespace}
            await client.create(HORIZONTALPODAUTOSCALERS, {"metadata": meta, "spec": spec})


async def _make_pod(client: ApiClient, namespace: str, name: str, pod: Pod) -> None:
    now = SystemClock().now()
    started = now - (30 if pod.young else 3600)
    container = {"name": "main", "image": "web", "resources": {"requests": pod.requests}}
    meta = {"name": name, "namespace": namespace, "labels": {"app": "web"}}
    await client.create(PODS, {"metadata": meta, "spec": {"containers": [container]}})
    condition = {
        "type": "Ready",
        "status": "True" if pod.ready else "False",
        "lastTransitionTime": to_rfc3339(now + 600 if pod.young else started + 60),
    }
    status = {"phase": pod.phase, "startTime": to_rfc3339(started), "conditions": [condition]}
    await client.patch(
        PODS,
        name,
        {"status": status},
        namespace=namespace,
        subresource="status",
        patch_type=PatchType.STRATEGIC,
    )


_NAMESPACE: Final = re.compile(r"\bs\d+\b")
_LISTED: Final = re.compile(r"\[((?:<namespace>/\w+ ?)+)\]")  # Go's maps have no order


async def _result(client: ApiClient, namespace: str, scenario: Scenario) -> JsonObject:
    """What can be seen from outside, without moments and counts."""
    found = await _seen(client, namespace)
    if scenario.other is not None:  # which of two comes first is chance
        kept = [each for each in found["conditions"] if each["type"] == "ScalingActive"]
        found = {"conditions": kept}
    text = _NAMESPACE.sub("<namespace>", json.dumps(found))
    text = _LISTED.sub(lambda match: f"[{' '.join(sorted(match[1].split()))}]", text)
    result: JsonObject = json.loads(text)
    return result


async def _seen(client: ApiClient, namespace: str) -> JsonObject:
    autoscaler = await client.get(HORIZONTALPODAUTOSCALERS, "web", namespace=namespace)
    status = dict(autoscaler.get("status") or {})
    status.pop("lastScaleTime", None)
    conditions = [
        {key: value for key, value in entry.items() if key != "lastTransitionTime"}
        for entry in status.pop("conditions", None) or ()
    ]
    events = {
        (e["type"], e["reason"], e["message"], e["source"]["component"])
        for e in await items(client, EVENTS, namespace=namespace)
        if e["involvedObject"]["name"] == "web"
    }
    target = await client.get(DEPLOYMENTS, "web", namespace=namespace)
    return {
        "replicas": target["spec"]["replicas"],
        "status": status,
        "conditions": conditions,
        "events": sorted(map(list, events)),
    }


def read_record() -> dict[str, JsonObject]:
    record: dict[str, JsonObject] = json.loads(DATA.read_text()) if DATA.exists() else {}
    return record


def write_record(record: dict[str, JsonObject]) -> None:
    lines = (f"{json.dumps(name)}: {json.dumps(record[name], sort_keys=True)}" for name in record)
    DATA.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def differences(ours: JsonObject, theirs: JsonObject) -> Iterator[str]:
    for key in sorted(ours.keys() | theirs.keys()):
        if ours.get(key) != theirs.get(key):
            yield f"{key}: ours {ours.get(key)!r}, upstream's {theirs.get(key)!r}"
