"""The remote-command contract: byte streams of one exec or attach, and how its result is told.

Shared by the three places that speak it: the runtime's streaming server, the kubelet and the API
server. The transports (SPDY streams, WebSocket channels) live in their own modules.
"""

import asyncio
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol


class ByteSource(Protocol):
    async def read(self, n: int = -1, /) -> bytes:
        """At most ``n`` bytes as soon as there are any (-1: what is there); b"" at the end."""
        ...


class ByteSink(Protocol):
    async def write(self, data: bytes, /) -> None:
        """Send, waiting while the peer is slow; raises StreamClosedError once it is gone."""
        ...

    async def close(self) -> None:
        """Say that no more follows; harmless when repeated."""
        ...


class TerminalSize(NamedTuple):
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Streams:
    """One session's streams; None where the client did not ask for one."""

    stdin: ByteSource | None
    stdout: ByteSink | None
    stderr: ByteSink | None
    # Only the newest sizes matter: a full queue drops its oldest entry.
    resize: asyncio.Queue[TerminalSize] = field(default_factory=lambda: asyncio.Queue(8))
