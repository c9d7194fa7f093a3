"""SPDY/3.1 frames: bytes to values and back, without any connection state but header compression.

A DATA frame may be 16 MiB, so its payload is handed on piece by piece as it arrives; control
frames are small and handed on whole. What does not fit the specification raises SpdyError.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from winkube.wire.spdy_headers import HeaderCodec, SpdyError

VERSION: Final = 3
FLAG_FIN: Final = 0x01
FLAG_UNIDIRECTIONAL: Final = 0x02
MAX_CONTROL: Final = 64 * 1024
MAX_STREAM_ID: Final = 0x7FFFFFFF
SETTINGS_INITIAL_WINDOW: Final = 7
_MAX_SETTINGS: Final = 256


class Type(IntEnum):
    SYN_STREAM = 1
    SYN_REPLY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PING = 6
    GOAWAY = 7
    HEADERS = 8
    WINDOW_UPDATE = 9


class Reset(IntEnum):
    PROTOCOL_ERROR = 1
    INVALID_STREAM = 2
    REFUSED_STREAM = 3
    CANCEL = 5
    INTERNAL_ERROR = 6


class GoAwayStatus(IntEnum):
    OK = 0
    PROTOCOL_ERROR = 1
    INTERNAL_ERROR = 2


@dataclass(frozen=True, slots=True)
class SynStream:
    stream_id: int
    headers: Mapping[str, str]
    fin: bool = False
    unidirectional: bool = False


@dataclass(frozen=True, slots=True)
class SynReply:
    stream_id: int
    headers: Mapping[str, str]
    fin: bool = False


@dataclass(frozen=True, slots=True)
class Headers:
    stream_id: int
    headers: Mapping[str, str]
    fin: bool = False


@dataclass(frozen=True, slots=True)
class RstStream:
    stream_id: int
    status: int


@dataclass(frozen=True, slots=True)
class Settings:
    values: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Ping:
    ping_id: int


@dataclass(frozen=True, slots=True)
class GoAway:
    last_stream_id: int
    status: int = GoAwayStatus.OK


@dataclass(frozen=True, slots=True)
class WindowUpdate:
    stream_id: int
    delta: int


@dataclass(frozen=True, slots=True)
class Data:
    """A piece of a stream; ``fin`` is set on the last piece of a frame that carries the flag."""

    stream_id: int
    payload: bytes
    fin: bool = False


Frame = SynStream | SynReply | Headers | RstStream | Settings | Ping | GoAway | WindowUpdate | Data


def data_header(stream_id: int, length: int, *, fin: bool = False) -> bytes:
    return struct.pack(">II", stream_id, (FLAG_FIN if fin else 0) << 24 | length)


class FrameWriter:
    def __init__(self, codec: HeaderCodec) -> None:
        self._codec = codec

    def encode(self, frame: Frame) -> bytes:
        match frame:
            case Data(stream_id, payload, fin):
                return data_header(stream_id, len(payload), fin=fin) + payload
            case SynStream():
                flags = FLAG_FIN * frame.fin | FLAG_UNIDIRECTIONAL * frame.unidirectional
                body = struct.pack(">IIH", frame.stream_id, 0, 0)
                return _control(Type.SYN_STREAM, flags, body + self._codec.encode(frame.headers))
            case SynReply() | Headers():
                kind = Type.SYN_REPLY if isinstance(frame, SynReply) else Type.HEADERS
                body = struct.pack(">I", frame.stream_id) + self._codec.encode(frame.headers)
                return _control(kind, FLAG_FIN * frame.fin, body)
            case Settings(values):
                entries = b"".join(struct.pack(">II", key, values[key]) for key in sorted(values))
                return _control(Type.SETTINGS, 0, struct.pack(">I", len(values)) + entries)
            case Ping(ping_id):
                return _control(Type.PING, 0, struct.pack(">I", ping_id))
            case _:
                return _encode_pair(frame)


def _encode_pair(frame: RstStream | GoAway | WindowUpdate) -> bytes:
    match frame:
        case RstStream(stream_id, status):
            return _control(Type.RST_STREAM, 0, struct.pack(">II", stream_id, status))
        case GoAway(stream_id, status):
            return _control(Type.GOAWAY, 0, struct.pack(">II", stream_id, status))
        case WindowUpdate(stream_id, delta):
            return _control(Type.WINDOW_UPDATE, 0, struct.pack(">II", stream_id, delta))


def _control(kind: Type, flags: int, body: bytes) -> bytes:
    return struct.pack(">HHI", 0x8000 | VERSION, kind, flags << 24 | len(body)) + body


class FrameReader:
    """Feed bytes as they come; iterate over what they complete."""

    def __init__(self, codec: HeaderCodec) -> None:
        self._codec = codec
        self._buffer = bytearray()
        self._data: tuple[int, int, bool] | None = None  # stream, bytes left, fin

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        self._buffer += chunk
        while True:
            if self._data is not None:
                frame = self._next_piece()
            elif len(self._buffer) < 8:
                return
            elif self._buffer[0] & 0x80:
                frame = self._next_control()
            else:
                self._start_data()
                continue
            if frame is None:
                return
            yield frame

    def _start_data(self) -> None:
        stream_id, rest = struct.unpack_from(">II", self._buffer)
        if stream_id == 0:
            raise SpdyError("data frame on stream 0")
        del self._buffer[:8]
        self._data = stream_id, rest & 0xFFFFFF, bool(rest >> 24 & FLAG_FIN)

    def _next_piece(self) -> Frame | None:
        assert self._data is not None
        stream_id, left, fin = self._data
        if left and not self._buffer:
            return None
        payload = bytes(self._buffer[:left])
        del self._buffer[:left]
        left -= len(payload)
        self._data = (stream_id, left, fin) if left else None
        return Data(stream_id, payload, fin=fin and not left)

    def _next_control(self) -> Frame | None:
        version, kind, rest = struct.unpack_from(">HHI", self._buffer)
        flags, length = rest >> 24, rest & 0xFFFFFF
        if version != 0x8000 | VERSION:
            raise SpdyError(f"SPDY version {version & 0x7FFF} is not supported")
        if length > MAX_CONTROL:
            raise SpdyError(f"control frame of {length} bytes is too large")
        if len(self._buffer) < 8 + length:
            return None
        body = bytes(self._buffer[8 : 8 + length])
        del self._buffer[: 8 + length]
        return self._decode(kind, flags, body)

    def _decode(self, kind: int, flags: int, body: bytes) -> Frame:
        fin = bool(flags & FLAG_FIN)
        match kind:
            case Type.SYN_STREAM:
                stream_id = _stream_id(body, 10)
                unidirectional = bool(flags & FLAG_UNIDIRECTIONAL)
                return SynStream(stream_id, self._codec.decode(body[10:]), fin, unidirectional)
            case Type.SYN_REPLY:
                return SynReply(_stream_id(body, 4), self._codec.decode(body[4:]), fin)
            case Type.HEADERS:
                return Headers(_stream_id(body, 4), self._codec.decode(body[4:]), fin)
            case Type.SETTINGS:
                return Settings(_parse_settings(body))
            case Type.PING:
                return Ping(_words(body, 1)[0])
            case _:
                return _decode_pair(kind, body)


def _decode_pair(kind: int, body: bytes) -> Frame:
    match kind:
        case Type.RST_STREAM:
            first, second = _words(body, 2)
            return RstStream(first & MAX_STREAM_ID, second)
        case Type.GOAWAY:
            first, second = _words(body, 2)
            return GoAway(first & MAX_STREAM_ID, second)
        case Type.WINDOW_UPDATE:
            first, second = _words(body, 2)
            return WindowUpdate(first & MAX_STREAM_ID, second & MAX_STREAM_ID)
        case _:
            raise SpdyError(f"control frame type {kind} is unknown")


def _words(body: bytes, count: int) -> tuple[int, ...]:
    if len(body) != 4 * count:
        raise SpdyError(f"control frame has {len(body)} bytes, not {4 * count}")
    return struct.unpack(f">{count}I", body)


def _stream_id(body: bytes, least: int) -> int:
    if len(body) < least:
        raise SpdyError("control frame is too short")
    stream_id = int.from_bytes(body[:4]) & MAX_STREAM_ID
    if stream_id == 0:
        raise SpdyError("stream 0 cannot be opened")
    return stream_id


def _parse_settings(body: bytes) -> dict[int, int]:
    count = int.from_bytes(body[:4]) if len(body) >= 4 else 0
    if count > _MAX_SETTINGS or len(body) != 4 + 8 * count:
        raise SpdyError("settings frame does not hold what it counts")
    words = struct.unpack(f">{2 * count}I", body[4:])
    return {key & 0xFFFFFF: value for key, value in zip(words[::2], words[1::2], strict=True)}
