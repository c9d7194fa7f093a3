"""Unpack Windows image layers into folders an overlay can use.

A Windows layer keeps its files below ``Files/`` (and registry hives beside them, which Wine has no
use for). Names ignore case on Windows and not here: a layer's ``Windows/System32`` has to land in
the base's ``windows/system32``, so every name is looked up in the layers below first. Nothing is
ever written through a link or outside the layer's own folder.
"""

import gzip
import hashlib
import io
import os
import shutil
import stat
import subprocess
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from winkube.machines.wine.lock import locked
from winkube.machines.wine.recipe import CONTAINER_UID, DRIVE_C
from winkube.runtime.oci.errors import ArchiveError

_FILES: Final = "files"
_IGNORED: Final = frozenset({"hives", "utilityvm", "files$wcidirs$"})
_WHITEOUT: Final = ".wh."
_OPAQUE: Final = ".wh..wh..opq"
_MAX_ENTRIES: Final = 1_000_000  # Windows Server Core has about a tenth of it
_KEPT_SHARE: Final = 20
_LAST_SECOND: Final = (1 << 32) - 1
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def chain_id(parent: str, diff_id: str) -> str:
    """The OCI chain id: names a layer together with everything below it."""
    if not parent:
        return diff_id
    return "sha256:" + hashlib.sha256(f"{parent} {diff_id}".encode()).hexdigest()


class CaseMap:
    """Finds the spelling a path already has, in this layer or in those below it."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = roots
        self._folders: dict[tuple[str, ...], dict[str, str]] = {}

    def _names(self, folder: tuple[str, ...]) -> dict[str, str]:
        if folder not in self._folders:
            found: dict[str, str] = {}
            for root in reversed(self._roots):
                path = root.joinpath(*folder)
                if path.is_dir() and not path.is_symlink():
                    found.update({entry.name.lower(): entry.name for entry in path.iterdir()})
            self._folders[folder] = found
        return self._folders[folder]

    def match(self, names: Sequence[str]) -> tuple[str, ...]:
        """The names as they are or will be spelled; new ones are remembered."""
        path: tuple[str, ...] = ()
        for name in names:
            known = self._names(path)
            path = (*path, known.setdefault(name.lower(), name))
        return path

    def forget(self, names: tuple[str, ...]) -> None:
        self._names(names[:-1]).pop(names[-1].lower(), None)


def parse_name(name: str) -> tuple[str, ...] | None:
    """The path on C: of a tar entry; None for what a container has no use for."""
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
    if ".." in parts or "\0" in name:
        raise ArchiveError(f"the layer has an entry that leaves its folder: {name!r}")
    if not parts or parts[0].lower() in _IGNORED:
        return None
    if parts[0].lower() != _FILES:
        if parts[0].startswith(_WHITEOUT):
            return None
        raise ArchiveError(f"not a layer of a Windows image: {name!r} is not below Files/")
    if any(":" in part for part in parts):
        return None  # an alternate data stream
    if parts[-1] != _OPAQUE and parts[-1].removeprefix(_WHITEOUT) in ("", ".", ".."):
        raise ArchiveError(f"the layer takes away a folder itself: {name!r}")
    return tuple(parts[1:])


class Budget:
    """How much a layer may unpack to: a small archive can hold an endless file."""

    def __init__(self, space: int, entries: int = _MAX_ENTRIES) -> None:
        self._space = space
        self._entries = entries

    def spend(self, size: int) -> None:
        self._entries -= 1
        self._space -= size
        if self._space < 0:
            raise ArchiveError("the layer unpacks to more than there is space for")
        if self._entries < 0:
            raise ArchiveError(f"the layer has more than {_MAX_ENTRIES} entries")

    @classmethod
    def of_disk(cls, folder: Path) -> "Budget":
        """What is free, less a share that everything else on the machine needs."""
        usage = shutil.disk_usage(folder)
        return cls(max(0, usage.free - usage.total // _KEPT_SHARE))


class LayerWriter:
    def __init__(self, layer: Path, below: Sequence[Path], budget: Budget) -> None:
        self._budget = budget
        self._drive = layer / DRIVE_C
        self._below = [folder / DRIVE_C for folder in below]
        self._case = CaseMap([self._drive, *self._below])

    def write(self, tar: tarfile.TarFile, entry: tarfile.TarInfo) -> None:
        names = parse_name(entry.name)
        self._budget.spend(entry.size if entry.isreg() else 0)
        if not names:
            return
        if names[-1] == _OPAQUE:
            self._make_opaque(self._folder(names[:-1]))
        elif names[-1].startswith(_WHITEOUT):
            self._whiteout((*names[:-1], names[-1].removeprefix(_WHITEOUT)))
        elif entry.isdir():
            self._folder(names)
        elif entry.isreg():
            self._file(names, tar, entry)
        elif entry.islnk():
            self._link(names, entry)
        elif entry.issym():
            self._symlink(names, entry)

    def _path(self, names: Sequence[str]) -> Path:
        """Where an entry goes; its folders are made, and are folders."""
        spelled = self._case.match(names)
        self._folder(spelled[:-1])
        return self._drive.joinpath(*spelled)

    def _folder(self, names: Sequence[str]) -> Path:
        path = self._drive
        for name in self._case.match(names):
            path = path / name
            if path.is_symlink() or (path.exists() and not path.is_dir()):
                path.unlink()
            if not path.exists():
                path.mkdir()
                os.chown(path, CONTAINER_UID, CONTAINER_UID)
        return path

    def _clear(self, path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def _file(self, names: Sequence[str], tar: tarfile.TarFile, entry: tarfile.TarInfo) -> None:
        path = self._path(names)
        self._clear(path)
        source = tar.extractfile(entry)
        with path.open("xb") as target:
            if source is not None:
                shutil.copyfileobj(source, target, 1 << 20)
            os.fchmod(target.fileno(), 0o755)
            os.fchown(target.fileno(), CONTAINER_UID, CONTAINER_UID)
        moment = min(max(entry.mtime, 0), _LAST_SECOND)
        os.utime(path, (moment, moment))

    def _link(self, names: Sequence[str], entry: tarfile.TarInfo) -> None:
        target_names = parse_name(entry.linkname)
        if not target_names:
            raise ArchiveError(f"the layer links {entry.name!r} to nothing")
        spelled = self._case.match(target_names)
        path = self._path(names)
        for root in (self._drive, *self._below):
            source = root.joinpath(*spelled)
            if source.is_file() and not source.is_symlink():
                self._clear(path)
                if root == self._drive:
                    os.link(source, path)
                else:
                    self._budget.spend(source.stat().st_size)
                    shutil.copy2(source, path)
                    os.chown(path, CONTAINER_UID, CONTAINER_UID)
                return
        raise ArchiveError(f"the layer links {entry.name!r} to the missing {entry.linkname!r}")

    def _symlink(self, names: Sequence[str], entry: tarfile.TarInfo) -> None:
        """Keep a link that stays on the drive; any other would show what is below it."""
        target = entry.linkname.replace("\\", "/")
        absolute = target.startswith("/")
        if len(target) > 1 and target[1] == ":":
            if target[0].lower() != "c":
                return
            target, absolute = target[2:], True
        parts = [] if absolute else list(names[:-1])
        for part in target.split("/"):
            if part == "..":
                if not parts:
                    return
                parts.pop()
            elif part not in ("", "."):
                parts.append(part)
        path = self._path(names)
        self._clear(path)
        up = [".."] * (len(names) - 1)
        path.symlink_to("/".join([*up, *self._case.match(parts)]) or ".")
        os.chown(path, CONTAINER_UID, CONTAINER_UID, follow_symlinks=False)

    def _whiteout(self, names: tuple[str, ...]) -> None:
        path = self._path(names)
        self._clear(path)
        os.mknod(path, stat.S_IFCHR, os.makedev(0, 0))
        self._case.forget(self._case.match(names))

    def _make_opaque(self, folder: Path) -> None:
        os.setxattr(folder, "trusted.overlay.opaque", b"y")


class _HashingReader(io.RawIOBase):
    """Hashes what passes through, for the check against the layer's diff id."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self.hash = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._source.read(len(buffer))
        self.hash.update(data)
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def open_layer(path: Path) -> Iterator[IO[bytes]]:
    """The uncompressed bytes of a layer blob: plain, gzip or zstd."""
    # Unbuffered: a child process reads on where the descriptor itself stands.
    with path.open("rb", buffering=0) as file:
        magic = file.read(4)
        file.seek(0)
        if magic.startswith(_GZIP):
            with gzip.open(file, "rb") as plain:
                yield plain  # type: ignore[misc]
        elif magic.startswith(_ZSTD):
            with _decompressing(file) as plain:
                yield plain
        else:
            yield file


