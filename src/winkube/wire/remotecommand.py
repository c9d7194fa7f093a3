"""The remote-command contract: byte streams of one exec or attach, and how its result is told.

Shared by the three places that speak it: the runtime's streaming server, the kubelet and the API
server. The transports are beside it: ``remotecommand_spdy`` and ``remotecommand_websocket``.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

import orjson

from winkube.base.errors import WinkubeError
from winkube.base.types import JsonObject

PROTOCOL_HEADER: Final = "X-Stream-Protocol-Version"
V1, V2, V3 = "channel.k8s.io", "v2.channel.k8s.io", "v3.channel.k8s.io"
V4, V5 = "v4.channel.k8s.io", "v5.channel.k8s.io"
# v5 exists on WebSockets only: it adds the half-close that SPDY streams have by themselves.
SPDY_PROTOCOLS: Final = (V4, V3, V2, V1)
WEBSOCKET_PROTOCOLS: Final = (V5, V4, V3, V2, V1)
PORT_FORWARD: Final = "portforward.k8s.io"


class StreamClosedError(WinkubeError):
    """The other end of a stream is gone, or this end has already said that it is done."""


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


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which streams a client asks for."""

    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool

    def __post_init__(self) -> None:
        if not (self.stdin or self.stdout or self.stderr):
            raise StreamRequestError("you must specify at least 1 of stdin, stdout, stderr")

    @classmethod
    def of(cls, *, stdin: bool, stdout: bool, stderr: bool, tty: bool) -> "Wanted":
        """A terminal has one output: stderr is not a stream of its own then."""
        return cls(stdin, stdout, stderr and not tty, tty)

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "Wanted":
        """Read the kubelet's names (input, output, error, tty) or the API's (stdin, ...)."""

        def is_set(*names: str) -> bool:
            return any(query.get(key, "").lower() in ("1", "true") for key in names)

        return cls.of(
            stdin=is_set("input", "stdin"),
            stdout=is_set("output", "stdout"),
            stderr=is_set("error", "stderr"),
            tty=is_set("tty"),
        )


class StreamRequestError(WinkubeError):
    """The request for a session makes no sense, or did not complete."""


@dataclass(frozen=True, slots=True)
class Session:
    """The server's end of a session, before anyone has looked inside the bytes."""

    version: str
    stdin: ByteSource | None
    stdout: ByteSink | None
    stderr: ByteSink | None
    resize: ByteSource | None
    error: ByteSink
    gone: asyncio.Event


def parse_protocols(values: Iterable[str]) -> list[str]:
    """Header lines to names, in the client's order of preference."""
    return [name.strip() for line in values for name in line.split(",") if name.strip()]


def negotiate(offered: Sequence[str], accepted: Sequence[str]) -> str | None:
    """The first the client offers that we accept; None when there is none."""
    return next((name for name in offered if name in accepted), None)


def render_outcome(version: str, outcome: int | WinkubeError) -> bytes:
    """What goes over the error stream: a Status from v4 on, a sentence (or nothing) before."""
    if version in (V4, V5):
        return orjson.dumps(_to_status(outcome))
    if outcome == 0:
        return b""
    if isinstance(outcome, int):
        return (
            f"error executing remote command: command terminated with exit code {outcome}".encode()
        )
    return f"error executing remote command: {outcome}".encode()


def _to_status(outcome: int | WinkubeError) -> JsonObject:
    if outcome == 0:
        return {"metadata": {}, "status": "Success"}
    if isinstance(outcome, int):
        return {
            "metadata": {},
            "status": "Failure",
            "message": f"command terminated with non-zero exit code: exit status {outcome}",
            "reason": "NonZeroExitCode",
            "details": {"causes": [{"reason": "ExitCode", "message": str(outcome)}]},
        }
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"Internal error occurred: {outcome}",
        "reason": "InternalError",
        "details": {"causes": [{"message": str(outcome)}]},
        "code": 500,
    }


async def pump_resize(source: ByteSource, queue: asyncio.Queue[TerminalSize]) -> None:
    """Turn the resize stream's JSON documents into sizes; what is no size is ignored."""
    pending = b""
    while data := await source.read():
        *documents, pending = (pending + data).replace(b"}", b"}\n").split(b"\n")
        pending = pending[:1024]
        for document in documents:
            if size := _parse_size(document):
                if queue.full():
                    queue.get_nowait()
                queue.put_nowait(size)


def _parse_size(document: bytes) -> TerminalSize | None:
    try:
        fields = {key.lower(): value for key, value in orjson.loads(document).items()}
        size = TerminalSize(int(fields["width"]), int(fields["height"]))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return size if all(0 < side < 65536 for side in size) else None


async def copy_stream(source: ByteSource, sink: ByteSink) -> None:
    """Copy to the end and close the sink; a sink that has gone ends the copy."""
    try:
        while data := await source.read():
            await sink.write(data)
        await sink.close()
    except StreamClosedError:
        return
