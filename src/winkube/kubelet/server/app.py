"""The kubelet's HTTPS server, assembled: TLS, authentication, routes."""

import asyncio
import ssl
from typing import Final

import prometheus_client
from aiohttp import web
from aiohttp.typedefs import Handler

from winkube.base.clock import Clock, SystemClock
from winkube.kubelet.server.auth import require_client
from winkube.kubelet.server.logs import LogHandler
from winkube.kubelet.server.metrics import render_resource_metrics
from winkube.kubelet.server.streaming import StreamHandler
from winkube.kubelet.server.view import NodeView, ServerConfig
from winkube.wire.patience import Patience, ignore_client_faults

_BACKLOG: Final = 128


class KubeletServer:
    """Lives until cancelled; ``port`` is the bound one once ``ready`` is set."""

    def __init__(
        self,
        config: ServerConfig,
        view: NodeView,
        *,
        clock: Clock | None = None,
        patience: Patience | None = None,
    ) -> None:
        self.ready = asyncio.Event()
        self.port = config.port
        self._config = config
        self._view = view
        self._clock = clock or SystemClock()
        self._patience = patience or Patience()

    async def run(self) -> None:
        ignore_client_faults()
        runner = web.AppRunner(
            self._app(), access_log=None, shutdown_timeout=1, handler_cancellation=True
        )
        await runner.setup()
        try:
            context = await asyncio.to_thread(_server_context, self._config)
            async with await self._listen(runner, context) as listener:
                self.port = listener.sockets[0].getsockname()[1]
                self.ready.set()
                await asyncio.get_running_loop().create_future()
        finally:
            self.ready.clear()
            await runner.cleanup()

    async def _listen(self, runner: web.AppRunner, context: ssl.SSLContext) -> asyncio.Server:
        def accept() -> asyncio.BaseProtocol:
            assert runner.server is not None
            return self._patience.accept(runner.server())

        return await asyncio.get_running_loop().create_server(
            accept,
            self._config.node_ip,
            self._config.port,
            ssl=context,
            backlog=_BACKLOG,
            reuse_address=True,
        )

    @web.middleware
    async def _hear(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self._patience.heard(request)
        return await handler(request)

    def _app(self) -> web.Application:
        app = web.Application(middlewares=[self._hear, require_client])
        logs, streams = LogHandler(self._view, self._clock), StreamHandler(self._view)
        for path in ("/healthz", "/healthz/ping", "/healthz/syncloop"):
            app.router.add_get(path, self._healthz)
        for path in ("/pods", "/pods/"):
            app.router.add_get(path, self._pods)
        for path in ("/runningpods", "/runningpods/"):
            app.router.add_get(path, self._running_pods)
        for path in ("/stats/summary", "/stats/summary/"):
            app.router.add_get(path, self._summary)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/metrics/resource", self._resource_metrics)
        app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", logs.serve)
        streams.add_routes(app.router)
        return app

    async def _healthz(self, _request: web.Request) -> web.Response:
        if self._view.healthy():
            return web.Response(text="ok")
        return web.Response(status=500, text="the kubelet is not healthy")

    async def _pods(self, _request: web.Request) -> web.Response:
        return web.json_response(self._view.pods())

    async def _running_pods(self, _request: web.Request) -> web.Response:
        pods = self._view.pods()
        running = [
            pod
            for pod in pods.get("items") or []
            if pod.get("status", {}).get("phase") == "Running"
        ]
        return web.json_response({**pods, "items": running})

    async def _summary(self, _request: web.Request) -> web.Response:
        return web.json_response(await self._view.stats_summary())

    async def _metrics(self, _request: web.Request) -> web.Response:
        text = prometheus_client.generate_latest().decode()
        return web.Response(text=text, content_type="text/plain")

    async def _resource_metrics(self, _request: web.Request) -> web.Response:
        text = render_resource_metrics(await self._view.resource_usage())
        return web.Response(text=text, content_type="text/plain")


def _server_context(config: ServerConfig) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=config.client_ca_file)
    context.load_cert_chain(config.cert_file, config.key_file)
    # Not required in the handshake, so that a client without a certificate is told 401.
    context.verify_mode = ssl.CERT_OPTIONAL
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
