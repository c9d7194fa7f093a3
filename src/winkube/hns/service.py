"""The HNS service: both interfaces as HTTP over a Unix socket.

Requests are carried out one after the other on one thread, which is what makes each atomic; the
event loop only moves bytes. Nothing lives in memory alone: a killed service starts again from its
documents, and pods do not notice.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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
        store = DocumentStore(config.state_dir)
        self._api = HnsApi(config, store, dataplane or NetnsDataplane(config), SystemClock())
        self._v1 = V1Api(self._api)

    async def run(self) -> None:
        self._config.socket.parent.mkdir(parents=True, exist_ok=True)
        self._config.state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="hns") as worker:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(worker, self._api.start)
            runner = web.AppRunner(self._application(worker), access_log=None)
            await runner.setup()
            try:
                await self._listen(runner)
                self.ready.set()
                log.info("HNS answers", extra={"socket": str(self._config.socket)})
                await asyncio.Event().wait()
            finally:
                await runner.cleanup()
                self._config.socket.unlink(missing_ok=True)

    async def _listen(self, runner: web.AppRunner) -> None:
        # A killed predecessor leaves its socket; connecting to it fails, so it is safe to replace.
        self._config.socket.unlink(missing_ok=True)
        await web.UnixSite(runner, self._config.socket).start()
        self._config.socket.chmod(0o600)

    def _application(self, worker: ThreadPoolExecutor) -> web.Application:
        async def v2(request: web.Request) -> web.Response:
            kind, verb = request.match_info["kind"], request.match_info["verb"]
            status, answer = await self._carry_out(
                worker, request, partial(self._api.call, kind, verb)
            )
            return _json(answer, status=status)

        async def v1(request: web.Request) -> web.Response:
            call = partial(self._v1.call, request.method, request.path)
            status, answer = await self._carry_out(worker, request, call)
            if status != 200:
                return _json(answer)
            return _json({"Success": True, "Output": answer})

        application = web.Application(client_max_size=_MAX_BODY)
        application.router.add_post("/hcn/{kind}/{verb}", v2)
        application.router.add_route("*", "/{path:.*}", v1)
        return application

    async def _carry_out(
        self, worker: ThreadPoolExecutor, request: web.Request, call: Callable[[object], Any]
    ) -> tuple[int, Any]:
        """Run one request on the worker; every failure becomes an HNS result."""
        try:
            body = _parse(await request.read())
            loop = asyncio.get_running_loop()
            return 200, await loop.run_in_executor(worker, call, body)
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
