"""Windows paths on the Linux side: C: of a container is a folder, and names ignore case.

Every walk is done name by name and refuses symbolic links, so a path made by an image or a pod can
never lead out of the folder it starts in.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from winkube.runtime.errors import InvalidArgumentError

_DRIVE: Final = re.compile(r"^(?:\\\\\?\\)?([A-Za-z]):(?:[\\/]|$)")
_SEPARATOR: Final = re.compile(r"[\\/]+")


def parse_windows_path(text: str) -> tuple[str, ...]:
    """The names of a path on C:, with or without the drive, with slashes of either kind."""
    match = _DRIVE.match(text)
    if match and match[1].lower() != "c":
        raise InvalidArgumentError(f"path {text!r} is not on drive C:")
    rest = text[match.end() :] if match else text
    if ":" in rest or "\0" in rest:
        raise InvalidArgumentError(f"path {text!r} has a character Windows does not allow")
    names: list[str] = []
    for name in _SEPARATOR.split(rest):
        if name == "..":
            if names:
                names.pop()
        elif name not in ("", "."):
            names.append(name)
    return tuple(names)


def is_windows_path(text: str) -> bool:
    return bool(_DRIVE.match(text)) or "\\" in text


def match_name(folder: Path, name: str) -> str:
    """The name as it exists in the folder, whatever its case; itself when there is none."""
    if os.path.lexists(folder / name):
        return name
    lowered = name.lower()
    try:
        entries = sorted(entry.name for entry in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return name
    return next((entry for entry in entries if entry.lower() == lowered), name)


def resolve(root: Path, names: Sequence[str]) -> Path:
    """The path below ``root`` with existing names in their own case; links are refused."""
    path = root
    for name in names:
        path = path / match_name(path, name)
        if path.is_symlink():
            raise InvalidArgumentError(f"{path.relative_to(root)} is a link")
    return path


def ensure_point(root: Path, names: Sequence[str], *, is_folder: bool, uid: int) -> Path:
    """Make the place for a mount; what is made belongs to the container's user."""
    target = resolve(root, names)
    missing = []
    parent = target if is_folder else target.parent
    while parent != root and not parent.exists():
        missing.append(parent)
        parent = parent.parent
    for folder in reversed(missing):
        folder.mkdir()
        os.chown(folder, uid, uid)
    if not is_folder and not target.exists():
        target.touch()
        os.chown(target, uid, uid)
    return target
