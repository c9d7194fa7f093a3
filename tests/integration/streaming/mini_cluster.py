"""A miniature cluster around the streaming code: API-shaped app, kubelet server, fake runtime."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import yarl
from aiohttp import web
from tests.integration.streaming.authority import Authority
from tests.integration.streaming.local_backend import LOOPBACK, LocalBackend

from winkube.api.errors import ApiError
from winkube.apiserver.streaming.stream import proxy_stream
from winkube.base.types import JsonObject
from winkube.kubelet.server.app import KubeletServer
from winkube.kubelet.server.view import ContainerState, ContainerUsage, NodeUsage, Usage
from winkube.runtime.streaming import StreamingServer
from winkube.testing.http_client import http_session
from winkube.wire import cri


class FakeCri:
    def __init__(self, server: StreamingServer) -> None:
        self._server = server

    async def call(self, method: str, request: Any, *, timeout: float | None = None) -> Any:
        match method:
            case "Exec":
                return cri.ExecResponse(url=self._server.url_for_exec(request))
            case "Attach":
                return cri.AttachResponse(url=self._server.url_for_attach(request))
            case "PortForward":
                return cri.PortForwardResponse(url=self._server.url_for_portforward(request))
            case "ExecSync":
                process = await asyncio.create_subprocess_exec(
                    *request.cmd, stdout=asyncio.subprocess.PIPE
                )
                out, _ = await process.communicate()
                return cri.ExecSyncResponse(stdout=out, exit_code=process.returncode)
        raise AssertionError(method)


def pod(name: str = "web", phase: str = "Running") -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": "u1"},
        "spec": {
            "nodeName": "node-1",
            "containers": [{"name": "main", "image": "x", "stdin": True}],
        },
        "status": {
            "phase": phase,
            "containerStatuses": [
                {"name": "main", "ready": True, "state": {"running": {"startedAt": None}}}
            ],
        },
    }


@dataclass
class FakeView:
    cri: Any
    log: Path
    state: ContainerState | None = ContainerState.RUNNING
    container: str = "c1"
    sandbox: str = "s1"
    health: bool = True
    items: list[JsonObject] = field(default_factory=lambda: [pod()])

    def sandbox_id(self, namespace: str, pod: str) -> str | None:
        return self.sandbox if pod == "web" else None

    def container_id(self, namespace: str, pod: str, container: str) -> str | None:
        return self.container if (pod, container) == ("web", "main") else None

    def container_state(self, namespace: str, pod: str, container: str) -> ContainerState | None:
        return self.state if (pod, container) == ("web", "main") else None

    def log_path(self, namespace: str, pod: str, container: str, previous: bool) -> Path | None:
        return None if previous or self.state is ContainerState.WAITING else self.log

    def pods(self) -> JsonObject:
        return {"apiVersion": "v1", "kind": "PodList", "items": self.items}

    async def stats_summary(self) -> JsonObject:
        return {
            "node": {"nodeName": "node-1", "cpu": {"usageCoreNanoSeconds": 5_000_000_000}},
            "pods": [
                {
                    "podRef": {"name": "web", "namespace": "default"},
                    "containers": [{"name": "main", "memory": {"workingSetBytes": 4096}}],
                }
            ],
        }

    async def resource_usage(self) -> NodeUsage:
        main = ContainerUsage("default", "web", "main", 100.0, Usage(1000.0, 2_000_000, 4096))
        return NodeUsage(Usage(1000.0, 5_000_000_000, 8192), (main,))

    def healthy(self) -> bool:
        return self.health


@dataclass(frozen=True)
class KubeletSettings:
    cert_file: Path
    key_file: Path
    client_ca_file: Path
    node_name: str = "node-1"
    node_ip: str = LOOPBACK
    port: int = 0


@dataclass
class Cluster:
    """Everything a test needs to talk to the miniature cluster."""

    url: str
    kubelet_url: str
    kubeconfig: Path
    authority: Authority
    backend: LocalBackend
    view: FakeView
    streaming: StreamingServer


class MiniApi:
    """Just enough of an API server for kubectl and the Python client to find one pod."""

    def __init__(self, kubelet: str, context: ssl.SSLContext) -> None:
        self._kubelet, self._context = yarl.URL(kubelet), context

    def app(self) -> web.Application:
        app = web.Application(middlewares=[_as_status])
        app.router.add_get("/api", _json({"kind": "APIVersions", "versions": ["v1"]}))
        app.router.add_get("/apis", _json({"kind": "APIGroupList", "groups": []}))
        resources = [
            {"name": name, "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": verbs}
            for name, verbs in (("pods", ["get", "list"]), ("pods/exec", ["create", "get"]))
        ]
        app.router.add_get(
            "/api/v1",
            _json({"kind": "APIResourceList", "groupVersion": "v1", "resources": resources}),
        )
        base = "/api/v1/namespaces/{namespace}/pods/{pod}"
        app.router.add_get(base, _json(pod()))
        app.router.add_get(f"{base}/log", self._log)
        app.router.add_route("*", f"{base}/{{kind:exec|attach|portforward}}", self._stream)
        return app

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        info, query = request.match_info, request.query
        kind = info["kind"]
        container = "" if kind == "portforward" else f"/{query.get('container', 'main')}"
        verb = "portForward" if kind == "portforward" else kind
        names = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}
        passed = [(names[key], "1") for key in names if query.get(key) in ("true", "1")]
        passed += [("command", value) for value in query.getall("command", [])]
        url = self._kubelet / f"{verb}/{info['namespace']}/{info['pod']}{container}"
        return await proxy_stream(request, url.with_query(passed), self._context, kind=kind)  # type: ignore[arg-type]

    async def _log(self, request: web.Request) -> web.StreamResponse:
        container = request.query.get("container", "main")
        info = request.match_info
        url = self._kubelet / f"containerLogs/{info['namespace']}/{info['pod']}/{container}"
        async with (
            http_session() as session,
            session.get(url.with_query(request.query), ssl=self._context) as answer,
        ):
            response = web.StreamResponse(status=answer.status)
            await response.prepare(request)
            async for data in answer.content.iter_any():
                await response.write(data)
            return response


@web.middleware
async def _as_status(request: web.Request, handler: Any) -> web.StreamResponse:
    try:
        response: web.StreamResponse = await handler(request)
    except ApiError as error:
        return web.json_response(error.to_status(), status=error.code)
    return response


def _json(document: JsonObject) -> Any:
    async def answer(_request: web.Request) -> web.Response:
        return web.json_response(document)

    return answer


@asynccontextmanager
async def _serving(app: web.Application, context: ssl.SSLContext) -> AsyncIterator[int]:
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, LOOPBACK, 0, ssl_context=context).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def write_kubeconfig(path: Path, url: str, authority: Authority) -> None:
    cert, key = authority.issue("kubernetes-admin", "system:masters")
    cluster = {"server": url, "certificate-authority": str(authority.ca_file)}
    user = {"client-certificate": str(cert), "client-key": str(key)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "admin", "user": user}],
    }
    path.write_bytes(orjson.dumps(config))


@asynccontextmanager
async def running_cluster(
    authority: Authority, folder: Path, view: FakeView | None = None
) -> AsyncIterator[Cluster]:
    cert, key = authority.issue("server")
    client = authority.issue("kube-apiserver-kubelet-client", "system:masters")
    backend = LocalBackend()
    streaming = StreamingServer(backend)
    view = view or FakeView(FakeCri(streaming), folder / "0.log")
    kubelet = KubeletServer(KubeletSettings(cert, key, authority.ca_file), view)
    to_kubelet = ssl.create_default_context(cafile=str(authority.ca_file))
    to_kubelet.load_cert_chain(*client)
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(cert, key)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(streaming.run()), group.create_task(kubelet.run())]
        await streaming.ready.wait()
        await kubelet.ready.wait()
        kubelet_url = f"https://{LOOPBACK}:{kubelet.port}"
        try:
            async with _serving(MiniApi(kubelet_url, to_kubelet).app(), serving) as port:
                url = f"https://{LOOPBACK}:{port}"
                kubeconfig = folder / "kubeconfig"
                write_kubeconfig(kubeconfig, url, authority)
                yield Cluster(url, kubelet_url, kubeconfig, authority, backend, view, streaming)
        finally:
            for task in tasks:
                task.cancel()
