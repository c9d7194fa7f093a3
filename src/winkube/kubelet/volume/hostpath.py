"""hostPath volumes and their types.

On a Linux node the path is the machine's own. On a Windows node it is on the emulated C: drive,
which containers of other pods may write to: there nothing is reached through a link that could be
swapped, and containers get a mount of what was checked.
"""

import os
import stat
from pathlib import Path

from winkube.base.types import JsonObject
from winkube.kubelet.errors import KubeletError
from winkube.kubelet.spec.paths import windows_host_path
from winkube.kubelet.volume.beneath import is_below, make_file, make_folders, open_beneath, pin

_TESTS = {
    "Directory": (stat.S_ISDIR, "directory"),
    "DirectoryOrCreate": (stat.S_ISDIR, "directory"),
    "File": (stat.S_ISREG, "file"),
    "FileOrCreate": (stat.S_ISREG, "file"),
    "Socket": (stat.S_ISSOCK, "socket file"),
    "CharDevice": (stat.S_ISCHR, "character device"),
    "BlockDevice": (stat.S_ISBLK, "block device"),
}
# On Windows the container's administrator writes there, whatever its number is here.
_WINDOWS_FOLDER, _WINDOWS_FILE = 0o777, 0o666


def ensure_hostpath(source: JsonObject, c_drive: Path | None, target: Path | None = None) -> Path:
    """The folder or file on this node: made if its type allows, else checked.

    On a Windows node the answer is ``target``, where the path is mounted.
    """
    asked, kind = str(source["path"]), source.get("type") or ""
    if c_drive is not None:
        return _ensure_on_c_drive(asked, kind, c_drive, target)
    path = Path(asked)
    if not path.exists():
        _make(path, kind)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = 0
    _check_type(asked, mode, kind)
    return path


def _make(path: Path, kind: str) -> None:
    if kind == "FileOrCreate":
        path.touch(mode=0o644)
    elif kind in ("", "DirectoryOrCreate"):
        # An untyped path is not checked; runtimes make a missing one a folder.
        path.mkdir(mode=0o755, parents=True)


def _ensure_on_c_drive(asked: str, kind: str, c_drive: Path, target: Path | None) -> Path:
    c_drive.mkdir(mode=0o755, parents=True, exist_ok=True)
    root = c_drive.resolve()
    path = windows_host_path(asked, root).resolve()
    if not is_below(root, path):
        raise KubeletError(f"host path {asked} leads out of drive C:")
    if not path.exists():
        if kind == "FileOrCreate":
            make_file(root, path, _WINDOWS_FILE)
        elif kind in ("", "DirectoryOrCreate"):
            make_folders(root, path, _WINDOWS_FOLDER)
    try:
        descriptor = open_beneath(root, path)
    except FileNotFoundError:
        _check_type(asked, 0, kind)
        raise
    try:
        _check_type(asked, os.fstat(descriptor).st_mode, kind)
        return path if target is None else pin(descriptor, path, target)
    finally:
        os.close(descriptor)


def _check_type(asked: str, mode: int, kind: str) -> None:
    if not kind:
        return
    if kind not in _TESTS:
        raise KubeletError(f"{kind} is an invalid volume type")
    test, noun = _TESTS[kind]
    if not test(mode):
        raise KubeletError(f"hostPath type check failed: {asked} is not a {noun}")
