"""All volumes of a pod: set up before its containers, refreshed while it runs, removed after it."""

import asyncio
import contextlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from winkube.api.meta import is_controlled_by, key_of
from winkube.api.quantity import to_bytes
from winkube.api.volumes import ephemeral_claim_key, say_foreign
from winkube.base.errors import WinkubeError
from winkube.base.types import JsonObject
from winkube.facts.node import NodeFeature, node_does
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.errors import KubeletError, VolumeError
from winkube.kubelet.pod import identity
from winkube.kubelet.spec.security import effective
from winkube.kubelet.volume.atomic import File, write_files
from winkube.kubelet.volume.hostpath import ensure_hostpath
from winkube.kubelet.volume.local_path import ensure_local_path, is_local_path
from winkube.kubelet.volume.payload import PROJECTED, PayloadSource, build_files
from winkube.linux import mount

# The folder names upstream uses, so that tools which look below pods/ find their way.
_FOLDERS: Final = {
    "emptyDir": "kubernetes.io~empty-dir",
    "configMap": "kubernetes.io~configmap",
    "secret": "kubernetes.io~secret",
    "downwardAPI": "kubernetes.io~downward-api",
    "projected": "kubernetes.io~projected",
}


@dataclass(frozen=True, slots=True)
class Volume:
    path: Path
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class VolumeSetup:
    config: KubeletConfig

    async def ensure(self, pod: JsonObject, source: PayloadSource) -> dict[str, Volume]:
        """Every volume of the pod, ready to be mounted; the first that fails raises."""
        ready = {}
        for volume in pod["spec"].get("volumes") or []:
            try:
                ready[volume["name"]] = await self._ensure_one(pod, volume, source)
            except (WinkubeError, OSError) as error:
                raise VolumeError(volume["name"], str(error)) from error
        return ready

    async def refresh(self, pod: JsonObject, source: PayloadSource) -> None:
        """Bring the files that come from the API up to date."""
        for volume in pod["spec"].get("volumes") or []:
            if any(kind in volume for kind in PROJECTED):
                with contextlib.suppress(WinkubeError, OSError):
                    await self._ensure_one(pod, volume, source)

    def teardown(self, uid: str) -> None:
        """Unmount and remove everything of a pod that is gone."""
        folder = self.config.pod_dir(uid)
        if folder.exists():
            if os.geteuid() == 0:
                mount.umount_all(folder)
            shutil.rmtree(folder, ignore_errors=True)

    async def _ensure_one(
        self, pod: JsonObject, volume: JsonObject, source: PayloadSource
    ) -> Volume:
        if "hostPath" in volume:
            return Volume(await self._host_path(pod, volume, volume["hostPath"]))
        if "persistentVolumeClaim" in volume or "ephemeral" in volume:
            return await self._claimed(pod, volume, source)
        kind = next((kind for kind in _FOLDERS if kind in volume), None)
        if kind is None:
            kinds = ", ".join(sorted(set(volume) - {"name"}))
            raise KubeletError(f"no volume plugin matched: {kinds or 'no source'}")
        base = self.config.pod_dir(identity.uid_of(pod)) / "volumes"
        path = base / _FOLDERS[kind] / volume["name"]
        if kind == "emptyDir":
            self._ensure_empty_dir(pod, volume["emptyDir"] or {}, path)
            return Volume(path)
        if kind == "projected":
            self._check_owner(pod, volume["projected"] or {}, path)
        files = await build_files(pod, volume, source)
        path.mkdir(parents=True, exist_ok=True)
        if kind in ("secret", "projected"):
            _mount_memory(path)
        if self.config.is_windows:
            # Windows has no modes: whatever was asked for, the container may read its files.
            files = {name: File(file.content) for name, file in files.items()}
        write_files(path, files, group=self._group(pod))
        return Volume(path, read_only=True)

    def _check_owner(self, pod: JsonObject, projected: JsonObject, path: Path) -> None:
        """Older kubelets give tokens to the user of all containers, which Windows cannot do."""
        if not self.config.is_windows or not node_does(
            self.config.kube_version, NodeFeature.TOKEN_OWNER_FAULT
        ):
            return
        users = {effective(pod, each, "runAsUser") for each in identity.all_containers(pod)}
        for part in projected.get("sources") or []:
            if "serviceAccountToken" in part and len(users) == 1 and None not in users:
                file = path / part["serviceAccountToken"]["path"]
                raise KubeletError(f"chown {file}: not supported by windows")

    async def _host_path(
        self,
        pod: JsonObject,
        volume: JsonObject,
        folder: JsonObject,
        *,
        make: Callable[[JsonObject, Path | None, Path], Path] = ensure_hostpath,
    ) -> Path:
        drive = self.config.c_drive if self.config.is_windows else None
        base = self.config.pod_dir(identity.uid_of(pod)) / "volumes"
        target = base / "kubernetes.io~host-path" / volume["name"]
        return await asyncio.to_thread(make, folder, drive, target)

    async def _claimed(self, pod: JsonObject, volume: JsonObject, source: PayloadSource) -> Volume:
        """A bound claim whose volume is a folder of this node (hostPath or local)."""
        reference = volume.get("persistentVolumeClaim") or {}
        key = _claim_key(pod, volume)
        claim = await source.lookup("persistentVolumeClaim", *key.split("/"))
        if claim is None:
            raise KubeletError(f'persistentvolumeclaim "{key.partition("/")[2]}" not found')
        if "ephemeral" in volume and not is_controlled_by(claim, pod):
            raise KubeletError(say_foreign(key, key_of(pod)))
        bound = (claim.get("spec") or {}).get("volumeName")
        if not bound or (claim.get("status") or {}).get("phase") != "Bound":
            raise KubeletError(f"PVC {key} is not bound")
        found = await source.lookup("persistentVolume", "", bound)
        spec = (found or {}).get("spec") or {}
        if spec.get("volumeMode") == "Block":
            # The words of a kubelet that is not for Linux; our Linux nodes have no devices either.
            raise KubeletError("AttachFileDevice not supported for this build.")
        folder = spec.get("hostPath") or spec.get("local")
        if not folder:
            raise KubeletError(f"no volume plugin matched: {', '.join(sorted(spec))}")
        make = ensure_local_path if is_local_path(found or {}) else ensure_hostpath
        path = await self._host_path(pod, volume, folder, make=make)
        return Volume(path, read_only=bool(reference.get("readOnly")))

    def _ensure_empty_dir(self, pod: JsonObject, source: JsonObject, path: Path) -> None:
        fresh = not path.exists()
        path.mkdir(parents=True, exist_ok=True)
        if source.get("medium") == "Memory" and not self.config.is_windows:
            limit = source.get("sizeLimit")
            fresh |= _mount_memory(path, size=None if limit is None else str(limit))
        if not fresh:
            return
        path.chmod(0o777)
        group = self._group(pod)
        if group is not None:
            os.chown(path, -1, group)
            path.chmod(0o2777)

    def _group(self, pod: JsonObject) -> int | None:
        """fsGroup; Windows has no such thing, and a kubelet without root cannot give files away."""
        group = (pod["spec"].get("securityContext") or {}).get("fsGroup")
        if group is None or self.config.is_windows or os.geteuid() != 0:
            return None
        return int(group)


def _claim_key(pod: JsonObject, volume: JsonObject) -> str:
    if "ephemeral" in volume:
        return ephemeral_claim_key(pod, volume)
    return f"{identity.namespace_of(pod)}/{volume['persistentVolumeClaim']['claimName']}"


def _mount_memory(path: Path, size: str | None = None) -> bool:
    """Keep it off the disk; without the right to mount, a plain folder has to do.

    Checked each time: after a reboot the folder is there, but its memory is not. Says whether what
    is there now is new.
    """
    if os.geteuid() != 0 or mount.is_mounted(path):
        return False
    options = "mode=0755" if size is None else f"mode=0777,size={to_bytes(size)}"
    try:
        mount.mount_tmpfs(path, options=options)
    except OSError:
        return False
    return True
