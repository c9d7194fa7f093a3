"""Volumes the cluster made as folders of this node: made when first mounted, removed at the end.

A volume that is deleted and was to be deleted with its claim keeps a finalizer until its folder is
gone; whoever restarts in between finds it again. Only folders that carry the volume's own name are
ever removed.
"""

import asyncio
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from winkube.aio.queue import WorkQueue
from winkube.aio.supervise import work
from winkube.api.errors import ConflictError, NotFoundError
from winkube.api.meta import annotations_of, is_deleting, metadata, name_of
from winkube.api.volumes import (
    EXTERNAL_FINALIZER,
    LOCAL_PATH,
    LOCAL_PATH_NODE,
    PROVISIONED_BY,
)
from winkube.base.types import JsonObject
from winkube.client.informer import Informer
from winkube.client.resource import PERSISTENTVOLUMES
from winkube.client.rest import ApiClient
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.errors import KubeletError
from winkube.kubelet.spec.paths import windows_host_path
from winkube.kubelet.volume.hostpath import ensure_hostpath

CONFLICT_SECONDS: Final = 0.1

log = logging.getLogger(__name__)


def is_local_path(volume: JsonObject) -> bool:
    return annotations_of(volume).get(PROVISIONED_BY) == LOCAL_PATH


def ensure_local_path(source: JsonObject, c_drive: Path | None, target: Path | None = None) -> Path:
    """The folder, which a fresh volume lets every user of a container write to."""
    known = _path_of(source, c_drive).exists()
    path = ensure_hostpath(source, c_drive, target)
    if not known:
        path.chmod(0o777)
    return path


def is_to_be_removed(volume: JsonObject) -> bool:
    return (
        is_local_path(volume)
        and is_deleting(volume)
        and EXTERNAL_FINALIZER in (metadata(volume).get("finalizers") or ())
        and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
        and (volume.get("status") or {}).get("phase") != "Bound"
    )


def remove_folder(volume: JsonObject, c_drive: Path | None) -> None:
    path = _path_of(volume["spec"].get("hostPath") or {}, c_drive)
    if not path.name.startswith(f"{name_of(volume)}_"):
        raise KubeletError(f"{path} is not the folder of volume {name_of(volume)}")
    if path.is_symlink():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


def _path_of(source: JsonObject, c_drive: Path | None) -> Path:
    asked = str(source.get("path") or "")
    return Path(asked) if c_drive is None else windows_host_path(asked, c_drive)


class VolumeReclaimer:
    def __init__(
        self,
        config: KubeletConfig,
        client: ApiClient,
        *,
        remove: Callable[[JsonObject, Path | None], None] = remove_folder,
    ) -> None:
        self._client = client
        self._remove = remove
        self._drive = config.c_drive if config.is_windows else None
        self._queue: WorkQueue[str] = WorkQueue()
        self._volumes = Informer(
            client, PERSISTENTVOLUMES, label_selector=f"{LOCAL_PATH_NODE}={config.node_name}"
        )
        self._volumes.on_change(lambda key, old, new: self._queue.add(key))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._volumes.run(), name="informer volumes")
            group.create_task(work(self._queue, self._reclaim), name="reclaim")

    async def _reclaim(self, name: str) -> None:
        volume = self._volumes.get(name)
        if volume is None or not is_to_be_removed(volume):
            return
        await asyncio.to_thread(self._remove, volume, self._drive)
        log.info("volume removed", extra={"volume": name})
        kept = [each for each in volume["metadata"]["finalizers"] if each != EXTERNAL_FINALIZER]
        fresh = {**volume, "metadata": {**volume["metadata"], "finalizers": kept}}
        try:
            await self._client.update(PERSISTENTVOLUMES, fresh)
        except NotFoundError:
            return
        except ConflictError:
            # The volume's other finalizer goes at the same time: its event is on the way.
            self._queue.add_after(name, CONFLICT_SECONDS)
