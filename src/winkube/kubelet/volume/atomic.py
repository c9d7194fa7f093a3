"""Replace the files of a volume all at once.

Theory of operation (kubernetes: pkg/volume/util/atomic_writer.go): the files live in a fresh folder
of its own, ``..data`` is a link to it, and each visible name is a link through ``..data``.
Swapping that one link changes all files in a single rename; a reader sees the old set or the new.
"""

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from winkube.kubelet.errors import KubeletError

DATA: Final = "..data"
_NEXT: Final = "..data_tmp"
# Said, not left to the umask: the container's user is not ours.
_FOLDER: Final = 0o755


@dataclass(frozen=True, slots=True)
class File:
    content: bytes
    mode: int = 0o644


def check_path(path: str) -> str:
    """A relative path without ``..``; the API refuses others, this is the last line."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or path.startswith(".."):
        raise KubeletError(f"invalid path in volume: {path}")
    return str(pure)


def write_files(target: Path, files: Mapping[str, File], *, group: int | None = None) -> bool:
    """Make the folder show exactly these files; say whether anything changed."""
    shared = 0 if group is None else 0o040
    wanted = {
        check_path(path): File(file.content, file.mode | shared) for path, file in files.items()
    }
    target.mkdir(parents=True, exist_ok=True)
    target.chmod(_FOLDER)
    if _read(target) == wanted:
        return False
    old = _current(target)
    fresh = Path(tempfile.mkdtemp(prefix="..", dir=target))
    for path, file in wanted.items():
        _write(fresh / path, file, group)
    for folder in (fresh, *(path for path in fresh.rglob("*") if path.is_dir())):
        folder.chmod(_FOLDER)
    link = target / _NEXT
    link.unlink(missing_ok=True)
    link.symlink_to(fresh.name)
    link.replace(target / DATA)
    _link_names(target, wanted)
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)
    return True


def _write(path: Path, file: File, group: int | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(file.content)
    path.chmod(file.mode)
    if group is not None:
        os.chown(path, -1, group)


def _current(target: Path) -> Path | None:
    try:
        return target / (target / DATA).readlink()
    except OSError:
        return None


def _read(target: Path) -> dict[str, File] | None:
    current = _current(target)
    if current is None or not current.is_dir():
        return None
    found = {}
    for path in current.rglob("*"):
        if path.is_file():
            mode = path.stat().st_mode & 0o777
            found[str(path.relative_to(current))] = File(path.read_bytes(), mode)
    return found


def _link_names(target: Path, paths: Iterable[str]) -> None:
    names = {PurePosixPath(path).parts[0] for path in paths}
    for name in names:
        if not (target / name).is_symlink():
            (target / name).symlink_to(f"{DATA}/{name}")
    for entry in target.iterdir():
        if entry.is_symlink() and not entry.name.startswith("..") and entry.name not in names:
            entry.unlink()
