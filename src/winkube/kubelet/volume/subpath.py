"""Mount only a part of a volume, without letting a link lead out of it.

A container may write into a volume, so a link there is hostile input: the path is resolved, has to
stay below the volume, and is then opened step by step without following links (``beneath``).
"""

import os
import stat
from pathlib import Path, PurePosixPath

from winkube.kubelet.errors import KubeletError
from winkube.kubelet.volume.beneath import is_below, make_folders, open_beneath, pin


def ensure_subpath(volume: Path, sub_path: str, target: Path) -> Path:
    """A stable host path for this part of the volume; a missing one becomes a folder."""
    relative = _check(sub_path)
    base = volume.resolve()
    found = _resolve(base, relative, sub_path)
    descriptor = open_beneath(base, found)
    try:
        return pin(descriptor, found, target)
    finally:
        os.close(descriptor)


def _check(sub_path: str) -> PurePosixPath:
    path = PurePosixPath(sub_path.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts:
        raise KubeletError(f"subPath {sub_path!r} must be a relative path without '..'")
    return path


def _resolve(base: Path, relative: PurePosixPath, sub_path: str) -> Path:
    found = (base / relative).resolve()
    if is_below(base, found) and not found.exists():
        # Whoever may write into the volume may write there too, in a container of either system.
        make_folders(base, found, stat.S_IMODE(base.stat().st_mode))
        found = found.resolve()
    if not is_below(base, found):
        raise KubeletError(f"subPath {sub_path!r} not within volume path")
    return found
