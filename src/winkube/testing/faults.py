"""A client whose network and cache misbehave, by a seed.

What happens to it: a write is refused as if somebody else had been first; a write is done but its
answer is lost; an answer comes late; a watch falls behind (the cache is stale meanwhile), breaks
off, or swallows events and later says that its version expired, as a server does that lost them.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from winkube.api.errors import ApiError, ConflictError, ExpiredError, UnavailableError
from winkube.client.config import ClientConfig
from winkube.client.errors import TransportError
from winkube.client.resource import Resource
from winkube.client.rest import ApiClient
from winkube.client.stream import WatchEvent


@dataclass(frozen=True, slots=True)
class Odds:
    """How likely each fault is, per request or per event."""

    refused: float = 0.05
    lost_answer: float = 0.05
    late: float = 0.1
    stale: float = 0.03
    cut: float = 0.02
    swallowed: float = 0.03
    seconds: float = 0.4


class FaultyClient(ApiClient):
    """``troubled`` may be switched off: from then on everything works."""

    def __init__(self, config: ClientConfig, seed: int, odds: Odds | None = None) -> None:
        super().__init__(config)
        self.troubled = True
        self.suffered: dict[str, int] = {}
        self._random = random.Random(seed)
        self._odds = odds or Odds()

    async def _bytes(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        accept: str | None = None,
    ) -> bytes:
        if self._strikes("late", self._odds.late):
            await self._wait()
        is_write = method != "GET"
        if is_write and self._strikes("refused", self._odds.refused):
            raise self._refusal()
        answer = await super()._bytes(
            method, path, query=query, body=body, content_type=content_type, accept=accept
        )
        if is_write and self._strikes("lost answer", self._odds.lost_answer):
            raise TransportError(self.config.server, "the answer was lost")
        return answer

    @asynccontextmanager
    async def watch(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        resource_version: str,
        lean: bool = False,
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        async with super().watch(
            resource,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            resource_version=resource_version,
            lean=lean,
        ) as events:
            yield self._disturbed(events)

    async def _disturbed(self, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        patience: float | None = None
        try:
            while True:
                # Once events are missing, the cache is wrong for a while and not for ever.
                async with asyncio.timeout(patience):
                    event = await anext(events)
                if self._strikes("stale", self._odds.stale):
                    await self._wait()
                if self._strikes("cut", self._odds.cut):
                    raise TransportError(self.config.server, "the watch was cut")
                if self._strikes("swallowed", self._odds.swallowed):
                    patience = self._random.uniform(0.0, self._odds.seconds)
                    continue
                yield event
        except (StopAsyncIteration, TimeoutError, TransportError) as end:
            if patience is not None:
                # Whoever went on from the last event would never hear of what is missing.
                raise ExpiredError("too old resource version") from end
            if isinstance(end, TransportError):
                raise

    def _refusal(self) -> ApiError:
        if self._random.random() < 0.7:
            return ConflictError("the object has been modified; please apply your changes again")
        return UnavailableError("the server is not ready to handle the request")

    def _strikes(self, fault: str, odds: float) -> bool:
        struck = self.troubled and self._random.random() < odds
        if struck:
            self.suffered[fault] = self.suffered.get(fault, 0) + 1
        return struck

    async def _wait(self) -> None:
        await asyncio.sleep(self._random.uniform(0.0, self._odds.seconds))