@contextmanager
def _decompressing(file: IO[bytes]) -> Iterator[IO[bytes]]:
    """What zstd makes of the file; a broken one ends early, which the layer's digest shows."""
    argv = ["zstd", "-dcq"]
    try:
        child = subprocess.Popen(
            argv, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except FileNotFoundError:
        raise ArchiveError(
            "the layer is compressed with zstd, which is missing here; run: apt-get install zstd"
        ) from None
    with child:
        if child.stdout is not None:
            yield child.stdout


def unpack_layer(blob: Path, target: Path, below: Sequence[Path], diff_id: str) -> None:
    """Make ``target`` from a layer blob; whole or not at all, and once however many ask."""
    if target.is_dir():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    # An image may be private; containers reach it through their overlay, nobody else has to.
    target.parent.chmod(0o700)
    with locked(target.with_name(f"{target.name}.lock")):
        if target.is_dir():
            return
        part = target.with_name(f"{target.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        drive = part / DRIVE_C
        drive.mkdir(parents=True)
        for folder in (drive.parent, drive):
            os.chown(folder, CONTAINER_UID, CONTAINER_UID)
        try:
            _extract(blob, LayerWriter(part, below, Budget.of_disk(part)), diff_id)
        except ArchiveError:
            shutil.rmtree(part, ignore_errors=True)  # it may be what fills the disk
            raise
        part.chmod(0o755)
        part.rename(target)


def _extract(blob: Path, writer: LayerWriter, diff_id: str) -> None:
    try:
        with open_layer(blob) as plain:
            reader = _HashingReader(plain)
            buffered = io.BufferedReader(reader, 1 << 20)
            with tarfile.open(fileobj=buffered, mode="r|") as tar:
                for entry in tar:
                    writer.write(tar, entry)
            while buffered.read(1 << 20):
                continue  # padding after the archive's end is part of the digest
    except (tarfile.TarError, EOFError, zlib.error, OSError, ValueError) as error:
        raise ArchiveError(f"cannot unpack layer {diff_id}: {error}") from error
    found = "sha256:" + reader.hash.hexdigest()
    if diff_id and found != diff_id:
        raise ArchiveError(f"layer {diff_id} unpacks to {found}")
