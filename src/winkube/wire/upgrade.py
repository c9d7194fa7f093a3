"""HTTP upgrades in the raw: take a connection over from aiohttp's server, open one as a client.

aiohttp hands over WebSockets only. What is used here to take over any other upgrade is public:
the request's transport gets another protocol (``Transport.set_protocol``, the same on asyncio and
uvloop, plain or TLS), and the end of the connection is passed on to aiohttp's own protocol, so that
its bookkeeping and shutdown stay right.

An answer other than 101 never leads to a raw connection: it is an ordinary, bounded response
(CVE-2018-1002105 was a proxy that went on relaying after one).
"""

import asyncio
import ssl as tls
import string
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Protocol, cast

import yarl
from aiohttp import web

from winkube.base.errors import WinkubeError
from winkube.wire.remotecommand import StreamClosedError

HIGH_WATER: Final = 512 * 1024
MAX_UNSENT: Final = 16 * 1024 * 1024
MAX_HEAD: Final = 64 * 1024
MAX_BODY: Final = 1024 * 1024
CONNECT_SECONDS: Final = 10
ANSWER_SECONDS: Final = 30

Header = tuple[str, str]


class UpgradeError(WinkubeError):
    """No connection, or an answer that is not HTTP."""


class Receiver(Protocol):
    def feed(self, data: bytes) -> None: ...
    def lost(self) -> None: ...


class Duplex(asyncio.Protocol):
    """One raw connection: read and written by awaiting, or with a receiver that is fed.

    Unlike asyncio.StreamReader it gives out what arrived before a reset: the last output of a
    command must not be lost because its input was still on the way.
    """

    def __init__(self, shadow: asyncio.BaseProtocol | None = None) -> None:
        self.closed = asyncio.Event()
        self._shadow = shadow
        self._transport: asyncio.Transport | None = None
        self._receiver: Receiver | None = None
        self._buffer = bytearray()
        self._ended = self._paused = False
        self._readable = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass

    def data_received(self, data: bytes) -> None:
        if self._receiver is not None:
            self._receiver.feed(data)
            return
        self._buffer += data
        self._readable.set()
        if len(self._buffer) > HIGH_WATER and not self._paused:
            self._paused = True
            self.pause()

    def eof_received(self) -> None:
        self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set()
        self._writable.set()
        self._end()
        if isinstance(self._shadow, asyncio.Protocol):
            self._shadow.connection_lost(exc)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # What we call.

    def deliver_to(self, receiver: Receiver) -> None:
        """From now on the receiver is fed; first with what lies here already."""
        self._receiver = receiver
        if self._buffer:
            receiver.feed(bytes(self._buffer))
            self._buffer.clear()
        if self._paused:
            self._paused = False
            self.resume()
        if self._ended:
            receiver.lost()

    async def read(self, n: int = -1, /) -> bytes:
        while not self._buffer and not self._ended:
            self._readable.clear()
            await self._readable.wait()
        data = bytes(self._buffer if n < 0 else self._buffer[:n])
        del self._buffer[: len(data)]
        if self._paused and len(self._buffer) <= HIGH_WATER // 2:
            self._paused = False
            self.resume()
        return data

    def unread(self, data: bytes) -> None:
        self._buffer[:0] = data
        self._readable.set()

    def send(self, data: bytes) -> None:
        """Queue for sending; a peer that lets too much pile up is cut off."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        transport.write(data)
        if transport.get_write_buffer_size() > MAX_UNSENT:
            transport.abort()

    async def drain(self) -> None:
        await self._writable.wait()
        if self.closed.is_set():
            raise StreamClosedError("the connection is closed")

    async def write(self, data: bytes, /) -> None:
        self.send(data)
        await self.drain()

    def pause(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        """Send what is queued, then close."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _end(self) -> None:
        if self._ended:
            return
        self._ended = True
        self._readable.set()
        if self._receiver is not None:
            self._receiver.lost()


async def splice(one: Duplex, other: Duplex) -> None:
    """Copy both ways until either side ends; what it sent until then is delivered."""
    async with asyncio.TaskGroup() as group:
        tasks = (
            group.create_task(_copy(one, other), name="splice-out"),
            group.create_task(_copy(other, one), name="splice-back"),
        )
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()


async def _copy(source: Duplex, target: Duplex) -> None:
    try:
        while data := await source.read():
            await target.write(data)
    except StreamClosedError:
        return


class Upgraded(web.StreamResponse):
    """What a handler returns after a take-over: nothing is left for aiohttp to send."""

    def __init__(self) -> None:
        super().__init__(status=101)
        self.force_close()

    async def prepare(self, request: web.BaseRequest) -> None:
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        return None


@asynccontextmanager
async def take_over(request: web.BaseRequest, headers: Iterable[Header]) -> AsyncIterator[Duplex]:
    """Answer 101 with these headers and give the raw connection, closed at the end.

    The handler has to return ``Upgraded()`` afterwards.
    """
    transport = request.transport
    if transport is None:
        raise web.HTTPBadRequest(text="the client has gone")
    # A body still being read would share the bytes with us.
    if request.body_exists and await request.content.read(1):
        raise web.HTTPBadRequest(text="an upgrade request has no body")
    duplex = Duplex(shadow=request.protocol)
    transport.set_protocol(duplex)
    duplex.connection_made(transport)
    duplex.resume()
    lines = ["HTTP/1.1 101 Switching Protocols", *(f"{name}: {value}" for name, value in headers)]
    duplex.send(_to_head(lines))
    try:
        yield duplex
    finally:
        duplex.close()


