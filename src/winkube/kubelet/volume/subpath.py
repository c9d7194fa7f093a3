"""Mount only a part of a volume, without letting a link lead out of it.

A container may write into a volume, so a link there is hostile input: the path is resolved, has to
stay below the volume, and is then opened step by step without following links. What is handed to
the runtime is a bind mount of that open file: swapping a folder for a link later changes nothing
(CVE-2017-1002101; kubernetes: pkg/volume/util/subpath).
"""

import os
from pathlib import Path, PurePosixPath

from winkube.kubelet.errors import KubeletError
from winkube.linux import mount


def ensure_subpath(volume: Path, sub_path: str, target: Path) -> Path:
    """A stable host path for this part of the volume; a missing one becomes a folder."""
    relative = _check(sub_path)
    base = volume.resolve()
    found = _resolve(base, relative, sub_path)
    descriptor = _open_below(base, found)
    try:
        return _pin(descriptor, found, target)
    finally:
        os.close(descriptor)


def _check(sub_path: str) -> PurePosixPath:
    path = PurePosixPath(sub_path.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts:
        raise KubeletError(f"subPath {sub_path!r} must be a relative path without '..'")
    return path


def _resolve(base: Path, relative: PurePosixPath, sub_path: str) -> Path:
    found = (base / relative).resolve()
    if found != base and base not in found.parents:
        raise KubeletError(f"subPath {sub_path!r} not within volume path")
    if not found.exists():
        _make_below(base, found)
        found = found.resolve()
        if found != base and base not in found.parents:
            raise KubeletError(f"subPath {sub_path!r} not within volume path")
    return found


def _make_below(base: Path, wanted: Path) -> None:
    """Create the missing folders through descriptors that never follow a link."""
    parent = os.open(base, os.O_PATH | os.O_DIRECTORY)
    try:
        for part in wanted.relative_to(base).parts:
            try:
                os.mkdir(part, 0o750, dir_fd=parent)
            except FileExistsError:
                pass
            else:
                Path(f"/proc/self/fd/{parent}/{part}").chmod(0o755)
            child = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
            os.close(parent)
            parent = child
    finally:
        os.close(parent)


def _open_below(base: Path, found: Path) -> int:
    current = os.open(base, os.O_PATH | os.O_DIRECTORY)
    for part in found.relative_to(base).parts:
        try:
            child = os.open(part, os.O_PATH | os.O_NOFOLLOW, dir_fd=current)
        finally:
            os.close(current)
        current = child
    return current


def _pin(descriptor: int, found: Path, target: Path) -> Path:
    if os.geteuid() != 0:
        # Without root nothing can be bind mounted; the checked path has to do.
        return found
    mount.umount(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    if found.is_dir():
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    try:
        mount.bind_mount(Path(f"/proc/self/fd/{descriptor}"), target)
    except OSError as error:
        raise KubeletError(f"cannot mount subPath {found.name}: {error}") from error
    return target
