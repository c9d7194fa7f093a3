"""The API server passes on what others answer for, as who asks, and tells when they do not."""

import asyncio
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from tests.integration.controllers.test_control_plane import until
from tests.integration.metrics.stack import SYSTEM, Stack, pair, running_pod, stack

from winkube.api.errors import ForbiddenError, NotFoundError, UnavailableError
from winkube.base.types import JsonObject
from winkube.client.resource import (
    APISERVICES,
    CONFIGMAPS,
    ENDPOINTSLICES,
    PODS,
    SERVICEACCOUNTS,
    SERVICES,
)
from winkube.client.rest import ApiClient
from winkube.testing.http_client import http_session

ROOT = "/apis/metrics.k8s.io/v1beta1"
NAME = "v1beta1.metrics.k8s.io"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


async def available(made: Stack, name: str = NAME) -> bool:
    return (await made.condition(name)).get("status") == "True"


async def fetch(made: Stack, path: str, **headers: str) -> tuple[int, JsonObject | str]:
    config = made.client_for("admin")
    async with (
        http_session() as session,
        session.get(
            config.server + path, headers=headers, ssl=config.ssl_context() or True
        ) as answer,
    ):
        if answer.content_type == "application/json":
            return answer.status, await answer.json()
        return answer.status, await answer.text()


async def test_the_metrics_group_is_served_through_the_api_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stack(tmp_path, monkeypatch) as made, made.metrics_server():
        account = {"metadata": {"name": "default", "namespace": "default"}}
        await made.client.create(SERVICEACCOUNTS, account)
        for name, app in (("a", "web"), ("b", "db")):
            await made.client.create(PODS, running_pod(name, {"app": app}))
            made.node.rates[name, "main"] = 0.25
        await made.register("metrics-server", "metrics.k8s.io/v1beta1")
        await until(lambda: available(made))
        assert (await made.condition(NAME))["reason"] == "Passed"
        await _check_figures(made)
        await _check_discovery(made)
        async with ApiClient(made.client_for("nobody")) as nobody:
            with pytest.raises(ForbiddenError, match='cannot list resource "nodes" in API group'):
                await nobody.get_path(f"{ROOT}/nodes")


async def _check_figures(made: Stack) -> None:
    path = f"{ROOT}/namespaces/default/pods?labelSelector=app%3Dweb"

    async def measured() -> bool:
        items = (await made.client.get_path(path))["items"]
        if not items:
            return False
        [usage] = [entry["usage"] for entry in items[0]["containers"]]
        cpu = int(usage["cpu"].removesuffix("n"))
        return usage["memory"] == "4096Ki" and 200_000_000 < cpu < 300_000_000

    await until(measured)
    [pod] = (await made.client.get_path(path))["items"]
    assert pod["metadata"]["name"] == "a"
    assert pod["metadata"]["labels"] == {"app": "web"}
    both = await made.client.get_path(f"{ROOT}/pods")
    assert [item["metadata"]["name"] for item in both["items"]] == ["a", "b"]
    node = await made.client.get_path(f"{ROOT}/nodes/win-1")
    assert node["kind"] == "NodeMetrics"
    assert 400_000_000 < int(node["usage"]["cpu"].removesuffix("n")) < 600_000_000
    with pytest.raises(NotFoundError) as caught:
        await made.client.get_path(f"{ROOT}/namespaces/default/pods/none")
    assert str(caught.value) == 'podmetrics.metrics.k8s.io "default/none" not found'


async def _check_discovery(made: Stack) -> None:
    groups = (await made.client.get_path("/apis"))["groups"]
    assert groups[-1]["name"] == "metrics.k8s.io"
    group = await made.client.get_path("/apis/metrics.k8s.io")
    assert group["preferredVersion"] == {
        "groupVersion": "metrics.k8s.io/v1beta1",
        "version": "v1beta1",
    }
    listed = await made.client.get_path(ROOT)
    assert [entry["name"] for entry in listed["resources"]] == ["nodes", "pods"]
    _, aggregated = await fetch(made, "/apis", Accept=AGGREGATED)
    assert isinstance(aggregated, dict)
    [version] = aggregated["items"][-1]["versions"]
    assert version["freshness"] == "Current"
    assert [entry["scope"] for entry in version["resources"]] == ["Cluster", "Namespaced"]
    index = await made.client.get_path("/openapi/v3")
    url = index["paths"][ROOT.lstrip("/")]["serverRelativeURL"]
    schemas = (await made.client.get_path(url))["components"]["schemas"]
    assert "io.k8s.metrics.pkg.apis.metrics.v1beta1.PodMetrics" in schemas
    whole = await made.client.get_path("/openapi/v2")
    assert "io.k8s.metrics.pkg.apis.metrics.v1beta1.PodMetrics" in whole["definitions"]
    assert "io.k8s.api.core.v1.Pod" in whole["definitions"]


