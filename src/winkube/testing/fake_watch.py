"""Watches of the fake API: changes from a version on, as a selection sees them."""

import asyncio
import copy
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from winkube.api.errors import ExpiredError
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.resource import Resource
from winkube.client.stream import WatchEvent
from winkube.testing.fake_objects import Matcher


@dataclass(frozen=True, slots=True)
class Change:
    version: int
    resource: Resource
    type: str
    object: JsonObject
    previous: JsonObject | None


class Changes(Protocol):
    """What a watch asks of the API it watches."""

    def watch_state(self) -> tuple[int, int, asyncio.Event]:
        """The epoch that ends when watches break, the oldest version, and when more comes."""
        ...

    def changes_after(self, version: int) -> Sequence[Change]: ...


class Watch:
    def __init__(self, api: Changes, resource: Resource, matches: Matcher, version: int) -> None:
        self._api = api
        self._resource = resource
        self._matches = matches
        self._version = version
        self._epoch = api.watch_state()[0]
        self._ready: deque[WatchEvent] = deque()

    def __aiter__(self) -> "Watch":
        return self

    async def __anext__(self) -> WatchEvent:
        while not self._ready:
            epoch, oldest, changed = self._api.watch_state()
            if self._version < oldest:
                raise ExpiredError(f"too old resource version: {self._version} ({oldest})")
            if epoch != self._epoch:
                raise TransportError("fake", "watch broken")
            fresh = self._api.changes_after(self._version)
            for change in fresh:
                self._version = change.version
                self._translate(change)
            if not fresh:
                await changed.wait()
        return self._ready.popleft()

    def _translate(self, change: Change) -> None:
        """A change into or out of the selection is an addition or a deletion."""
        if change.resource != self._resource:
            return
        now = change.type != "DELETED" and self._matches(change.object)
        before = change.previous is not None and self._matches(change.previous)
        type_ = {(True, True): "MODIFIED", (False, True): "ADDED", (True, False): "DELETED"}
        if now or before:
            event = WatchEvent(type_[before, now], copy.deepcopy(change.object))
            self._ready.append(event)
