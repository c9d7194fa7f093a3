from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from winkube.api.errors import ExpiredError
from winkube.api.schema import load_schema
from winkube.client.errors import TransportError
from winkube.client.lean import LEAN, read_lean
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


async def lean(line: bytes) -> list[Any]:
    return [event.object async for event in EventStream(chunks(line), "test", read_lean)]


@pytest.mark.parametrize("kind", ["Pod", "Node"])
async def test_a_lean_event_has_every_field_but_the_owners(kind: str) -> None:
    definitions = load_schema().definitions
    metadata = definitions["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]["properties"]
    fields = definitions[f"io.k8s.api.core.v1.{kind}"]["properties"]
    obj: Any = {name: {"a": [1, None]} for name in fields}
    obj["metadata"] = {name: {"b": "ä"} for name in metadata}
    [found] = await lean(orjson.dumps({"type": "ADDED", "object": obj}) + b"\n")
    del obj["metadata"]["managedFields"]
    assert found == obj


def test_these_kinds_are_read_leanly() -> None:
    assert {resource.plural for resource in LEAN} == {"pods", "nodes"}


async def test_a_lean_error_raises_what_it_carries() -> None:
    with pytest.raises(ExpiredError, match="too old"):
        await lean(
            b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired",'
            b'"message":"too old"}}\n'
        )


@pytest.mark.parametrize("line", [b"[]\n", b"<html>\n", b'{"type":"ADDED","object":[]}\n', b"{}\n"])
async def test_a_lean_line_that_is_no_event_is_a_transport_error(line: bytes) -> None:
    with pytest.raises(TransportError, match="not a watch event"):
        await lean(line)
