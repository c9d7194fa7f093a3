"""Changes that several controllers make to one node, sent together.

A new node gets a network, loses a taint and gets an annotation, each from a controller of its own.
As three patches they would be written, sent to and read by every watcher of nodes three times. So
a patch takes along what other controllers have brought by the time it is sent, and what they would
bring if they looked at the node now.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from winkube.api.errors import ApiError
from winkube.base.types import JsonObject
from winkube.client.errors import ClientError
from winkube.client.resource import NODES
from winkube.client.rest import ApiClient

# Alike for all that write nodes, so that they are at the same nodes at the same time.
NODE_WORKERS: Final = 30
# Long enough for whoever was woken by the same event, too short for anybody to notice.
_MOMENT: Final = 0.002
# What waits for its turn can still be added to.
_SENDERS: Final = 16


@dataclass(slots=True)
class _Unsent:
    change: JsonObject
    sent: asyncio.Event = field(default_factory=asyncio.Event)
    error: ApiError | ClientError | None = None


Plan = Callable[[str], JsonObject | None]


class NodePatches:
    def __init__(self, client: ApiClient) -> None:
        self._client = client
        self._unsent: dict[str, _Unsent] = {}
        self._turns = asyncio.Semaphore(_SENDERS)
        self._plans: list[Plan] = []
        self._sending: set[str] = set()
        # The versions our patches made, until they have been seen.
        self._written: dict[str, int] = {}

    def take_along(self, plan: Plan) -> None:
        """Ask this for its change of a node whenever that node is patched."""
        self._plans.append(plan)

    def is_behind(self, node: JsonObject) -> bool:
        """Whether this is a node from before a patch of ours; an event will bring the newer one."""
        name = node["metadata"]["name"]
        written = self._written.get(name)
        if written is not None and int(node["metadata"]["resourceVersion"]) >= written:
            del self._written[name]
            written = None
        return written is not None or name in self._sending

    async def patch(self, name: str, change: JsonObject) -> None:
        """Merge-patch a node; an error is everybody's whose change was in the same patch."""
        unsent = self._unsent.get(name)
        if unsent is None:
            await self._send(name, change)
            return
        unsent.change = merged(unsent.change, change)
        await unsent.sent.wait()
        if unsent.error is not None:
            raise unsent.error

    async def _send(self, name: str, change: JsonObject) -> None:
        unsent = self._unsent[name] = _Unsent(change)
        try:
            try:
                await asyncio.sleep(_MOMENT)
                async with self._turns:
                    del self._unsent[name]
                    await self._patch(name, unsent.change)
            except (ApiError, ClientError) as error:
                unsent.error = error
                raise
        finally:
            # What came while it was under way is another's to send.
            if self._unsent.get(name) is unsent:
                del self._unsent[name]
            unsent.sent.set()

    async def _patch(self, name: str, change: JsonObject) -> None:
        for plan in self._plans:
            change = merged(plan(name) or {}, change)
        self._sending.add(name)
        try:
            answer = await self._client.patch(NODES, name, change)
            self._written[name] = int(answer["metadata"]["resourceVersion"])
        finally:
            self._sending.discard(name)


def merged(one: JsonObject, other: JsonObject) -> JsonObject:
    """Both changes; where they differ, the later one."""
    found = {**one, **other}
    for key in one.keys() & other.keys():
        if isinstance(one[key], dict) and isinstance(other[key], dict):
            found[key] = merged(one[key], other[key])
    return found
