import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winkube.wire import spdy
from winkube.wire import spdy_frames as frames
from winkube.wire.remotecommand import StreamClosedError
from winkube.wire.spdy import SpdyConnection
from winkube.wire.spdy_headers import HeaderCodec


class FakeLink:
    """Bytes go to a peer link, or are kept when there is none."""

    def __init__(self) -> None:
        self.peer: FakeLink | None = None
        self.sent = b""
        self.paused = self.closed = False
        self._receiver: spdy.Receiver | None = None

    def deliver_to(self, receiver: spdy.Receiver) -> None:
        self._receiver = receiver

    def send(self, data: bytes) -> None:
        self.sent += data
        if self.peer is not None:
            self.peer.receive(data)

    def receive(self, data: bytes) -> None:
        if self._receiver is not None:
            self._receiver.feed(data)

    async def drain(self) -> None:
        return None

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def close(self) -> None:
        self.closed = True
        if self.peer is not None and not self.peer.closed and self.peer._receiver is not None:
            self.peer._receiver.lost()


def connect() -> tuple[SpdyConnection, SpdyConnection]:
    one, other = FakeLink(), FakeLink()
    one.peer, other.peer = other, one
    return SpdyConnection(one, server=False), SpdyConnection(other, server=True)


class Script:
    """A server connection whose client is written out frame by frame."""

    def __init__(self, *, server: bool = True) -> None:
        self.link = FakeLink()
        self.connection = SpdyConnection(self.link, server=server)
        codec = HeaderCodec()
        self._writer = frames.FrameWriter(codec)
        self._reader = frames.FrameReader(codec)
        self._read = 0

    def send(self, *sent: frames.Frame) -> None:
        for frame in sent:
            self.link.receive(self._writer.encode(frame))

    def answers(self) -> list[frames.Frame]:
        new, self._read = self.link.sent[self._read :], len(self.link.sent)
        return list(self._reader.feed(new))


async def test_streams_carry_bytes_both_ways_and_end_separately() -> None:
    client, server = connect()
    ours = await client.open({"streamType": "data"})
    await ours.accepted()
    theirs = await server.accept()
    assert theirs is not None
    assert theirs.headers == {"streamtype": "data"}
    await ours.write(b"question")
    await ours.close()
    assert await theirs.read() == b"question"
    assert await theirs.read() == b""
    await theirs.write(b"answer")
    await theirs.close()
    assert await ours.read(3) == b"ans"
    assert await ours.read() == b"wer"
    assert await ours.read() == b""
    with pytest.raises(StreamClosedError):
        await ours.write(b"more")


async def test_large_writes_are_cut_into_frames() -> None:
    client, server = connect()
    ours = await client.open({})
    await ours.write(b"x" * (3 * spdy.CHUNK + 1))
    theirs = await server.accept()
    assert theirs is not None
    sizes = [len(await theirs.read()) for _ in range(4)]
    assert sizes == [spdy.CHUNK] * 3 + [1]


async def test_lost_connection_ends_reads_and_fails_writes() -> None:
    client, server = connect()
    ours = await client.open({})
    theirs = await server.accept()
    assert theirs is not None
    await client.close()
    assert await theirs.read() == b""
    assert server.gone.is_set()
    assert await server.accept() is None
    with pytest.raises(StreamClosedError):
        await theirs.write(b"x")
    with pytest.raises(StreamClosedError):
        await client.open({})
    assert await ours.read() == b""


async def test_link_is_paused_while_nobody_reads() -> None:
    script = Script()
    script.send(frames.SynStream(1, {}))
    stream = await script.connection.accept()
    assert stream is not None
    piece = b"x" * spdy.CHUNK
    count = spdy.STREAM_BUFFER // spdy.CHUNK + 1
    for _ in range(count):
        script.send(frames.Data(1, piece))
    assert script.link.paused
    await stream.read()
    assert not script.link.paused


