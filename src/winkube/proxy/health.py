"""Health over HTTP: the proxy's own (/healthz, /livez) and each local-policy Service's.

Outside load balancers ask a Service's healthCheckNodePort which nodes have a backend; the answers'
shape is upstream's (kubernetes/kubernetes: pkg/proxy/healthcheck).
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from winkube.base.clock import Clock, SystemClock, to_rfc3339
from winkube.proxy.service import ServicePort

# Upstream calls itself unhealthy when work has waited for this long.
STALE_SECONDS: Final = 60.0
_ANY_ADDRESS: Final = "0.0.0.0"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LocalCount:
    """A Service that wants to be asked for its health here, and its backends on this node."""

    port: int
    namespace: str
    name: str
    endpoints: int


def plan_health(key: str, ports: tuple[ServicePort, ...]) -> LocalCount | None:
    number = next((port.health_check_port for port in ports if port.health_check_port), 0)
    if not number:
        return None
    namespace, _, name = key.partition("/")
    local = {(port.family, backend.ip) for port in ports for backend in port.local_backends}
    # A backend of two families is one backend.
    counts = Counter(family for family, _ in local)
    return LocalCount(number, namespace, name, max(counts.values(), default=0))


class HealthServer:
    def __init__(self, host: str, port: int, clock: Clock | None = None) -> None:
        self._host, self._port = host, port
        self._clock: Clock = clock or SystemClock()
        self._synced_at: float | None = None
        self._waiting_since: float | None = None
        self._counts: dict[str, LocalCount] = {}
        self._runners: dict[str, web.AppRunner] = {}

    async def run(self) -> None:
        """Serve the proxy's own health until cancelled; Services' servers come and go with it."""
        own = await self._open_own() if self._host else None
        try:
            await asyncio.Event().wait()
        finally:
            for runner in (*self._runners.values(), *((own,) if own else ())):
                await runner.cleanup()

    async def _open_own(self) -> web.AppRunner | None:
        try:
            return await _serve(
                self._host, self._port, {"/healthz": self._own, "/livez": self._own}
            )
        except OSError as error:
            # Services matter more than the way to ask how they are.
            log.warning("health port failed", extra={"port": self._port, "error": str(error)})
            return None

    def waiting(self) -> None:
        """A sync is due or has failed."""
        if self._waiting_since is None:
            self._waiting_since = self._clock.now()

    async def synced(self, ports: Mapping[str, tuple[ServicePort, ...]], *, full: bool) -> None:
        """These Services were programmed; all that exist if ``full``."""
        self._synced_at, self._waiting_since = self._clock.now(), None
        wanted = {key: plan_health(key, found) for key, found in ports.items()}
        if full:
            wanted = dict.fromkeys(self._counts, None) | wanted
        for key, count in wanted.items():
            await self._set(key, count)

    async def _set(self, key: str, count: LocalCount | None) -> None:
        before = self._counts.pop(key, None)
        if count is not None:
            self._counts[key] = count
        if before is not None and count is not None and before.port == count.port:
            return
        if before is not None and key in self._runners:
            await self._runners.pop(key).cleanup()
        if count is not None:
            await self._open(key, count.port)

    async def _open(self, key: str, port: int) -> None:
        async def answer(_request: web.Request) -> web.Response:
            return self._of_service(key)

        try:
            self._runners[key] = await _serve(_ANY_ADDRESS, port, {"/{path:.*}": answer})
        except OSError as error:
            log.warning("health check port failed", extra={"service": key, "error": str(error)})

    def is_healthy(self) -> bool:
        since = self._waiting_since
        late = since is not None and self._clock.now() - since > STALE_SECONDS
        return self._synced_at is not None and not late

    def _of_service(self, key: str) -> web.Response:
        count = self._counts.get(key)
        if count is None:
            return web.Response(status=404)
        healthy = self.is_healthy()
        body = {
            "service": {"namespace": count.namespace, "name": count.name},
            "localEndpoints": count.endpoints,
            "serviceProxyHealthy": healthy,
        }
        return web.json_response(
            body,
            status=200 if count.endpoints and healthy else 503,
            headers={"X-Load-Balancing-Endpoint-Weight": str(count.endpoints)},
        )

    async def _own(self, _request: web.Request) -> web.Response:
        healthy = self.is_healthy()
        body = {
            "lastUpdated": to_rfc3339(self._synced_at or 0),
            "currentTime": to_rfc3339(self._clock.now()),
            "nodeEligible": True,
        }
        return web.json_response(body, status=200 if healthy else 503)


async def _serve(host: str, port: int, routes: Mapping[str, Handler]) -> web.AppRunner:
    application = web.Application()
    for path, handler in routes.items():
        application.router.add_get(path, handler)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError:
        await runner.cleanup()
        raise
    return runner
