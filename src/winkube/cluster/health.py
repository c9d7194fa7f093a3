"""The ports where upstream's controller manager and scheduler say that they are well.

Ours share one process. Who wants to know before they hold their leases, or would not wait for those
to run out, asks here. Reached from the control plane's host only.
"""

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Final

from aiohttp import web

from winkube.cluster.pki import Pair

CONTROLLERS_PORT: Final = 10257
SCHEDULER_PORT: Final = 10259


class Health:
    """Answers 200 at a port once the event beside it is set; lives until cancelled."""

    def __init__(self, parts: Mapping[int, asyncio.Event], pair: Pair) -> None:
        self.ports: list[int] = []
        self.ready = asyncio.Event()
        self._parts = parts
        self._pair = pair

    async def run(self) -> None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self._pair.cert, self._pair.key)
        async with AsyncExitStack() as stack:
            for port, well in self._parts.items():
                runner = web.AppRunner(_app(well), access_log=None, shutdown_timeout=1)
                await runner.setup()
                stack.push_async_callback(runner.cleanup)
                await web.TCPSite(runner, "127.0.0.1", port, ssl_context=context).start()
                self.ports.append(runner.addresses[0][1])
            self.ready.set()
            await asyncio.Event().wait()


def _app(well: asyncio.Event) -> web.Application:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text="ok") if well.is_set() else web.Response(status=503)

    app = web.Application()
    app.add_routes([web.get(path, answer) for path in ("/healthz", "/livez", "/readyz")])
    return app
