"""Paths inside containers, and Windows host paths as folders of the emulated C: drive."""

import re
from pathlib import Path, PureWindowsPath
from typing import Final

from winkube.kubelet.errors import KubeletError

_DRIVE: Final = re.compile(r"[A-Za-z]:[\\/]?")


def container_path(path: str, *, windows: bool) -> str:
    """A mount path as the runtime gets it: Windows paths have a drive and backslashes."""
    if not windows:
        return path if path.startswith("/") else f"/{path}"
    if path.startswith("\\\\"):
        return path
    flipped = path.replace("/", "\\")
    if ":" in flipped:
        return flipped
    return "C:" + (flipped if flipped.startswith("\\") else f"\\{flipped}")


def windows_host_path(path: str, c_drive: Path) -> Path:
    r"""``C:\data``, ``C:/data`` and ``/data`` are the same folder of the host's C: drive."""
    if path.startswith("\\\\"):
        raise KubeletError(f"host path {path} is not on a drive of this node")
    drive = _DRIVE.match(path)
    if drive and drive[0][0].lower() != "c":
        raise KubeletError(f"host path {path}: this node has only drive C:")
    parts = [part for part in PureWindowsPath(path).parts if part.strip("\\/") and ":" not in part]
    if ".." in parts:
        raise KubeletError(f"host path {path} must not contain '..'")
    return c_drive.joinpath(*(part.strip("\\/") for part in parts))
