"""Streams of forwarded ports find each other; those that never do pile up nowhere."""

from typing import TYPE_CHECKING, Any, cast

import pytest

from winkube.runtime.streaming_session import MAX_PAIRS, Pairs

if TYPE_CHECKING:
    from winkube.wire.spdy import SpdyStream


class Stream:
    def __init__(self, number: int, **headers: str) -> None:
        self.stream_id = number
        self.headers = headers
        self.was_reset = False

    def reset(self) -> None:
        self.was_reset = True


def file(pairs: Pairs, stream: Stream) -> Any:
    return pairs.file(cast("SpdyStream", stream))


def test_two_halves_make_a_pair() -> None:
    pairs = Pairs()
    assert file(pairs, Stream(1, streamtype="error", port="80", requestid="0")) is None
    pair = file(pairs, Stream(3, streamtype="data", port="80", requestid="0"))
    assert (pair.port, set(pair.streams), len(pairs)) == (80, {"data", "error"}, 0)


def test_halves_without_another_are_given_up_one_by_one() -> None:
    pairs = Pairs()
    streams = [
        Stream(2 * number + 1, streamtype="error", port="80", requestid=str(number))
        for number in range(3 * MAX_PAIRS)
    ]
    for stream in streams:
        assert file(pairs, stream) is None
    assert len(pairs) == MAX_PAIRS
    kept = [stream for stream in streams if not stream.was_reset]
    assert kept == streams[-MAX_PAIRS:]


@pytest.mark.parametrize("port", ["", "0", "65536", "-1", "1" * 10_000, "٣", "8 0"])
def test_a_stream_without_a_port_is_refused(port: str) -> None:
    pairs, stream = Pairs(), Stream(1, streamtype="error", port=port)
    assert file(pairs, stream) is None
    assert stream.was_reset
    assert len(pairs) == 0


def test_a_second_half_of_the_same_kind_is_refused_and_the_first_one_waits() -> None:
    pairs = Pairs()
    first, again = (Stream(n, streamtype="error", port="80", requestid="0") for n in (1, 3))
    other = Stream(5, streamtype="data", port="81", requestid="0")
    for stream in (first, again, other):
        assert file(pairs, stream) is None
    assert [each.was_reset for each in (first, again, other)] == [False, True, True]
    assert file(pairs, Stream(7, streamtype="data", port="80", requestid="0")) is not None