def _to_head(lines: Iterable[str]) -> bytes:
    # As aiohttp decodes header values: whatever bytes came in go out again.
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class Answer:
    """A server's answer to an upgrade request; ``duplex`` is there for 101 only."""

    status: int
    reason: str
    headers: Sequence[Header]
    body: bytes = b""
    duplex: Duplex | None = None

    def header(self, name: str) -> str:
        found = [value for key, value in self.headers if key.lower() == name.lower()]
        return found[0] if found else ""

    def to_response(self) -> web.Response:
        """The refusal as our own response; the connection ends with it."""
        kept = ("content-type", "x-accept-stream-protocol-versions", "www-authenticate")
        headers = [(key, value) for key, value in self.headers if key.lower() in kept]
        response = web.Response(
            status=self.status if self.status >= 200 else 502,
            reason=self.reason or None,
            body=self.body,
            headers=headers,
        )
        response.force_close()
        return response


async def request_upgrade(
    url: yarl.URL,
    headers: Iterable[Header],
    *,
    method: str = "POST",
    ssl: tls.SSLContext | None = None,
    server_name: str | None = None,
) -> Answer:
    """Ask for an upgrade; the caller closes the Answer's duplex. Raises UpgradeError.

    ``server_name`` is whom the certificate has to name, where that is not the address.
    """
    duplex = await _connect(url, ssl, server_name)
    try:
        target = url.raw_path_qs
        lines = [f"{method} {target} HTTP/1.1", f"Host: {url.authority}"]
        lines += [f"{name}: {value}" for name, value in headers]
        if method != "GET":
            lines.append("Content-Length: 0")
        duplex.send(_to_head(lines))
        async with asyncio.timeout(ANSWER_SECONDS):
            answer = await _read_answer(duplex)
    except TimeoutError as error:
        duplex.abort()
        raise UpgradeError(f"{url.host}:{url.port} did not answer the upgrade in time") from error
    except BaseException:
        duplex.abort()
        raise
    if answer.duplex is None:
        duplex.close()
    return answer


async def _connect(
    url: yarl.URL, ssl: tls.SSLContext | None, server_name: str | None = None
) -> Duplex:
    context = ssl if url.scheme == "https" else None
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, duplex = await asyncio.get_running_loop().create_connection(
                Duplex,
                url.host or "",
                url.port or 0,
                ssl=context,
                server_hostname=server_name if context is not None else None,
            )
    except TimeoutError as error:
        raise UpgradeError(f"dial tcp {url.host}:{url.port}: i/o timeout") from error
    except OSError as error:
        raise UpgradeError(f"dial tcp {url.host}:{url.port}: {error.strerror or error}") from error
    return duplex


async def _read_answer(duplex: Duplex) -> Answer:
    head = await _read_until(duplex, b"\r\n\r\n", MAX_HEAD)
    first, *lines = head[:-4].decode("utf-8", "surrogateescape").split("\r\n")
    parts = first.split(" ", 2)
    if len(parts) < 2 or not parts[0].startswith("HTTP/1.") or not parts[1].isdigit():
        raise UpgradeError("the answer to the upgrade is not HTTP")
    status, reason = int(parts[1]), parts[2] if len(parts) > 2 else ""
    headers = [
        (name.strip(), value.strip()) for name, _, value in (x.partition(":") for x in lines)
    ]
    if status == 101:
        return Answer(status, reason, headers, duplex=duplex)
    answer = Answer(status, reason, headers)
    return Answer(status, reason, headers, body=await _read_body(duplex, answer))


async def _read_body(duplex: Duplex, answer: Answer) -> bytes:
    length = answer.header("content-length")
    if "chunked" in answer.header("transfer-encoding").lower():
        return await _read_chunks(duplex)
    wanted = min(int(length), MAX_BODY) if length.isdigit() else MAX_BODY
    body = b""
    while len(body) < wanted and (data := await duplex.read(wanted - len(body))):
        body += data
    return body


async def _read_chunks(duplex: Duplex) -> bytes:
    body = b""
    while len(body) < MAX_BODY:
        line = await _read_until(duplex, b"\r\n", 1024)
        size = _chunk_size(line)
        # More than is kept is not read, whatever the peer says it has to say.
        wanted = min(size + 2, MAX_BODY + 2 - len(body))
        chunk = b""
        while len(chunk) < wanted and (data := await duplex.read(wanted - len(chunk))):
            chunk += data
        if not size or len(chunk) < wanted:
            break
        body += chunk[:-2]
    return body


def _chunk_size(line: bytes) -> int:
    text = line.split(b";")[0].strip()
    if not text or text.strip(string.hexdigits.encode()):
        raise UpgradeError("a chunk of the answer has no length")
    return int(text, 16)


async def _read_until(duplex: Duplex, mark: bytes, limit: int) -> bytes:
    seen = b""
    while mark not in seen:
        data = await duplex.read()
        if not data or len(seen) > limit:
            raise UpgradeError("the answer to the upgrade is cut short or too long")
        seen += data
    found, _, rest = seen.partition(mark)
    if rest:
        duplex.unread(rest)
    return found + mark
