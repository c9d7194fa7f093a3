"""Events live for an hour; this removes them when it is over."""

import asyncio
from typing import Final

from winkube.apiserver.item import Item
from winkube.apiserver.served import Resources
from winkube.apiserver.storage import Storage
from winkube.base.clock import Clock, parse_rfc3339
from winkube.base.types import JsonObject

LIFETIME: Final = 3600.0
_PAUSE: Final = 60.0
_BATCH: Final = 100  # between batches other requests get their turn


class EventExpiry:
    def __init__(self, resources: Resources, storage: Storage, clock: Clock) -> None:
        self._events = resources.core("events")
        self._storage = storage
        self._clock = clock
        self._seen: dict[str, tuple[int, float]] = {}  # key -> revision, when it was written

    async def run(self) -> None:
        while True:
            await asyncio.sleep(_PAUSE)
            await self.sweep()

    async def sweep(self) -> None:
        limit = self._clock.now() - LIFETIME
        items = self._events.cache.items()
        seen: dict[str, tuple[int, float]] = {}
        for number, item in enumerate(items):
            if number % _BATCH == 0:
                await asyncio.sleep(0)
            written = self._written(item)
            if written < limit:
                await self._storage.delete(self._events, item)
            else:
                seen[item.key] = (item.revision, written)
        self._seen = seen

    def _written(self, item: Item) -> float:
        known = self._seen.get(item.key)
        if known is not None and known[0] == item.revision:
            return known[1]
        return _last_time(item.load())


def _last_time(event: JsonObject) -> float:
    series = event.get("series") or {}
    for text in (
        series.get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        event["metadata"].get("creationTimestamp"),
    ):
        if text:
            return parse_rfc3339(text)
    return 0.0