async def test_ignored_input_does_not_pause_the_link() -> None:
    script = Script()
    script.send(frames.SynStream(1, {}))
    stream = await script.connection.accept()
    assert stream is not None
    script.send(frames.Data(1, b"x" * (spdy.STREAM_BUFFER + 1)))
    assert script.link.paused
    stream.ignore_input()
    assert not script.link.paused
    script.send(frames.Data(1, b"x" * (spdy.STREAM_BUFFER + 1)))
    assert not script.link.paused


async def test_pings_of_the_peer_are_echoed_and_others_are_not() -> None:
    script = Script()
    script.send(frames.Ping(1), frames.Ping(2))
    assert script.answers() == [frames.Ping(1)]


async def test_peer_without_windows_is_never_waited_for() -> None:
    script = Script()
    script.send(frames.SynStream(1, {}))
    stream = await script.connection.accept()
    assert stream is not None
    await stream.write(b"x" * (4 * spdy.DEFAULT_WINDOW))


async def test_peer_with_windows_is_waited_for() -> None:
    script = Script()
    script.send(frames.SynStream(1, {}), frames.Settings({7: 10}))
    stream = await script.connection.accept()
    assert stream is not None
    async with asyncio.TaskGroup() as group:
        writing = group.create_task(stream.write(b"0123456789abcdef"))
        await asyncio.sleep(0)
        assert not writing.done()
        assert script.answers()[-1] == frames.Data(1, b"0123456789")
        script.send(frames.WindowUpdate(1, 100))
        await writing
    assert script.answers()[-1] == frames.Data(1, b"abcdef")
    script.send(frames.Data(1, b"thanks"))
    assert await stream.read() == b"thanks"
    assert script.answers() == [frames.WindowUpdate(0, 6), frames.WindowUpdate(1, 6)]


@pytest.mark.parametrize(
    "sent",
    [
        [frames.SynStream(2, {})],
        [frames.SynStream(3, {}), frames.SynStream(1, {})],
        [frames.SynStream(1, {}), frames.SynStream(1, {})],
        [frames.Data(9, b"x")],
    ],
    ids=["our-parity", "lower-id", "same-id", "never-opened"],
)
async def test_broken_protocol_ends_the_connection(sent: list[frames.Frame]) -> None:
    script = Script()
    script.send(*sent)
    assert script.link.closed
    assert script.connection.gone.is_set()
    assert isinstance(script.answers()[-1], frames.GoAway)


async def test_too_many_streams_are_refused_one_by_one() -> None:
    script = Script()
    for number in range(spdy.MAX_WAITING + 1):
        script.send(frames.SynStream(2 * number + 1, {}))
    refused = 2 * spdy.MAX_WAITING + 1
    assert script.answers()[-1] == frames.RstStream(refused, frames.Reset.REFUSED_STREAM)
    assert not script.link.closed


async def test_refused_stream_says_so() -> None:
    script = Script(server=False)
    stream = await script.connection.open({})
    script.send(frames.RstStream(stream.stream_id, frames.Reset.REFUSED_STREAM))
    with pytest.raises(StreamClosedError):
        await stream.accepted()


async def test_reset_ends_a_stream_and_late_data_is_dropped() -> None:
    script = Script()
    script.send(frames.SynStream(1, {}))
    stream = await script.connection.accept()
    assert stream is not None
    stream.reset()
    script.send(frames.Data(1, b"late"))
    assert await stream.read() == b""
    assert not script.link.closed


PIECES = st.one_of(
    st.binary(max_size=64),
    st.sampled_from(
        [
            frames.FrameWriter(HeaderCodec()).encode(frame)
            for frame in (
                frames.SynStream(1, {"streamtype": "data"}),
                frames.Data(1, b"abc", fin=True),
                frames.Settings({7: 0}),
                frames.WindowUpdate(1, 2**31 - 1),
                frames.RstStream(1, 5),
                frames.GoAway(0),
            )
        ]
    ),
)


@given(st.lists(PIECES, max_size=12))
def test_no_bytes_of_a_peer_raise(pieces: list[bytes]) -> None:
    script = Script()
    for piece in pieces:
        script.link.receive(piece)
    if script.link.closed:
        assert script.connection.gone.is_set()
