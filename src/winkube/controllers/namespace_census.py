"""Which namespaces have something of which kind, found out once for many that are to be emptied.

To list every kind in every one of them is most of the work, and nearly all of the answers are
empty. A census lists each kind once for all namespaces. It counts for a namespace that was already
being deleted when it began: nothing new comes into such a one. Kinds of which there are many are
not counted to the end: those are asked for namespace by namespace.
"""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from winkube.api.errors import ApiError
from winkube.api.meta import namespace_of
from winkube.base.clock import Clock
from winkube.client.discovery import ServedResource
from winkube.client.resource import Resource
from winkube.client.rest import ApiClient

# More of a kind are not counted.
PAGE: Final = 500
# What was on its way when a namespace was deleted may still arrive.
SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Census:
    # Who has something; kinds that were not counted are missing.
    holders: dict[Resource, frozenset[str]] = field(default_factory=dict)

    def lacks(self, resource: Resource, namespace: str) -> bool:
        """Whether it is certain that nothing is there."""
        holders = self.holders.get(resource)
        return holders is not None and namespace not in holders


class Registrar:
    """One census for all who ask at about the same time."""

    def __init__(self, client: ApiClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._lock = asyncio.Lock()
        self._begun = -math.inf
        self._census = Census()

    async def census(self, entries: Sequence[ServedResource], since: float) -> Census:
        """Begun later than this moment, and hardly before it was asked for."""
        asked = self._clock.monotonic()
        async with self._lock:
            if self._begun <= since or self._begun < asked - SECONDS:
                begun = self._clock.monotonic()
                self._census = await self._take(entries)
                self._begun = begun
            return self._census

    async def _take(self, entries: Sequence[ServedResource]) -> Census:
        census = Census()
        for entry in entries:
            try:
                listing = await self._client.list(entry.resource, limit=PAGE, metadata_only=True)
            except ApiError:
                # Then that kind's server is asked about every namespace, and may say why.
                continue
            if not (listing.get("metadata") or {}).get("continue"):
                found = listing.get("items") or ()
                census.holders[entry.resource] = frozenset(map(namespace_of, found))
        return census
