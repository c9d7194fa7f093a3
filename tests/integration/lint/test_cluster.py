from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from winkube.client.config import ClientConfig
from winkube.client.errors import ClientError
from winkube.lint.cluster import read_cluster
from winkube.lint.errors import ClusterError
from winkube.lint.run import LintConfig, Run
from winkube.testing.http_server import http_server

NODE = {
    "metadata": {
        "name": "win-1",
        "labels": {"kubernetes.io/os": "windows", "node.kubernetes.io/windows-build": "10.0.17763"},
    },
    "status": {"nodeInfo": {"kubeletVersion": "v1.31.4"}},
}
SPEC = {
    "hostPID": True,
    "nodeSelector": {"kubernetes.io/os": "windows"},
    "containers": [{"name": "a", "image": "b"}],
}
OWNED = [{"kind": "ReplicaSet", "name": "r", "controller": True}]
PODS = [
    {"metadata": {"name": "alone", "namespace": "shop"}, "spec": SPEC},
    {"metadata": {"name": "owned", "namespace": "shop", "ownerReferences": OWNED}, "spec": SPEC},
]


def resource(name: str, kind: str, *verbs: str) -> dict[str, Any]:
    return {"name": name, "kind": kind, "namespaced": True, "verbs": list(verbs)}


ANSWERS: dict[str, Any] = {
    "/apis": {"groups": []},
    "/api/v1": {
        "groupVersion": "v1",
        "resources": [
            resource("pods", "Pod", "get", "list"),
            resource("services", "Service", "get", "list"),
            resource("secrets", "Secret", "get", "list"),
            resource("nodes", "Node", "get", "list"),
        ],
    },
    "/api/v1/nodes": {"kind": "NodeList", "apiVersion": "v1", "items": [NODE]},
    "/api/v1/pods": {"kind": "PodList", "apiVersion": "v1", "items": PODS},
}


@asynccontextmanager
async def serving(answers: dict[str, Any], seen: list[str]) -> AsyncIterator[ClientConfig]:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        seen.append(request.path)
        if request.path in answers:
            return web.json_response(answers[request.path])
        status = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "not you"}
        return web.json_response(status, status=403)

    async with http_server(handler) as url:
        yield ClientConfig(url)


async def test_a_cluster_is_checked_for_the_windows_nodes_it_has() -> None:
    seen: list[str] = []
    async with serving(ANSWERS, seen) as config:
        live = await read_cluster(config)
    assert [str(target) for target in live.targets] == ["1.31.4/ws2019"]
    assert live.unread == ("services: not you",)
    assert "/api/v1/secrets" not in seen
    run = Run(LintConfig(live.targets))
    run.add_live("cluster", live.objects)
    found = [each for each in run.finish().findings if each.rule.id == "WIN-POD-002"]
    assert [each.place for each in found] == ["cluster: Pod shop/alone: spec.hostPID"]


async def test_a_cluster_that_says_no_is_an_error_with_its_address() -> None:
    async with serving({}, []) as config:
        with pytest.raises(ClusterError, match=r"127\.0\.0\.1"):
            await read_cluster(config)


async def test_a_cluster_that_is_away_is_an_error() -> None:
    with pytest.raises((ClusterError, ClientError)):
        await read_cluster(ClientConfig("http://127.0.0.1:1"))
