from collections.abc import AsyncIterator
from typing import Any

import pytest

from winkube.api.errors import ExpiredError
from winkube.client.errors import TransportError
from winkube.client.stream import EventStream


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def read(*parts: bytes) -> list[Any]:
    stream = EventStream(chunks(*parts), "test")
    return [event.object["n"] async for event in stream]


async def test_events_may_be_cut_anywhere() -> None:
    text = b'{"type":"ADDED","object":{"n":1}}\n{"type":"ADDED","object":{"n":2}}\n'
    for cut in range(len(text)):
        assert await read(text[:cut], text[cut:]) == [1, 2]


async def test_unfinished_last_event_is_dropped() -> None:
    assert await read(b'{"type":"ADDED","object":{"n":1}}\n{"type":"AD') == [1]


async def test_long_line_over_many_chunks() -> None:
    big = b'{"type":"ADDED","object":{"n":"' + b"x" * 500_000 + b'"}}\n'
    parts = [big[start : start + 4096] for start in range(0, len(big), 4096)]
    assert len((await read(*parts))[0]) == 500_000


async def test_error_event_raises_what_it_carries() -> None:
    line = b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}\n'
    with pytest.raises(ExpiredError):
        await read(line)


async def test_line_that_is_no_event_is_a_transport_error() -> None:
    with pytest.raises(TransportError, match="not a watch event"):
        await read(b"<html>\n")
