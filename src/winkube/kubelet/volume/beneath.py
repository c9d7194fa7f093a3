"""Files below a folder that containers can write to, reached without ever following a link.

A container may swap any name in a volume for a link at any moment. So paths are walked name by name
through descriptors, what is made is changed through its own descriptor, and what is handed to the
runtime is a bind mount of the descriptor that was checked: later swaps change nothing
(CVE-2017-1002101, CVE-2021-25741; kubernetes: pkg/volume/util/subpath).
"""

import os
import stat
from pathlib import Path

from winkube.kubelet.errors import KubeletError
from winkube.linux import mount


def is_below(base: Path, path: Path) -> bool:
    return path == base or base in path.parents


def open_beneath(base: Path, wanted: Path) -> int:
    """A descriptor of an existing path below ``base``; a link anywhere on the way is refused."""
    current = os.open(base, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in wanted.relative_to(base).parts:
        try:
            child = os.open(part, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=current)
        finally:
            os.close(current)
        current = child
    if stat.S_ISLNK(os.fstat(current).st_mode):
        os.close(current)
        raise KubeletError(f"{wanted.name} has become a link")
    return current


def make_folders(base: Path, wanted: Path, mode: int) -> None:
    """Create the missing folders down to ``wanted``."""
    parent = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in wanted.relative_to(base).parts:
            made = _make_folder(part, parent)
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            child = os.open(part, flags, dir_fd=parent)
            os.close(parent)
            parent = child
            if made:
                os.fchmod(parent, mode)
    finally:
        os.close(parent)


def _make_folder(name: str, parent: int) -> bool:
    try:
        os.mkdir(name, 0o750, dir_fd=parent)
    except FileExistsError:
        return False
    return True


def make_file(base: Path, wanted: Path, mode: int) -> None:
    """Create an empty file in a folder that exists."""
    parent = open_beneath(base, wanted.parent)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(wanted.name, flags, mode, dir_fd=parent)
        os.fchmod(descriptor, mode)
        os.close(descriptor)
    finally:
        os.close(parent)


def pin(descriptor: int, found: Path, target: Path) -> Path:
    """A host path that stays what the descriptor is, whatever happens to its name."""
    if os.geteuid() != 0:
        # Without root nothing can be bind mounted; the checked path has to do.
        return found
    mount.umount(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    try:
        mount.bind_mount(Path(f"/proc/self/fd/{descriptor}"), target)
    except OSError as error:
        raise KubeletError(f"cannot mount {found.name}: {error}") from error
    return target
