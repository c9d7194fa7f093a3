"""Mounts: overlays for containers, and finding and removing what is left below a folder."""

import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from winkube.linux import syscalls

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")  # mount(2) takes at most a page of options
_OCTAL: Final = re.compile(r"\\([0-7]{3})")


def _unescape(text: str) -> str:
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text)


def parse_mountinfo(text: str) -> list[Path]:
    """Mount points, oldest first, of a /proc/<pid>/mountinfo."""
    return [Path(_unescape(line.split(" ", 5)[4])) for line in text.splitlines()]


def list_mounts(prefix: Path) -> list[Path]:
    """Mount points at or below the prefix, newest first: the order to unmount in."""
    # The kernel lists real paths. One missed here would be emptied by who removes the folder.
    prefix = prefix.resolve()
    points = parse_mountinfo(Path("/proc/self/mountinfo").read_text())
    return [point for point in reversed(points) if point == prefix or prefix in point.parents]


def is_mounted(target: Path) -> bool:
    return target.resolve() in parse_mountinfo(Path("/proc/self/mountinfo").read_text())


def _escape(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace(":", "\\:").replace(",", "\\,")


def _overlay_options(lower: Sequence[Path], upper: Path | None, work: Path | None) -> str:
    options = "lowerdir=" + ":".join(map(_escape, lower))
    if upper is not None and work is not None:
        options += f",upperdir={_escape(upper)},workdir={_escape(work)}"
    return options


def mount_overlay(
    target: Path, *, lower: Sequence[Path], upper: Path | None = None, work: Path | None = None
) -> None:
    """Mount an overlay, topmost lower layer first; read-only without an upper layer."""
    target.mkdir(parents=True, exist_ok=True)
    options = _overlay_options(lower, upper, work)
    if len(options.encode()) < _PAGE:
        syscalls.mount("overlay", str(target), "overlay", options=options)
        return
    # The kernel resolves layer paths while mounting, so short links can stand in for long names.
    with tempfile.TemporaryDirectory(prefix="wkl") as folder:
        short = [Path(folder) / str(index) for index in range(len(lower))]
        for link, layer in zip(short, lower, strict=True):
            link.symlink_to(layer)
        options = _overlay_options(short, upper, work)
        syscalls.mount("overlay", str(target), "overlay", options=options)


def bind_mount(source: Path, target: Path, *, read_only: bool = False) -> None:
    syscalls.mount(str(source), str(target), "none", flags=syscalls.MS_BIND | syscalls.MS_REC)
    if read_only:
        flags = syscalls.MS_BIND | syscalls.MS_REMOUNT | syscalls.MS_RDONLY
        syscalls.mount("none", str(target), "none", flags=flags)


def mount_tmpfs(target: Path, *, options: str = "") -> None:
    syscalls.mount("tmpfs", str(target), "tmpfs", options=options)


def umount(target: Path, *, lazy: bool = True) -> None:
    """Unmount; a target that is not a mount point is not an error."""
    if is_mounted(target):
        syscalls.umount(str(target), flags=syscalls.MNT_DETACH if lazy else 0)


def umount_all(prefix: Path) -> list[Path]:
    """Unmount everything at or below the prefix; say what was there."""
    points = list_mounts(prefix)
    for point in points:
        syscalls.umount(str(point), flags=syscalls.MNT_DETACH)
    return points
