"""The Windows runtime's streaming server: one-time URLs for exec, attach and port-forward.

CRI hands the kubelet a URL on 127.0.0.1 of the node's network namespace; whoever opens it speaks
SPDY/3.1 or WebSocket. This module owns tokens and routing; the processes behind the streams are
the backend's.
"""

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Protocol

from aiohttp import web

from winkube.base.clock import Clock, SystemClock
from winkube.base.errors import WinkubeError
from winkube.runtime.streaming_session import serve_command, serve_portforward
from winkube.runtime.streaming_token import Tokens
from winkube.wire.remotecommand import (
    ByteSink,
    ByteSource,
    StreamClosedError,
    StreamRequestError,
    Streams,
    Wanted,
)

__all__ = ["ByteSink", "ByteSource", "StreamBackend", "StreamingServer", "Streams"]


class StreamBackend(Protocol):
    """Processes and sockets behind the streams.

    Every method is cancelled when the client goes away: exec then ends its process, attach and
    portforward let go. A WinkubeError raised here reaches the client as the session's error.
    """

    async def exec(
        self, container_id: str, argv: Sequence[str], *, tty: bool, streams: Streams
    ) -> int:
        """Run to the end with these streams; the exit code. With a tty there is no stderr."""
        ...

    async def attach(self, container_id: str, *, streams: Streams) -> None:
        """Join the main process's streams until it ends or stdin and output are done."""
        ...

    async def portforward(
        self, sandbox_id: str, port: int, reader: ByteSource, writer: ByteSink
    ) -> None:
        """Relay to 127.0.0.1:port inside the sandbox: ``reader`` is what the client sent."""
        ...


Serve = Callable[[web.Request], Awaitable[web.StreamResponse]]


class StreamingServer:
    """Lives until cancelled; URLs may be asked for once ``ready`` is set."""

    def __init__(self, backend: StreamBackend, *, clock: Clock | None = None) -> None:
        self.ready = asyncio.Event()
        self._backend = backend
        self._tokens: Tokens[Serve] = Tokens(clock or SystemClock())
        self._port = 0

    async def run(self) -> None:
        app = web.Application()
        app.router.add_route("*", "/{kind:exec|attach|portforward}/{token}", self._serve)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            self._port = runner.addresses[0][1]
            self.ready.set()
            await asyncio.get_running_loop().create_future()
        finally:
            self.ready.clear()
            await runner.cleanup()

    def url_for_exec(self, request: Any) -> str:
        """A URL for a CRI ExecRequest; raises StreamRequestError when it asks for nothing."""
        wanted = _wanted(request)
        container_id, argv = request.container_id, tuple(request.cmd)

        async def work(streams: Streams) -> int:
            with _told_as("error executing command in container"):
                return await self._backend.exec(container_id, argv, tty=wanted.tty, streams=streams)

        return self._issue("exec", functools.partial(serve_command, wanted, work))

    def url_for_attach(self, request: Any) -> str:
        wanted = _wanted(request)
        container_id = request.container_id

        async def work(streams: Streams) -> int:
            with _told_as("error attaching to container"):
                await self._backend.attach(container_id, streams=streams)
            return 0

        return self._issue("attach", functools.partial(serve_command, wanted, work))

    def url_for_portforward(self, request: Any) -> str:
        forward = functools.partial(self._backend.portforward, request.pod_sandbox_id)
        return self._issue("portforward", functools.partial(serve_portforward, forward))

    def _issue(self, kind: str, serve: Serve) -> str:
        return f"http://127.0.0.1:{self._port}/{kind}/{self._tokens.issue(serve)}"

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        serve = self._tokens.redeem(request.match_info["token"])
        if serve is None:
            raise web.HTTPNotFound(text="the token is unknown, used or expired")
        return await serve(request)


@contextlib.contextmanager
def _told_as(what: str) -> Iterator[None]:
    """Failures reach the client behind these words (k8s.io/kubelet: cri/streaming)."""
    try:
        yield
    except StreamClosedError:
        raise
    except WinkubeError as error:
        raise StreamRequestError(f"{what}: {error}") from error


def _wanted(request: Any) -> Wanted:
    return Wanted.of(
        stdin=request.stdin, stdout=request.stdout, stderr=request.stderr, tty=request.tty
    )
