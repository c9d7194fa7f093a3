"""Which resources a server has, from its discovery documents."""

import asyncio
import math
from dataclasses import dataclass, field

from winkube.api.errors import ApiError
from winkube.base.clock import Clock
from winkube.base.types import JsonObject
from winkube.client.resource import Resource
from winkube.client.rest import ApiClient


@dataclass(frozen=True, slots=True)
class ServedResource:
    resource: Resource
    kind: str
    verbs: frozenset[str]


@dataclass(slots=True)
class Discovery:
    """What was found, and the group versions whose server did not answer."""

    resources: list[ServedResource]
    silent: list[str] = field(default_factory=list)


async def discover(client: ApiClient) -> list[ServedResource]:
    """Every resource at its group's preferred version; a group that fails is left out."""
    return (await survey(client)).resources


async def survey(client: ApiClient) -> Discovery:
    """As ``discover``, for those who must know whether that is all."""
    found = Discovery(parse_resources(await client.get_path("/api/v1")))
    for group in (await client.get_path("/apis")).get("groups") or ():
        preferred = group.get("preferredVersion") or group["versions"][0]
        version = preferred["groupVersion"]
        try:
            found.resources += parse_resources(await client.get_path(f"/apis/{version}"))
        except ApiError:
            found.silent.append(version)
    return found


class Surveyor:
    """One survey for all who ask at about the same time: thousands may, and each is long."""

    def __init__(self, client: ApiClient, clock: Clock, seconds: float = 1.0) -> None:
        self._client = client
        self._clock = clock
        self._seconds = seconds
        self._lock = asyncio.Lock()
        self._begun = -math.inf
        self._count = 0
        self._found = Discovery([])

    async def survey(self) -> Discovery:
        """Begun after this was asked for, or hardly before; never before if it lacks something."""
        asked, count = self._clock.monotonic(), self._count
        async with self._lock:
            is_old = self._begun < asked - self._seconds
            if is_old or (self._found.silent and self._count == count):
                begun = self._clock.monotonic()
                self._count += 1
                self._found = await survey(self._client)
                self._begun = begun
            return self._found


def parse_resources(document: JsonObject) -> list[ServedResource]:
    """Read an APIResourceList; subresources are not resources of their own."""
    group, _, version = document["groupVersion"].rpartition("/")
    return [
        ServedResource(
            Resource(
                entry.get("group") or group,
                entry.get("version") or version,
                entry["name"],
                bool(entry["namespaced"]),
            ),
            entry["kind"],
            frozenset(entry.get("verbs") or ()),
        )
        for entry in document.get("resources") or ()
        if "/" not in entry["name"]
    ]