async def test_a_server_that_is_gone_is_told_and_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stack(tmp_path, monkeypatch) as made:
        async with made.metrics_server():
            await made.register("metrics-server", "metrics.k8s.io/v1beta1")
            await until(lambda: available(made))
        status, text = await fetch(made, f"{ROOT}/nodes")
        assert status == 503
        await made.client.patch(
            SERVICES, "metrics-server", {"metadata": {"labels": {"a": "b"}}}, namespace=SYSTEM
        )

        async def failed() -> bool:
            return (await made.condition(NAME)).get("reason") == "FailedDiscoveryCheck"

        await until(failed)
        words = (await made.condition(NAME))["message"]
        assert words.startswith("failing or missing response from https://127.0.0.1:")
        status, text = await fetch(made, f"{ROOT}/nodes")
        assert (status, text) == (503, "service unavailable\n")
        with pytest.raises(UnavailableError):
            await made.client.get_path(f"{ROOT}/nodes")
        _, aggregated = await fetch(made, "/apis", Accept=AGGREGATED)
        assert isinstance(aggregated, dict)
        assert aggregated["items"][-1]["versions"][0]["freshness"] == "Stale"
        async with made.metrics_server():
            await until(lambda: available(made))


async def test_what_is_missing_for_a_server_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stack(tmp_path, monkeypatch) as made:
        await made.register("metrics-server", "metrics.k8s.io/v1beta1")
        client = made.client

        async def said(reason: str, words: str) -> None:
            async def holds() -> bool:
                found = await made.condition(NAME)
                return (found.get("reason"), found.get("message")) == (reason, words)

            await until(holds)

        place = 'service/metrics-server in "kube-system"'
        slices: JsonObject = {"endpoints": []}
        await client.patch(ENDPOINTSLICES, "metrics-server", slices, namespace=SYSTEM)
        await said(
            "MissingEndpoints",
            f'endpointslices for {place} have no addresses with port name "https"',
        )
        await client.delete(ENDPOINTSLICES, "metrics-server", namespace=SYSTEM)
        await said("EndpointsNotFound", f"cannot find endpointslices for {place}")
        port = {"spec": {"ports": [{"name": "https", "port": 444}]}}
        await client.patch(SERVICES, "metrics-server", port, namespace=SYSTEM)
        await said("ServicePortError", f"{place} is not listening on port 443")
        await client.delete(SERVICES, "metrics-server", namespace=SYSTEM)
        await said("ServiceNotFound", f"{place} is not present")
        await client.delete(APISERVICES, NAME)
        groups = (await client.get_path("/apis"))["groups"]
        assert "metrics.k8s.io" not in [group["name"] for group in groups]


async def test_the_server_behind_learns_who_asks_from_us_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, list[str]]] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append({name: request.headers.getall(name) for name in request.headers})
        return web.json_response({"kind": "Echo", "body": await request.text(), "resources": []})

    async def send_away(request: web.Request) -> web.Response:
        raise web.HTTPFound("https://elsewhere.example/")

    app = web.Application()
    app.router.add_get("/apis/custom.example/v1/away", send_away)
    app.router.add_route("*", "/apis/custom.example/{rest:.*}", answer)
    async with stack(tmp_path, monkeypatch) as made, made.adapter(app):
        await made.register("adapter", "custom.example/v1")
        await until(lambda: available(made, "v1.custom.example"))
        seen.clear()
        spoofed = {
            "X-Remote-User": "root",
            "X-Remote-Group": "system:masters",
            "X-Remote-Extra-Scopes": "all",
            "Authorization": "Bearer secret",
        }
        path = "/apis/custom.example/v1/things?limit=5"
        status, _ = await fetch(made, path, **spoofed)
        assert status == 200
        [headers] = seen
        assert headers["X-Remote-User"] == ["kubernetes-admin"]
        assert headers["X-Remote-Group"] == ["system:masters", "system:authenticated"]
        assert "X-Remote-Extra-Scopes" not in headers
        assert "Authorization" not in headers
        await _check_unsaid(made, seen)
        seen.clear()
        # We asked about a thing; the server behind would take it for a part of one.
        status, _ = await fetch(made, "/apis/custom.example/v1/things/a%2Fproxy")
        assert (status, seen) == (404, [])
        status, text = await fetch(made, "/apis/custom.example/v1/away")
        words = "the backend attempted to redirect this request, which is not permitted"
        assert (status, text) == (502, words)


