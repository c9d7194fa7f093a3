"""The HNS service: both interfaces as HTTP over a Unix socket.

Requests are carried out one after the other, on the event loop's own thread, which is what makes
each atomic; nothing else lives on that loop. No state is in memory alone: a killed service starts
again from its documents, and pods do not notice.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import orjson
from aiohttp import web

from winkube.base.clock import SystemClock
from winkube.hns.api import HnsApi
from winkube.hns.config import HnsConfig
from winkube.hns.dataplane.netns import NetnsDataplane
from winkube.hns.dataplane.types import Dataplane
from winkube.hns.errors import Code, HnsError, to_result
from winkube.hns.store import DocumentStore
from winkube.hns.v1_api import V1Api

log = logging.getLogger(__name__)
_MAX_BODY: Final = 4 * 1024 * 1024
_STATUS: Final[dict[int, int]] = {
    Code.ELEMENT_NOT_FOUND: 404,
    Code.NETWORK_NOT_FOUND: 404,
    Code.ENDPOINT_NOT_FOUND: 404,
    Code.GENERAL_FAILURE: 500,
    Code.NOT_IMPLEMENTED: 501,
}

__all__ = ["HnsConfig", "HnsService"]


class HnsService:
    def __init__(self, config: HnsConfig, dataplane: Dataplane | None = None) -> None:
        self.ready = asyncio.Event()
        self._config = config
        self._store = DocumentStore(config.state_dir)
        self._api = HnsApi(config, self._store, dataplane or NetnsDataplane(config), SystemClock())
        self._v1 = V1Api(self._api)

    async def run(self) -> None:
        self._config.socket.parent.mkdir(parents=True, exist_ok=True)
        self._store.open()
        self._api.start()
        runner = web.AppRunner(self._application(), access_log=None)
        await runner.setup()
        try:
            await self._listen(runner)
            self.ready.set()
            log.info("HNS answers", extra={"socket": str(self._config.socket)})
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()
            self._config.socket.unlink(missing_ok=True)
            self._store.close()

    async def _listen(self, runner: web.AppRunner) -> None:
        # A killed predecessor leaves its socket; connecting to it fails, so it is safe to replace.
        self._config.socket.unlink(missing_ok=True)
        await web.UnixSite(runner, self._config.socket).start()
        self._config.socket.chmod(0o600)

    def _application(self) -> web.Application:
        async def v2(request: web.Request) -> web.Response:
            kind, verb = request.match_info["kind"], request.match_info["verb"]
            status, answer = await _carry_out(request, partial(self._api.call, kind, verb))
            return _json(answer, status=status)

        async def v1(request: web.Request) -> web.Response:
            call = partial(self._v1.call, request.method, request.path)
            status, answer = await _carry_out(request, call)
            if status != 200:
                return _json(answer)
            return _json({"Success": True, "Output": answer})

        application = web.Application(client_max_size=_MAX_BODY)
        application.router.add_post("/hcn/{kind}/{verb}", v2)
        application.router.add_route("*", "/{path:.*}", v1)
        return application


async def _carry_out(request: web.Request, call: Callable[[object], Any]) -> tuple[int, Any]:
    """Every failure becomes an HNS result."""
    try:
        return 200, call(_parse(await request.read()))
    except HnsError as error:
        return _STATUS.get(error.code, 400), to_result(error)
    except web.HTTPException:
        raise
    except Exception:
        log.exception("request failed", extra={"method": request.method, "path": request.path})
        return 500, to_result(HnsError(Code.GENERAL_FAILURE))


def _parse(raw: bytes) -> object:
    if not raw:
        return None
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise HnsError(Code.INVALID_JSON) from None


def _json(value: object, *, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(value), status=status, content_type="application/json")
