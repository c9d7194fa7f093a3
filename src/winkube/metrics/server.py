"""The metrics server: scrapes kubelets, answers the API server.

Only the API server's front proxy is let in, and it has asked whether its user may read this before
it passes a request on.
"""

import asyncio
import logging
import ssl
from typing import Final

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from winkube.api.errors import (
    ApiError,
    MethodNotAllowedError,
    NotFoundError,
    UnauthorizedError,
)
from winkube.api.selector.labels import parse_label_selector
from winkube.api.simulation import is_simulated
from winkube.base.clock import Clock, SystemClock
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.informer import Informer
from winkube.client.resource import NODES, PODS
from winkube.client.rest import ApiClient
from winkube.metrics import documents, openapi
from winkube.metrics.config import MetricsConfig
from winkube.metrics.figures import Figures
from winkube.metrics.kubelets import Kubelets
from winkube.metrics.simulated import said_figures

log = logging.getLogger(__name__)

_ROOT: Final = f"/apis/{documents.API_VERSION}"
_OPEN: Final = frozenset({"/healthz", "/livez", "/readyz"})
_FRESH_SECONDS: Final = 2.0


class MetricsServer:
    """Lives until cancelled; ``port`` is the bound one once ``ready`` is set."""

    def __init__(
        self, client: ApiClient, config: MetricsConfig, *, clock: Clock | None = None
    ) -> None:
        self.ready = asyncio.Event()
        self.port = config.listen[1]
        self._client = client
        self._config = config
        self._clock: Clock = clock or SystemClock()
        self._nodes = Informer(client, NODES)
        self._figures = Figures()
        self._simulates = False
        self._asked = self._scraped = -1e9
        self._wanted = asyncio.Event()
        self._done = asyncio.Event()

    async def run(self) -> None:
        runner = web.AppRunner(self._app(), access_log=None, shutdown_timeout=1)
        await runner.setup()
        try:
            context = server_context(self._config)
            host, port = self._config.listen
            site = web.TCPSite(runner, host, port, ssl_context=context)
            await site.start()
            self.port = runner.addresses[0][1]
            async with (
                asyncio.TaskGroup() as group,
                Kubelets(self._config, self._clock) as kubelets,
            ):
                group.create_task(self._nodes.run(), name="metrics nodes")
                await self._nodes.synced.wait()
                self.ready.set()
                await self._scrape_forever(kubelets)
        finally:
            self.ready.clear()
            await runner.cleanup()

    async def _scrape_forever(self, kubelets: Kubelets) -> None:
        while True:
            self._wanted.clear()
            real = [node for node in self._nodes.list() if not is_simulated(node)]
            self._simulates = len(real) < len(self._nodes.keys())
            for node, scrape in (await kubelets.scrape(real)).items():
                self._figures.take(node, scrape)
            self._figures.keep_only(self._nodes.keys())
            self._scraped = self._clock.monotonic()
            self._done.set()
            self._done = asyncio.Event()
            await self._pause()

    async def _pause(self) -> None:
        """Until figures are due again: soon when somebody reads them or they are incomplete."""
        config = self._config
        quiet = self._clock.monotonic() - self._asked > config.idle_after
        seconds = config.idle_interval if quiet else config.interval
        if self._figures.waiting:
            seconds = min(config.first_interval, config.interval)
        try:
            async with asyncio.timeout(seconds):
                await self._wanted.wait()
        except TimeoutError:
            return

    async def _be_fresh(self) -> None:
        """Somebody reads: what was scraped long ago while nobody did is scraped anew."""
        self._asked = now = self._clock.monotonic()
        if now - self._scraped < self._config.interval * 1.5:
            return
        done = self._done
        self._wanted.set()
        try:
            async with asyncio.timeout(_FRESH_SECONDS):
                await done.wait()
        except TimeoutError:
            return

    def _app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard])
        get = app.router.add_get
        for path in _OPEN:
            get(path, self._healthz)
        get("/apis", self._groups)
        get(f"/apis/{documents.GROUP}", self._group)
        get(_ROOT, self._resources)
        get(f"{_ROOT}/nodes", self._list_nodes)
        get(f"{_ROOT}/nodes/{{name}}", self._get_node)
        get(f"{_ROOT}/pods", self._list_pods)
        get(f"{_ROOT}/namespaces/{{namespace}}/pods", self._list_pods)
        get(f"{_ROOT}/namespaces/{{namespace}}/pods/{{name}}", self._get_pod)
        openapi.install(app.router)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            if request.path not in _OPEN:
                self._admit(request)
            return await handler(request)
        except web.HTTPNotFound:
            return _reply_error(NotFoundError("the server could not find the requested resource"))
        except web.HTTPMethodNotAllowed:
            return _reply_error(_not_allowed())
        except ApiError as error:
            return _reply_error(error)
        except TransportError as error:
            log.warning("the API server was not reached", extra={"error": str(error)})
            return web.Response(status=500, text=str(error))

    def _admit(self, request: web.Request) -> None:
        transport = request.transport
        certificate = transport.get_extra_info("peercert") if transport is not None else None
        names = [
            value
            for part in (certificate or {}).get("subject", ())
            for key, value in part
            if key == "commonName"
        ]
        if not set(names[-1:]) & set(self._config.allowed_names):
            raise UnauthorizedError
        if not request.headers.get("X-Remote-User"):
            raise UnauthorizedError

    async def _healthz(self, request: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def _groups(self, request: web.Request) -> web.Response:
        groups = [documents.API_GROUP]
        return _reply({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})

    async def _group(self, request: web.Request) -> web.Response:
        return _reply({"kind": "APIGroup", "apiVersion": "v1", **documents.API_GROUP})

    async def _resources(self, request: web.Request) -> web.Response:
        return _reply(documents.RESOURCES)

    async def _list_nodes(self, request: web.Request) -> web.Response:
        _refuse_watch(request)
        selector = parse_label_selector(request.query.get("labelSelector", ""))
        await self._be_fresh()
        nodes = sorted(self._nodes.list(), key=lambda node: str(node["metadata"]["name"]))
        found = [self._node(node) for node in nodes if selector.matches(_labels(node))]
        return _reply_list(request, "NodeMetrics", [item for item in found if item is not None])

    async def _get_node(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        await self._be_fresh()
        node = self._nodes.get(name)
        metrics = None if node is None else self._node(node)
        if metrics is None:
            raise NotFoundError.of("nodemetrics", name, group=documents.GROUP)
        return _reply_one(request, metrics)

    def _node(self, node: JsonObject) -> JsonObject | None:
        figure = self._figures.node(node["metadata"]["name"])
        return None if figure is None else documents.node_metrics(node, figure, self._clock.now())

    async def _list_pods(self, request: web.Request) -> web.Response:
        _refuse_watch(request)
        await self._be_fresh()
        # Labels are asked for when they are needed: a copy of every pod would cost far more.
        listed = await self._client.list(
            PODS,
            namespace=request.match_info.get("namespace"),
            label_selector=request.query.get("labelSelector"),
            field_selector=request.query.get("fieldSelector"),
            resource_version="0",
            metadata_only=True,
        )
        found = [self._pod(pod) for pod in listed.get("items") or ()]
        return _reply_list(request, "PodMetrics", [item for item in found if item is not None])

    async def _get_pod(self, request: web.Request) -> web.Response:
        namespace, name = request.match_info["namespace"], request.match_info["name"]
        await self._be_fresh()
        missing = NotFoundError.of("podmetrics", f"{namespace}/{name}", group=documents.GROUP)
        try:
            pod = await self._client.get(PODS, name, namespace=namespace)
        except NotFoundError:
            raise missing from None
        metrics = self._pod(pod)
        if metrics is None:
            raise missing
        return _reply_one(request, metrics)

    def _pod(self, pod: JsonObject) -> JsonObject | None:
        metadata = pod["metadata"]
        figures = self._figures.pod((metadata["namespace"], metadata["name"]))
        if figures is None and self._simulates:
            figures = said_figures(pod, self._clock.now())
        return None if figures is None else documents.pod_metrics(pod, figures, self._clock.now())


def server_context(config: MetricsConfig) -> ssl.SSLContext:
    context = ssl.create_default_context(
        ssl.Purpose.CLIENT_AUTH, cafile=str(config.requestheader_ca)
    )
    context.load_cert_chain(config.cert_file, config.key_file)
    # Not required in the handshake, so that a client without a certificate is told 401.
    context.verify_mode = ssl.CERT_OPTIONAL
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _labels(obj: JsonObject) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


def _refuse_watch(request: web.Request) -> None:
    if request.query.get("watch", "false") not in ("false", "0"):
        raise _not_allowed()


def _not_allowed() -> MethodNotAllowedError:
    return MethodNotAllowedError("the server does not allow this method on the requested resource")


def _wants_table(request: web.Request) -> bool:
    for entry in request.headers.get("Accept", "").split(","):
        media = [part.strip() for part in entry.split(";")]
        if media[0] == "application/json":
            return "as=Table" in media
    return False


def _reply_list(request: web.Request, kind: str, items: list[JsonObject]) -> web.Response:
    if _wants_table(request):
        return _reply(documents.table(items, listed=True))
    return _reply(documents.listing(kind, items))


def _reply_one(request: web.Request, item: JsonObject) -> web.Response:
    return _reply(documents.table([item], listed=False) if _wants_table(request) else item)


def _reply(document: JsonObject, status: int = 200) -> web.Response:
    return web.Response(
        body=orjson.dumps(document),
        status=status,
        headers={"Content-Type": "application/json", "Cache-Control": "no-cache, private"},
    )


def _reply_error(error: ApiError) -> web.Response:
    return _reply(error.to_status(), error.code)
