"""Which Services changed since the last sync.

Turns informer events into a set of Service keys and hands them out in batches, at most one batch
per interval: the first change after a quiet time goes out at once, a storm is merged.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from winkube.base.types import JsonObject
from winkube.proxy.family import ONLY_IPV4, Family
from winkube.proxy.service import ServicePort, parse_service_ports, service_of_slice
from winkube.proxy.topology import Place

_INDEX = "service"


class Cache(Protocol):
    """The part of an informer that is read here."""

    synced: asyncio.Event

    def get(self, key: str) -> JsonObject | None: ...
    def keys(self) -> Sequence[str]: ...
    def by_index(self, name: str, value: str) -> Sequence[JsonObject]: ...
    def add_index(self, name: str, function: Callable[[JsonObject], Iterable[str]]) -> None: ...
    def on_change(
        self, handler: Callable[[str, JsonObject | None, JsonObject | None], None]
    ) -> None: ...


class ServiceChanges:
    def __init__(
        self, services: Cache, slices: Cache, here: Place, families: Iterable[Family] = ONLY_IPV4
    ) -> None:
        self._services, self._slices, self._here = services, slices, here
        self._families = tuple(families)
        self._dirty: set[str] = set()
        self._wake = asyncio.Event()
        slices.add_index(_INDEX, _index_slice)
        services.on_change(self._on_service)
        slices.on_change(self._on_slice)

    async def synced(self) -> None:
        await self._services.synced.wait()
        await self._slices.synced.wait()

    async def wait(self, timeout: float) -> None:
        """Return when something changed, or when the time is up."""
        try:
            async with asyncio.timeout(timeout):
                await self._wake.wait()
        except TimeoutError:
            pass

    def take(self) -> set[str]:
        self._wake.clear()
        taken, self._dirty = self._dirty, set()
        return taken

    def touch(self, key: str) -> None:
        self._dirty.add(key)
        self._wake.set()

    def move(self, zone: str) -> None:
        """The node is in another zone: endpoints of any Service may be nearer, or farther."""
        if zone != self._here.zone:
            self._here = replace(self._here, zone=zone)
            for key in self._services.keys():  # noqa: SIM118 - an informer is not a mapping
                self.touch(key)

    def all_services(self) -> set[str]:
        return set(self._services.keys())

    def ports(self, key: str) -> tuple[ServicePort, ...]:
        slices = self._slices.by_index(_INDEX, key)
        return parse_service_ports(self._services.get(key), slices, self._here, self._families)

    def _on_service(self, key: str, _old: JsonObject | None, _new: JsonObject | None) -> None:
        self.touch(key)

    def _on_slice(self, _key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        for slice_ in (old, new):
            service = service_of_slice(slice_) if slice_ is not None else None
            if service is not None:
                self.touch(service)


def _index_slice(slice_: JsonObject) -> list[str]:
    service = service_of_slice(slice_)
    return [service] if service else []
