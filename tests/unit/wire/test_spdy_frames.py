import struct
import zlib

import pytest

from winkube.wire import spdy_frames as frames
from winkube.wire.spdy_headers import DICTIONARY, MAX_BLOCK, HeaderCodec, SpdyError


def reader() -> frames.FrameReader:
    return frames.FrameReader(HeaderCodec())


def writer() -> frames.FrameWriter:
    return frames.FrameWriter(HeaderCodec())


def control(kind: int, body: bytes, *, version: int = 3, flags: int = 0) -> bytes:
    return struct.pack(">HHI", 0x8000 | version, kind, flags << 24 | len(body)) + body


def test_dictionary_is_the_one_of_the_specification() -> None:
    assert len(DICTIONARY) == 1423
    assert zlib.adler32(DICTIONARY) == 0xE3C6A7C2


ALL: list[frames.Frame] = [
    frames.SynStream(1, {"streamtype": "error"}, fin=True),
    frames.SynStream(3, {"streamtype": "data", "port": "80"}, unidirectional=True),
    frames.SynReply(1, {}),
    frames.Headers(1, {"a": "b"}, fin=True),
    frames.RstStream(1, frames.Reset.CANCEL),
    frames.Settings({4: 100, 7: 65536}),
    frames.Ping(7),
    frames.GoAway(3, frames.GoAwayStatus.OK),
    frames.WindowUpdate(1, 4096),
    frames.Data(1, b"payload"),
    frames.Data(1, b"", fin=True),
]


def test_every_frame_survives_the_wire_in_order() -> None:
    encode, decode = writer(), reader()
    wire = b"".join(encode.encode(frame) for frame in ALL)
    assert list(decode.feed(wire)) == ALL


def test_frames_may_arrive_byte_by_byte() -> None:
    encode, decode = writer(), reader()
    wire = b"".join(encode.encode(frame) for frame in ALL)
    seen = [frame for index in range(len(wire)) for frame in decode.feed(wire[index : index + 1])]
    merged = b"".join(frame.payload for frame in seen if isinstance(frame, frames.Data))
    assert merged == b"payload"
    assert [frame for frame in seen if not isinstance(frame, frames.Data)] == ALL[:-2]


def test_payload_is_handed_on_before_its_frame_is_complete() -> None:
    decode = reader()
    first = list(decode.feed(frames.data_header(5, 10, fin=True) + b"abcd"))
    assert first == [frames.Data(5, b"abcd")]
    assert list(decode.feed(b"efghij")) == [frames.Data(5, b"efghij", fin=True)]


@pytest.mark.parametrize(
    "wire",
    [
        control(1, b"\0\0\0\1", version=2),
        control(99, b""),
        control(6, b"\0"),
        control(3, b"\0" * 12),
        control(1, b"\0\0"),
        control(1, b"\0" * 10 + b"not zlib"),
        control(2, b"\0" * 4),
        control(4, struct.pack(">I", 0xFFFFFFFF)),
        struct.pack(">HHI", 0x8003, 1, 0xFFFFFF),
        frames.data_header(0, 4) + b"data",
    ],
    ids=[
        "other-version",
        "unknown-type",
        "short-ping",
        "long-reset",
        "short-syn",
        "bad-compression",
        "stream-zero",
        "settings-lie",
        "huge-control-frame",
        "data-on-stream-zero",
    ],
)
def test_hostile_frames_are_refused(wire: bytes) -> None:
    with pytest.raises(SpdyError):
        list(reader().feed(wire))


def compressed(plain: bytes) -> bytes:
    squeeze = zlib.compressobj(zdict=DICTIONARY)
    return squeeze.compress(plain) + squeeze.flush(zlib.Z_SYNC_FLUSH)


def pair(name: bytes, value: bytes) -> bytes:
    return struct.pack(">I", len(name)) + name + struct.pack(">I", len(value)) + value


@pytest.mark.parametrize(
    "plain",
    [
        b"\0" * (MAX_BLOCK + 1),
        struct.pack(">I", 1 << 30),
        struct.pack(">I", 1) + struct.pack(">I", 100) + b"short...",
        struct.pack(">I", 1) + pair(b"Upper", b"x"),
        struct.pack(">I", 1) + pair(b"", b"value"),
        struct.pack(">I", 2) + pair(b"a", b"1") + pair(b"a", b"2"),
        struct.pack(">I", 1) + pair(b"\xff\xfe", b"value"),
    ],
    ids=["bomb", "count-lie", "length-lie", "upper-case", "no-name", "twice", "not-utf8"],
)
def test_hostile_header_blocks_are_refused(plain: bytes) -> None:
    with pytest.raises(SpdyError):
        HeaderCodec().decode(compressed(plain))
