"""A plain HTTP server on loopback that answers as a test wants."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def http_server(handler: Handler) -> AsyncIterator[str]:
    """Where it listens, until the block ends."""
    runner = web.ServerRunner(web.Server(handler))
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()
