"""The webhook's server: reviews over TLS, health, metrics; ends when those asked are answered."""

import asyncio
import logging
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Protocol

from aiohttp import web

from winkube.aio.supervise import repeat
from winkube.rules.admission.answer import Opinion, WindowsAdmission
from winkube.rules.admission.cluster import World
from winkube.rules.admission.mode import MODES, OFF
from winkube.webhook.certificate import CHECK_SECONDS, Certificate
from winkube.webhook.errors import ReviewError, TooLargeError
from winkube.webhook.metrics import Metrics
from winkube.webhook.review import MOST_BYTES, parse_review, to_answer

log = logging.getLogger(__name__)
MUTATE: Final = "/mutate"
VALIDATE: Final = "/validate"
_PIECE: Final = 64 * 1024
_READ_SECONDS: Final = 10.0
_END_SECONDS: Final = 10.0
# Longer than API servers keep an idle connection: who closes first loses no question.
_IDLE_SECONDS: Final = 630.0


class Follower(Protocol):
    """A world that has to be kept current."""

    synced: asyncio.Event

    async def run(self) -> None: ...


@dataclass(frozen=True, slots=True)
class WebhookConfig:
    host: str
    port: int
    # How long a server that was told to end still answers: the API server has to hear of it.
    linger_seconds: float = 0.0


class WebhookServer:
    """Lives until ``stop`` is set or it is cancelled; ``port`` is the bound one when ready."""

    def __init__(
        self,
        config: WebhookConfig,
        certificate: Certificate,
        world: World,
        follower: Follower | None = None,
    ) -> None:
        self.listening, self.stop = asyncio.Event(), asyncio.Event()
        self.port = config.port
        self._config = config
        self._certificate = certificate
        self._follower = follower
        self._rules = WindowsAdmission(world)
        self._metrics = Metrics()

    async def run(self) -> None:
        runner = web.AppRunner(
            self._app(),
            access_log=None,
            shutdown_timeout=_END_SECONDS,
            keepalive_timeout=_IDLE_SECONDS,
        )
        await runner.setup()
        try:
            site = web.TCPSite(
                runner,
                self._config.host,
                self._config.port,
                ssl_context=self._certificate.context,
            )
            await site.start()
            self.port = runner.addresses[0][1]
            self.listening.set()
            log.info("serving", extra={"host": self._config.host, "port": self.port})
            await self._live()
        finally:
            await runner.cleanup()

    async def _live(self) -> None:
        async with asyncio.TaskGroup() as group:
            refreshing = repeat(CHECK_SECONDS, self._certificate.refresh, name="certificate")
            tasks = [group.create_task(refreshing, name="webhook certificate")]
            if self._follower is not None:
                tasks.append(group.create_task(self._follower.run(), name="webhook cluster"))
            await self.stop.wait()
            log.info("ending", extra={"seconds": self._config.linger_seconds})
            await asyncio.sleep(self._config.linger_seconds)
            for task in tasks:
                task.cancel()

    def _app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/healthz", _healthy)
        app.router.add_get("/livez", _healthy)
        app.router.add_get("/readyz", self._ready)
        app.router.add_get("/metrics", self._tell_metrics)
        app.router.add_post(MUTATE, self._mutate)
        app.router.add_post(VALIDATE + "/{mode}", self._validate)
        return app

    async def _ready(self, request: web.Request) -> web.Response:
        if self.stop.is_set():
            return web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE, text="ending")
        if self._follower is not None and not self._follower.synced.is_set():
            words = "the cluster's nodes are not known yet"
            return web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE, text=words)
        return web.Response(text="ok")

    async def _tell_metrics(self, request: web.Request) -> web.Response:
        return web.Response(body=self._metrics.render(), content_type="text/plain")

    async def _mutate(self, request: web.Request) -> web.Response:
        return await self._answer(request, MUTATE, "")

    async def _validate(self, request: web.Request) -> web.Response:
        mode = request.match_info["mode"]
        if mode not in MODES or mode == OFF.name:
            return web.Response(
                status=HTTPStatus.NOT_FOUND, text=f"no such mode; one of {_known()}"
            )
        return await self._answer(request, f"{VALIDATE}/{mode}", mode)

    async def _answer(self, request: web.Request, path: str, mode: str) -> web.Response:
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            body, answer = self._say(await _read(request), mode)
            status = HTTPStatus.OK
        except ReviewError as error:
            body, answer, status = str(error).encode(), "refused-request", HTTPStatus(error.code)
        self._metrics.count(path, answer, loop.time() - started)
        media = "application/json" if status is HTTPStatus.OK else "text/plain"
        return web.Response(body=body, status=status, content_type=media)

    def _say(self, body: bytes, mode: str) -> tuple[bytes, str]:
        """The answer, and the word it is counted under."""
        review = parse_review(body)
        if review.question is None:
            return to_answer(review, Opinion()), "allowed"
        if not mode:
            operations = self._rules.changes(review.question)
            return to_answer(review, Opinion(), operations), "patched" if operations else "allowed"
        opinion = self._rules.opinion(review.question, MODES[mode])
        for line in opinion.warnings:
            self._metrics.warned(line)
        return to_answer(review, opinion), _word(opinion)


def _word(opinion: Opinion) -> str:
    if opinion.refusal:
        return "denied"
    return "warned" if opinion.warnings else "allowed"


def _known() -> str:
    return ", ".join(name for name in MODES if name != OFF.name)


async def _healthy(request: web.Request) -> web.Response:
    return web.Response(text="ok")


async def _read(request: web.Request) -> bytes:
    """The body, unless it is too long or comes too slowly."""
    if (request.content_length or 0) > MOST_BYTES:
        raise TooLargeError(f"the review has more than {MOST_BYTES} bytes")
    body = bytearray()
    try:
        async with asyncio.timeout(_READ_SECONDS):
            async for piece in request.content.iter_chunked(_PIECE):
                body += piece
                if len(body) > MOST_BYTES:
                    raise TooLargeError(f"the review has more than {MOST_BYTES} bytes")
    except TimeoutError:
        raise ReviewError("the body did not arrive in time") from None
    return bytes(body)
