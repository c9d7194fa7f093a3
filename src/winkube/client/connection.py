"""One connection to an API server: a request, its answer, the next request.

Short answers are collected and handed over whole; a watch is handed over with its head, and its
pieces as they arrive. Whoever does not read holds the server up, not our memory.
"""

import asyncio
from collections import deque
from typing import Final, NamedTuple, cast

from winkube.client.response import BrokenResponseError, Response

# Behind this a reader is left behind, and the server has to wait.
HIGH_BYTES: Final = 1 << 20
# Long bodies go in pieces, so that other requests of this process go on.
PIECE_BYTES: Final = 256 * 1024


class DisconnectedError(ConnectionError):
    """The server ended the connection without a word: perhaps as it does with idle ones."""


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._response: Response | None = None
        self._pieces: deque[bytes] = deque()
        self._queued = 0
        self._waiter: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._seconds = 0.0
        self._heard = 0.0
        self._streams = False
        # The answer came before the whole body was sent: the server still waits for the rest.
        self._cut_short = False
        self._error: ConnectionError | TimeoutError | None = None

    @property
    def usable(self) -> bool:
        return self._error is None and self._transport is not None

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
        self._fail(DisconnectedError("closed"))

    # -- asking

    async def ask(self, head: bytes, body: bytes, seconds: float) -> Answer:
        """The whole answer; ``seconds`` is how long it may take."""
        response = self._begin(seconds, streams=False)
        try:
            await self._send(head, body)
            if not response.done:
                await self._wait()
        except BaseException:
            self.close()
            raise
        return Answer(response.status, response.headers, self._finish(response))

    async def open(self, head: bytes, seconds: float) -> Response:
        """The head of the answer; ``seconds`` is how long the server may be silent."""
        response = self._begin(seconds, streams=True)
        try:
            await self._send(head, b"")
            while not response.status:
                await self._wait()
        except BaseException:
            self.close()
            raise
        return response

    async def read(self) -> bytes:
        """The next pieces of an answer that was opened; nothing at its end."""
        response = self._response
        while not self._pieces:
            if response is None or response.done:
                return b""
            await self._wait()
        data = b"".join(self._pieces) if len(self._pieces) > 1 else self._pieces[0]
        self._pieces.clear()
        if self._queued > HIGH_BYTES and self._transport is not None:
            self._transport.resume_reading()
        self._queued = 0
        return data

    def _begin(self, seconds: float, *, streams: bool) -> Response:
        response = self._response = Response()
        self._streams = streams
        self._seconds = seconds
        self._heard = self._loop.time()
        self._timer = self._loop.call_later(seconds, self._expire)
        return response

    async def _send(self, head: bytes, body: bytes) -> None:
        if self._transport is None or self._error is not None:
            raise self._error or DisconnectedError("not connected")
        if len(body) <= PIECE_BYTES:
            self._transport.write(head + body)
            return
        self._transport.write(head)
        for start in range(0, len(body), PIECE_BYTES):
            self._transport.write(body[start : start + PIECE_BYTES])
            # Also where there is room: others have their turn between two pieces.
            await asyncio.sleep(0)
            if self._writable is not None:
                await self._writable
            if self._response is None or self._response.done or self._error is not None:
                self._cut_short = start + PIECE_BYTES < len(body)
                break

    async def _wait(self) -> None:
        if self._error is not None:
            raise self._error
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _finish(self, response: Response) -> bytes:
        pieces = self._pieces
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        self._pieces = deque()
        self._queued = 0
        self._stop(response)
        return body

    def _stop(self, response: Response) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._response = None
        if self._cut_short or not response.reusable:
            self.close()

    def _expire(self) -> None:
        silent = self._loop.time() - self._heard
        if self._streams and silent < self._seconds:
            self._timer = self._loop.call_later(self._seconds - silent, self._expire)
            return
        self._fail(TimeoutError(f"no answer in {self._seconds:.0f} s"))
        self.close()

    def _fail(self, error: ConnectionError | TimeoutError) -> None:
        self._error = self._error or error
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(self._error)
        # Who waits for room looks at the error by itself; often nobody waits.
        self.resume_writing()

    # -- what the loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        response = self._response
        if response is None or response.done:
            # Nobody asked.
            self.close()
            return
        try:
            pieces = response.feed(data)
        except BrokenResponseError as error:
            self._fail(error)
            self.close()
            return
        self._pieces.extend(pieces)
        if self._streams:
            self._heard = self._loop.time()
            self._hold_up(sum(map(len, pieces)))
        elif not response.done:
            return
        self._wake()

    def _hold_up(self, arrived: int) -> None:
        before = self._queued
        self._queued += arrived
        if before <= HIGH_BYTES < self._queued and self._transport is not None:
            self._transport.pause_reading()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        response = self._response
        self._transport = None
        if response is None or not response.status:
            self._fail(DisconnectedError(str(exc) if exc else "the server ended the connection"))
        elif not response.done:
            try:
                response.end()
            except BrokenResponseError as error:
                self._fail(error)
        self._wake()

    def pause_writing(self) -> None:
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None
