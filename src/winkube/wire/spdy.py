"""One SPDY/3.1 connection, either role: streams over a byte link, as docker/spdystream speaks it.

Theory of operation: the link pushes bytes in (``feed``) and is paused while too much lies unread,
so nothing here needs a task of its own. A stream is open until both sides have said FIN, or either
has reset it. A peer opens streams with its own parity of ids, each higher than the last; they are
answered at once and queue up for ``accept``.

Flow control: spdystream keeps no windows: it neither waits for WINDOW_UPDATE nor sends it, and
leaves back-pressure to TCP. So windows are kept only with a peer that shows that it keeps them, by
sending SETTINGS with an initial window or a WINDOW_UPDATE.
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Final, Protocol

from winkube.wire import spdy_frames as frames
from winkube.wire.pieces import Pieces
from winkube.wire.remotecommand import StreamClosedError
from winkube.wire.spdy_headers import HeaderCodec, SpdyError

MAX_STREAMS: Final = 2048
MAX_WAITING: Final = 256
STREAM_BUFFER: Final = 1024 * 1024
LINK_BUFFER: Final = 8 * 1024 * 1024
CHUNK: Final = 32 * 1024
DEFAULT_WINDOW: Final = 64 * 1024


class Receiver(Protocol):
    def feed(self, data: bytes) -> None: ...
    def lost(self) -> None: ...


class Link(Protocol):
    """The bytes below: ``wire.upgrade.Duplex``, or a fake."""

    def deliver_to(self, receiver: Receiver) -> None: ...
    def send(self, data: bytes) -> None: ...
    async def drain(self) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def close(self) -> None: ...


class SpdyStream:
    """A ByteSource and a ByteSink; reading after a reset or a lost connection gives the end."""

    def __init__(self, connection: "SpdyConnection", stream_id: int, headers: Mapping[str, str]):
        self.stream_id, self.headers = stream_id, headers
        self.local_done = self.remote_done = False
        self.replied = asyncio.Event()
        self.refused = self.ignored = False
        self.sent = self.granted = 0
        self._connection = connection
        self._pieces = Pieces()
        self._readable = asyncio.Event()

    async def read(self, n: int = -1, /) -> bytes:
        while not self._pieces and not self.remote_done:
            self._readable.clear()
            await self._readable.wait()
        if not self._pieces:
            return b""
        piece = self._pieces.take(n)
        self._connection.consumed(self, len(piece))
        return piece

    async def write(self, data: bytes, /) -> None:
        view = memoryview(data)
        while view:
            size = min(CHUNK, len(view))
            size = await self._connection.reserve(self, size)
            self._connection.send_data(self, bytes(view[:size]))
            view = view[size:]
            await self._connection.drain()

    async def close(self) -> None:
        """Say FIN; the peer may go on sending."""
        if not self.local_done:
            self._connection.send_data(self, b"", fin=True)
            await self._connection.drain()

    def reset(self, status: frames.Reset = frames.Reset.CANCEL) -> None:
        self._connection.send_reset(self, status)

    async def accepted(self) -> None:
        """Wait for the peer's SYN_REPLY."""
        await self.replied.wait()
        if self.refused:
            raise StreamClosedError("the peer refused the stream")

    @property
    def buffered(self) -> int:
        return self._pieces.size

    def push(self, piece: bytes) -> None:
        self._pieces.add(piece)
        self._readable.set()

    def ignore_input(self) -> None:
        """Nobody will read again: drop what is here and what still comes."""
        self.ignored = True
        self._connection.dropped(self)

    def discard(self) -> int:
        """Drop what was not read; how much that was."""
        return self._pieces.clear()

    def finish(self) -> None:
        """The peer sends no more."""
        self.remote_done = True
        self.refused = self.refused or not self.replied.is_set()
        self.replied.set()
        self._readable.set()


