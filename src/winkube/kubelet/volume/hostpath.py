"""hostPath volumes and their types."""

import stat
from pathlib import Path

from winkube.base.types import JsonObject
from winkube.kubelet.errors import KubeletError
from winkube.kubelet.spec.paths import windows_host_path


def ensure_hostpath(source: JsonObject, c_drive: Path | None) -> Path:
    """The folder or file on this node: made if its type allows, else checked."""
    asked = str(source["path"])
    path = Path(asked) if c_drive is None else _on_c_drive(asked, c_drive)
    kind = source.get("type") or ""
    if not path.exists():
        _make(path, kind, windows=c_drive is not None)
    _check_type(asked, path, kind)
    return path


def _make(path: Path, kind: str, *, windows: bool) -> None:
    if kind == "FileOrCreate":
        path.touch(mode=0o644)
    elif kind in ("", "DirectoryOrCreate"):
        # An untyped path is not checked; runtimes make a missing one a folder.
        path.mkdir(mode=0o755, parents=True)
    else:
        return
    if windows:
        # On Windows the container's administrator writes there, whatever its number is here.
        path.chmod(0o666 if path.is_file() else 0o777)


def _on_c_drive(asked: str, c_drive: Path) -> Path:
    path = windows_host_path(asked, c_drive)
    real, root = path.resolve(), c_drive.resolve()
    if real != root and root not in real.parents:
        raise KubeletError(f"host path {asked} leads out of drive C:")
    return path


def _check_type(asked: str, path: Path, kind: str) -> None:
    tests = {
        "Directory": (stat.S_ISDIR, "directory"),
        "DirectoryOrCreate": (stat.S_ISDIR, "directory"),
        "File": (stat.S_ISREG, "file"),
        "FileOrCreate": (stat.S_ISREG, "file"),
        "Socket": (stat.S_ISSOCK, "socket file"),
        "CharDevice": (stat.S_ISCHR, "character device"),
        "BlockDevice": (stat.S_ISBLK, "block device"),
    }
    if not kind:
        return
    if kind not in tests:
        raise KubeletError(f"{kind} is an invalid volume type")
    test, noun = tests[kind]
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = 0
    if not test(mode):
        raise KubeletError(f"hostPath type check failed: {asked} is not a {noun}")
