import asyncio

import orjson
import pytest

from winkube.base.errors import WinkubeError
from winkube.wire.remotecommand import (
    SPDY_PROTOCOLS,
    V1,
    V3,
    V4,
    V5,
    StreamRequestError,
    TerminalSize,
    Wanted,
    negotiate,
    parse_protocols,
    pump_resize,
    render_outcome,
)


class Pieces:
    def __init__(self, *pieces: bytes) -> None:
        self._pieces = list(pieces)

    async def read(self, _n: int = -1, /) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""


def test_client_preference_decides_the_version() -> None:
    offered = parse_protocols(["v5.channel.k8s.io, v4.channel.k8s.io", "v3.channel.k8s.io"])
    assert offered == [V5, V4, V3]
    assert negotiate(offered, SPDY_PROTOCOLS) == V4
    assert negotiate(["v9.channel.k8s.io"], SPDY_PROTOCOLS) is None


def test_success_is_a_status_in_v4_and_silence_in_v1() -> None:
    assert orjson.loads(render_outcome(V4, 0)) == {"metadata": {}, "status": "Success"}
    assert render_outcome(V1, 0) == b""


def test_exit_code_travels_as_a_cause() -> None:
    status = orjson.loads(render_outcome(V5, 42))
    assert status["reason"] == "NonZeroExitCode"
    assert status["details"] == {"causes": [{"reason": "ExitCode", "message": "42"}]}
    assert b"42" in render_outcome(V3, 42)


def test_failure_travels_with_its_sentence() -> None:
    status = orjson.loads(render_outcome(V4, WinkubeError("no such container")))
    assert (status["reason"], status["code"]) == ("InternalError", 500)
    assert status["message"] == "Internal error occurred: no such container"


def test_terminal_has_no_separate_stderr() -> None:
    wanted = Wanted.from_query({"input": "1", "output": "true", "error": "1", "tty": "1"})
    assert wanted == Wanted(stdin=True, stdout=True, stderr=False, tty=True)


def test_asking_for_no_stream_is_refused() -> None:
    with pytest.raises(StreamRequestError):
        Wanted.from_query({"command": "ls"})


async def test_sizes_are_read_across_pieces_and_nonsense_is_ignored() -> None:
    queue: asyncio.Queue[TerminalSize] = asyncio.Queue(2)
    source = Pieces(b'{"Width":80,"Hei', b'ght":24}\n{"Width":-1,"Height":5}', b'[]}{"x"}\n')
    await pump_resize(source, queue)
    assert queue.get_nowait() == TerminalSize(80, 24)
    assert queue.empty()


async def test_full_queue_keeps_the_newest_sizes() -> None:
    queue: asyncio.Queue[TerminalSize] = asyncio.Queue(2)
    source = Pieces(*(b'{"Width":%d,"Height":9}' % width for width in (1, 2, 3)))
    await pump_resize(source, queue)
    assert [queue.get_nowait().width for _ in range(2)] == [2, 3]
