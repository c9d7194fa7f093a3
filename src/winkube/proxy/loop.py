"""The sync loop both proxies share: when to program, how much, and what to do after a failure.

Theory of operation: the first sync, any sync after a failure, and any time the data plane says its
work is gone, replaces everything; all others touch only the Services that changed. Two syncs are
at least ``min_sync_seconds`` apart, but the first change after a quiet time does not wait.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Protocol

from winkube.aio.backoff import Backoff
from winkube.base.errors import WinkubeError
from winkube.proxy.change import ServiceChanges
from winkube.proxy.config import ProxyConfig
from winkube.proxy.health import HealthServer
from winkube.proxy.service import ServicePort

log = logging.getLogger(__name__)
PortsByService = Mapping[str, tuple[ServicePort, ...]]
_RETRY = Backoff(first=0.1, ceiling=5.0)


class DataPlane(Protocol):
    async def replace(self, ports: PortsByService) -> set[str]:
        """Make these Services, and no others, true; return those that have to be tried again."""
        ...

    async def update(self, ports: PortsByService) -> set[str]:
        """Make these Services true (no ports: remove) and leave all others alone."""
        ...

    async def is_intact(self) -> bool:
        """Whether what was programmed is still there."""
        ...


class SyncLoop:
    def __init__(self, changes: ServiceChanges, plane: DataPlane, config: ProxyConfig) -> None:
        self.ready = asyncio.Event()
        self.health = HealthServer(config.health_host, config.health_port)
        self._changes, self._plane, self._config = changes, plane, config
        self._full = True
        self._failures = 0
        self._rounds = 0
        self._unfinished: set[str] = set()

    async def run(self) -> None:
        await self._changes.synced()
        while True:
            try:
                await self._sync()
            except (WinkubeError, OSError) as error:
                await self._fail(error)
                continue
            self._failures = 0
            self.ready.set()
            await asyncio.sleep(self._config.min_sync_seconds)
            await self._changes.wait(self._pause())

    def _pause(self) -> float:
        if not self._unfinished:
            self._rounds = 0
            return self._config.check_seconds
        # A pod on its way is there in an instant; one that never comes must not keep us busy.
        self._rounds += 1
        return min(_RETRY.delay(self._rounds), self._config.check_seconds)

    async def _sync(self) -> None:
        keys = self._changes.take() | self._unfinished
        # With work at hand the plane finds out by itself, and fails.
        if not self._full and not keys and not await self._plane.is_intact():
            log.warning("programmed services are gone, writing all again")
            self._full = True
        if self._full:
            keys = self._changes.all_services()
        ports = {key: self._changes.ports(key) for key in keys}
        if self._full:
            self._unfinished = await self._plane.replace(ports)
        elif ports:
            self._unfinished = await self._plane.update(ports)
        if self._full or ports:
            level = logging.INFO if self._full else logging.DEBUG
            log.log(level, "services synced", extra={"services": len(ports), "full": self._full})
        await self.health.synced(ports, full=self._full)
        self._full = False

    async def _fail(self, error: Exception) -> None:
        # What the failed sync left half done is unknown, so the next one starts from nothing.
        self._full = True
        self._failures += 1
        self.health.waiting()
        delay = _RETRY.delay(self._failures)
        log.warning("sync failed", extra={"error": str(error), "retry": delay})
        await asyncio.sleep(delay)
