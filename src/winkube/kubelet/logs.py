"""Keep container logs from filling the disk: past a size a log is set aside and a new one begun."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from winkube.aio.supervise import repeat
from winkube.base.clock import Clock, to_rfc3339
from winkube.kubelet.pod.state import Container, CriCaller
from winkube.wire import cri
from winkube.wire.cri_client import CriError

CHECK_SECONDS: Final = 10.0
# containerLogMaxSize and containerLogMaxFiles, upstream's defaults.
MAX_BYTES: Final = 10 << 20
MAX_FILES: Final = 5

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LogRotator:
    cri: CriCaller
    clock: Clock
    running: Callable[[], Iterable[Container]]
    max_bytes: int = MAX_BYTES

    async def run(self) -> None:
        await repeat(CHECK_SECONDS, self.check, name="rotate logs")

    async def check(self) -> None:
        for container in list(self.running()):
            path = Path(container.log_path)
            if container.log_path and _size(path) > self.max_bytes:
                await self._rotate(container.id, path)

    async def _rotate(self, container_id: str, path: Path) -> None:
        aside = path.with_name(f"{path.name}.{to_rfc3339(self.clock.now()).replace(':', '')}")
        await asyncio.to_thread(path.rename, aside)
        try:
            await self.cri.call(
                "ReopenContainerLog", cri.ReopenContainerLogRequest(container_id=container_id)
            )
        except CriError as error:
            # The runtime still writes to the old file: give it its name back.
            log.warning("log not rotated", extra={"path": str(path), "error": str(error)})
            await asyncio.to_thread(aside.rename, path)
            return
        for old in sorted(path.parent.glob(f"{path.name}.*"))[: -(MAX_FILES - 1)]:
            with contextlib.suppress(OSError):
                old.unlink()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
