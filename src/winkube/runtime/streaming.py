"""The Windows runtime's streaming server: one-time URLs for exec, attach and port-forward.

CRI hands the kubelet a URL on 127.0.0.1 of the node's network namespace; whoever opens it speaks
SPDY/3.1 or WebSocket. This module owns tokens and routing; the processes behind the streams are
the backend's.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

from winkube.base.clock import Clock, SystemClock
from winkube.wire.remotecommand import ByteSink, ByteSource, Streams

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


class StreamingServer:
    """Lives until cancelled; URLs may be asked for once ``ready`` is set."""

    def __init__(self, backend: StreamBackend, *, clock: Clock | None = None) -> None:
        self.ready = asyncio.Event()
        self._backend = backend
        self._clock = clock or SystemClock()

    async def run(self) -> None:
        raise NotImplementedError

    def url_for_exec(self, request: Any) -> str:
        """A URL for a CRI ExecRequest; raises StreamRequestError when it asks for nothing."""
        raise NotImplementedError

    def url_for_attach(self, request: Any) -> str:
        raise NotImplementedError

    def url_for_portforward(self, request: Any) -> str:
        raise NotImplementedError
