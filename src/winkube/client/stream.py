"""A watch's byte stream as events.

Classes, not generators: an abandoned iterator then leaves nothing to finalise.
"""

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import orjson

from winkube.api.errors import from_status
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError


class WatchEvent(NamedTuple):
    type: str
    object: JsonObject


@contextmanager
def transport_errors(server: str) -> Iterator[None]:
    """Turn every way a connection breaks into a TransportError."""
    try:
        yield
    except (TimeoutError, OSError) as error:
        raise TransportError(server, error) from error


class LineStream:
    """Whole lines in batches as they arrive; an unfinished last line is dropped."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._pending: list[bytes] = []

    def __aiter__(self) -> "LineStream":
        return self

    async def __anext__(self) -> list[bytes]:
        while True:
            chunk = await anext(self._chunks)
            self._pending.append(chunk)
            if b"\n" in chunk:
                lines = b"".join(self._pending).split(b"\n")
                self._pending = [lines.pop()]
                return [line for line in lines if line]


class EventStream:
    """Iterate over the events of one watch response; an ERROR event raises what it carries."""

    def __init__(
        self,
        chunks: AsyncIterator[bytes],
        server: str,
        read: Callable[[bytes], Any] = orjson.loads,
    ) -> None:
        self._lines = LineStream(chunks)
        self._server = server
        self._read = read
        self._ready: deque[bytes] = deque()

    def __aiter__(self) -> "EventStream":
        return self

    async def __anext__(self) -> WatchEvent:
        while not self._ready:
            with transport_errors(self._server):
                self._ready.extend(await anext(self._lines))
        return self._parse(self._ready.popleft())

    def _parse(self, line: bytes) -> WatchEvent:
        try:
            document = self._read(line)
            event = WatchEvent(document["type"], document["object"])
            if event.type == "ERROR":
                raise from_status(orjson.loads(line)["object"])
        except (ValueError, KeyError, TypeError) as error:
            raise TransportError(self._server, "not a watch event") from error
        return event