async def _check_unsaid(made: Stack, seen: list[dict[str, list[str]]]) -> None:
    """A body of no named type is what the server behind takes for its own."""
    config, unsaid = made.client_for("admin"), ("Accept", "Content-Type", "User-Agent")
    async with (
        http_session(skip_auto_headers=unsaid) as session,
        session.post(
            f"{config.server}/apis/custom.example/v1/things",
            data=b"{}",
            ssl=config.ssl_context() or True,
        ) as answer,
    ):
        assert (await answer.json())["body"] == "{}"
    assert not set(unsaid) & set(seen[-1])


async def test_a_server_with_a_wrong_certificate_gets_no_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"resources": []})

    app = web.Application()
    app.router.add_get("/apis/custom.example/{rest:.*}", answer)
    async with stack(tmp_path, monkeypatch) as made, made.adapter(app):
        made.ports["stranger"] = made.ports["adapter"]
        await made.register("stranger", "custom.example/v1")
        await until(lambda: available(made, "v1.custom.example"))
        status, _ = await fetch(made, "/apis/custom.example/v1/things")
        assert status == 503  # its certificate is not for stranger.kube-system.svc


async def test_the_metrics_server_lets_in_the_front_proxy_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stack(tmp_path, monkeypatch) as made, made.metrics_server() as server:

        async def ask(certificate: str | None, **headers: str) -> int:
            config = made.client_for("admin")
            context = config.ssl_context()
            assert context is not None
            if certificate is not None:
                files = pair(tmp_path, certificate)
                context.load_cert_chain(files.cert, files.key)
            url = f"https://127.0.0.1:{server.port}{ROOT}/nodes"
            async with http_session() as session:
                try:
                    async with session.get(url, headers=headers, ssl=context) as answer:
                        return answer.status
                except aiohttp.ClientError:
                    return 0

        user = {"X-Remote-User": "admin"}
        assert await ask("front", **user) == 200
        assert await ask("front") == 401
        assert await ask("other", **user) == 401
        assert await ask("nobody", **user) == 0  # of another authority
        await asyncio.sleep(0)


async def test_servers_can_read_whom_to_believe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stack(tmp_path, monkeypatch) as made:
        name = "extension-apiserver-authentication"

        async def exists() -> bool:
            try:
                await made.client.get(CONFIGMAPS, name, namespace=SYSTEM)
            except NotFoundError:
                return False
            return True

        await until(exists)
        data = (await made.client.get(CONFIGMAPS, name, namespace=SYSTEM))["data"]
        assert data["requestheader-client-ca-file"] == (tmp_path / "front-proxy-ca.crt").read_text()
        assert data["client-ca-file"] == (tmp_path / "ca.crt").read_text()
        assert data["requestheader-allowed-names"] == '["front-proxy-client"]'
        await made.client.delete(CONFIGMAPS, name, namespace=SYSTEM)
        await until(exists)


async def test_connections_may_become_another_protocol(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def talk(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            await socket.send_str(f"{request.headers['X-Remote-User']}: {message.data}")
        return socket

    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"resources": []})

    app = web.Application()
    app.router.add_get("/apis/custom.example/v1/namespaces/n/things/t/talk", talk)
    app.router.add_get("/apis/custom.example/{rest:.*}", answer)
    async with stack(tmp_path, monkeypatch) as made, made.adapter(app):
        await made.register("adapter", "custom.example/v1")
        await until(lambda: available(made, "v1.custom.example"))
        config = made.client_for("admin")
        url = f"{config.server}/apis/custom.example/v1/namespaces/n/things/t/talk"
        async with (
            http_session() as session,
            session.ws_connect(url, ssl=config.ssl_context() or True) as socket,
        ):
            await socket.send_str("hello")
            assert await socket.receive_str(timeout=5) == "kubernetes-admin: hello"