class SpdyConnection:
    def __init__(self, link: Link, *, server: bool) -> None:
        codec = HeaderCodec()
        self.gone = asyncio.Event()
        self._link = link
        self._server = server
        self._reader, self._writer = frames.FrameReader(codec), frames.FrameWriter(codec)
        self._streams: dict[int, SpdyStream] = {}
        self._waiting: deque[SpdyStream] = deque()
        self._arrived = asyncio.Event()
        self._next_id = 2 if server else 1
        self._last_peer_id = 0
        self._buffered = 0
        self._paused = self._closing = False
        # None: the peer keeps no windows.
        self._peer_window: int | None = None
        self._sent = self._granted = 0
        self._window_moved = asyncio.Event()
        link.deliver_to(self)

    async def open(self, headers: Mapping[str, str]) -> SpdyStream:
        """Open a stream; ``accepted`` of the result waits for the peer's word."""
        self._check_alive()
        if len(self._streams) >= MAX_STREAMS or self._next_id > frames.MAX_STREAM_ID:
            raise StreamClosedError("too many streams on one connection")
        stream = SpdyStream(self, self._next_id, headers)
        self._next_id += 2
        self._streams[stream.stream_id] = stream
        self._send(frames.SynStream(stream.stream_id, headers))
        await self.drain()
        return stream

    async def accept(self) -> SpdyStream | None:
        """The next stream the peer opened; None once the connection has gone."""
        while not self._waiting and not self.gone.is_set():
            self._arrived.clear()
            await self._arrived.wait()
        return self._waiting.popleft() if self._waiting else None

    def ignore_input(self) -> None:
        for stream in list(self._streams.values()):
            stream.ignore_input()

    async def close(self) -> None:
        """Say GOAWAY and let go of the link; what was written before still goes out."""
        if not self._closing and not self.gone.is_set():
            self._send(frames.GoAway(self._last_peer_id))
        self._shut()

    async def drain(self) -> None:
        self._check_alive()
        await self._link.drain()

    # What the link calls.

    def feed(self, data: bytes) -> None:
        if self._closing:
            return
        try:
            for frame in self._reader.feed(data):
                self._handle(frame)
        except SpdyError:
            self._send(frames.GoAway(self._last_peer_id, frames.GoAwayStatus.PROTOCOL_ERROR))
            self._shut()

    def lost(self) -> None:
        for stream in list(self._streams.values()):
            stream.finish()
        self._streams.clear()
        self.gone.set()
        self._arrived.set()
        self._window_moved.set()

    # What streams call.

    async def reserve(self, stream: SpdyStream, wanted: int) -> int:
        """How much the stream may send now; waits while the peer's window is shut."""
        while True:
            self._check_writable(stream)
            if self._peer_window is None:
                return wanted
            room = min(
                self._peer_window + stream.granted - stream.sent,
                DEFAULT_WINDOW + self._granted - self._sent,
            )
            if room > 0:
                return min(room, wanted)
            self._window_moved.clear()
            await self._window_moved.wait()

    def send_data(self, stream: SpdyStream, data: bytes, *, fin: bool = False) -> None:
        self._check_writable(stream)
        stream.sent += len(data)
        self._sent += len(data)
        stream.local_done = fin
        self._send(frames.Data(stream.stream_id, data, fin))
        self._forget_if_done(stream)

    def send_reset(self, stream: SpdyStream, status: frames.Reset) -> None:
        if self._streams.pop(stream.stream_id, None) is not None and not self.gone.is_set():
            self._send(frames.RstStream(stream.stream_id, status))
        stream.local_done = True
        stream.finish()
        self.dropped(stream)

    def dropped(self, stream: SpdyStream) -> None:
        self.consumed(stream, stream.discard())

    def consumed(self, stream: SpdyStream, size: int) -> None:
        self._buffered -= size
        if self._peer_window is not None and size:
            self._send(frames.WindowUpdate(0, size))
            if not stream.remote_done:
                self._send(frames.WindowUpdate(stream.stream_id, size))
        self._resume_if_drained()

    # Frames that arrive.

    def _handle(self, frame: frames.Frame) -> None:
        match frame:
            case frames.Data():
                self._on_data(frame)
            case frames.SynStream():
                self._on_syn(frame)
            case frames.SynReply(stream_id, _, fin):
                self._on_reply(stream_id, fin)
            case frames.Headers(stream_id, _, fin):
                self._on_fin(stream_id, fin)
            case frames.RstStream(stream_id):
                self._on_reset(stream_id)
            case frames.Ping(ping_id):
                # Ours would have our parity: an answer, of no further interest.
                if ping_id % 2 == (1 if self._server else 0):
                    self._send(frame)
            case frames.GoAway():
                self._shut()
            case frames.Settings() | frames.WindowUpdate():
                self._on_window(frame)

    def _on_data(self, frame: frames.Data) -> None:
        stream = self._streams.get(frame.stream_id)
        if stream is None or stream.remote_done:
            self._check_opened(frame.stream_id)
            return  # was reset by us: the peer could not know yet
        if frame.payload and not stream.ignored:
            stream.push(frame.payload)
            self._buffered += len(frame.payload)
            if not self._paused and self._is_full(stream):
                self._paused = True
                self._link.pause()
        self._on_fin(frame.stream_id, frame.fin)

    def _on_syn(self, frame: frames.SynStream) -> None:
        own_parity = 0 if self._server else 1
        if frame.stream_id % 2 == own_parity or frame.stream_id <= self._last_peer_id:
            raise SpdyError(f"stream id {frame.stream_id} is out of turn")
        self._last_peer_id = frame.stream_id
        if len(self._streams) >= MAX_STREAMS or len(self._waiting) >= MAX_WAITING:
            self._send(frames.RstStream(frame.stream_id, frames.Reset.REFUSED_STREAM))
            return
        stream = SpdyStream(self, frame.stream_id, frame.headers)
        stream.replied.set()
        stream.local_done, stream.remote_done = frame.unidirectional, frame.fin
        self._streams[frame.stream_id] = stream
        if not frame.unidirectional:
            self._send(frames.SynReply(frame.stream_id, {}))
        self._waiting.append(stream)
        self._arrived.set()
        self._forget_if_done(stream)

    def _on_reply(self, stream_id: int, fin: bool) -> None:
        if stream := self._streams.get(stream_id):
            stream.replied.set()
        self._on_fin(stream_id, fin)

    def _on_fin(self, stream_id: int, fin: bool) -> None:
        stream = self._streams.get(stream_id)
        if stream is not None and fin:
            stream.finish()
            self._forget_if_done(stream)

    def _on_reset(self, stream_id: int) -> None:
        if stream := self._streams.pop(stream_id, None):
            stream.local_done = True
            stream.finish()
            self._window_moved.set()

    def _on_window(self, frame: frames.Settings | frames.WindowUpdate) -> None:
        if self._peer_window is None:
            self._peer_window = DEFAULT_WINDOW
        if isinstance(frame, frames.Settings):
            self._peer_window = frame.values.get(frames.SETTINGS_INITIAL_WINDOW, self._peer_window)
        elif frame.stream_id == 0:
            self._granted += frame.delta
        elif stream := self._streams.get(frame.stream_id):
            stream.granted += frame.delta
        self._window_moved.set()

    # The rest.

    def _check_opened(self, stream_id: int) -> None:
        by_peer = stream_id % 2 == (1 if self._server else 0)
        if stream_id > (self._last_peer_id if by_peer else self._next_id - 2):
            raise SpdyError(f"data on stream {stream_id}, which was never opened")

    def _is_full(self, stream: SpdyStream) -> bool:
        return stream.buffered > STREAM_BUFFER or self._buffered > LINK_BUFFER

    def _resume_if_drained(self) -> None:
        if self._paused and not any(self._is_full(stream) for stream in self._streams.values()):
            self._paused = False
            self._link.resume()

    def _forget_if_done(self, stream: SpdyStream) -> None:
        if stream.local_done and stream.remote_done:
            self._streams.pop(stream.stream_id, None)

    def _send(self, frame: frames.Frame) -> None:
        self._link.send(self._writer.encode(frame))

    def _shut(self) -> None:
        self._closing = True
        self._link.close()
        self.lost()

    def _check_alive(self) -> None:
        if self.gone.is_set():
            raise StreamClosedError("the connection is closed")

    def _check_writable(self, stream: SpdyStream) -> None:
        self._check_alive()
        if stream.local_done:
            raise StreamClosedError(f"stream {stream.stream_id} is closed for writing")
