"""Notice what happened in the runtime: list everything, compare, wake the pods that changed.

The pace follows the work: several times a second while containers are starting or stopping, once a
second otherwise, and hardly ever when the node is empty: only we could change that.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from winkube.base.clock import Clock
from winkube.kubelet.pod import identity
from winkube.kubelet.pod.state import CriCaller
from winkube.wire import cri
from winkube.wire.cri_client import CriError

HOT_SECONDS: Final = 0.15
CALM_SECONDS: Final = 1.0
EMPTY_SECONDS: Final = 10.0
STAY_HOT: Final = 5.0
UNHEALTHY_AFTER: Final = 180.0

log = logging.getLogger(__name__)

# id -> (pod uid, state)
Snapshot = dict[str, tuple[str, int]]


@dataclass(slots=True)
class Relister:
    cri: CriCaller
    clock: Clock
    wake: Callable[[str], None]
    last_success: float = field(default=0.0)
    _snapshot: Snapshot = field(default_factory=dict)
    _hot_until: float = 0.0
    _hurry: asyncio.Event = field(default_factory=asyncio.Event)

    def heat(self, seconds: float = STAY_HOT) -> None:
        """Something is in flight: look often for a while, starting now."""
        self._hot_until = max(self._hot_until, self.clock.monotonic() + seconds)
        self._hurry.set()

    @property
    def healthy(self) -> bool:
        return self.clock.monotonic() - self.last_success < UNHEALTHY_AFTER

    async def run(self) -> None:
        self.last_success = self.clock.monotonic()
        while True:
            try:
                await self.relist()
            except CriError as error:
                log.debug("relist failed", extra={"error": str(error)})
            await self._pause()

    async def relist(self) -> None:
        boxes = await self.cri.call("ListPodSandbox", cri.ListPodSandboxRequest())
        listed = await self.cri.call("ListContainers", cri.ListContainersRequest())
        fresh: Snapshot = {
            item.id: (item.labels.get(identity.POD_UID, ""), item.state) for item in boxes.items
        }
        fresh |= {
            item.id: (item.labels.get(identity.POD_UID, ""), item.state)
            for item in listed.containers
        }
        self.last_success = self.clock.monotonic()
        for uid in changed_pods(self._snapshot, fresh):
            self.wake(uid)
        self._snapshot = fresh

    async def _pause(self) -> None:
        if self.clock.monotonic() < self._hot_until:
            await asyncio.sleep(HOT_SECONDS)
            return
        self._hurry.clear()
        try:
            async with asyncio.timeout(CALM_SECONDS if self._snapshot else EMPTY_SECONDS):
                await self._hurry.wait()
        except TimeoutError:
            return
        await asyncio.sleep(HOT_SECONDS)


def changed_pods(old: Snapshot, new: Snapshot) -> set[str]:
    touched = {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
    return {(new.get(key) or old[key])[0] for key in touched} - {""}
