"""A container's log file in the CRI format: ``<time> <stdout|stderr> <P|F> <text>`` per line.

``P`` marks a piece of a line that goes on, ``F`` its end. Everything here blocks on the file
system only, and is called on a thread, except ``is_still``, which reads nothing. Rotation renames
the file and begins a new one under the old name; the old one is read to its end first.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from winkube.base.clock import parse_rfc3339

BLOCK: Final = 64 * 1024
BATCH: Final = 256 * 1024
# A runtime splits lines at 16 KiB; more without a newline is no CRI log.
MAX_LINE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LogOptions:
    timestamps: bool = False
    tail_lines: int | None = None
    since: float | None = None


class LogFile:
    """Read forward from where the options begin; a context manager."""

    def __init__(self, path: Path, options: LogOptions) -> None:
        self._path, self._options = path, options
        self._file: BinaryIO | None = None
        self._pending = b""
        self._started: dict[bytes, bool] = {}

    def __enter__(self) -> "LogFile":
        return self

    def __exit__(self, *_exc: object) -> None:
        if self._file is not None:
            self._file.close()

    def read_batch(self) -> bytes | None:
        """The next rendered lines; None at the (present) end, or while there is no file."""
        if self._file is None and not self._open(first=True):
            return None
        assert self._file is not None
        data = self._file.read(BATCH)
        if not data:
            return None
        *lines, self._pending = (self._pending + data).split(b"\n")
        if len(self._pending) > MAX_LINE:
            self._pending = b""
        return b"".join(self._render(line) for line in lines)

    def is_still(self) -> bool:
        """At the end of the file: whether nothing came since."""
        try:
            current = self._path.stat()
        except OSError:
            return True
        if self._file is None:
            return False
        mine, read = os.fstat(self._file.fileno()), self._file.tell()
        same = (current.st_ino, current.st_dev) == (mine.st_ino, mine.st_dev)
        return same and current.st_size == read

    def follow_rotation(self) -> bool:
        """At the end of the file: whether there is another to read now."""
        if self._file is None:
            return False
        try:
            current = self._path.stat()
        except FileNotFoundError:
            return False
        mine = os.fstat(self._file.fileno())
        if (current.st_ino, current.st_dev) != (mine.st_ino, mine.st_dev):
            # Written between our last read and the rename: not to be lost.
            if self._file.tell() < mine.st_size:
                return True
            self._file.close()
            self._pending = b""
            return self._open(first=False)
        if current.st_size < self._file.tell():
            self._file.seek(0)
            self._pending = b""
            return True
        return False

    def _open(self, *, first: bool) -> bool:
        try:
            self._file = open_plain(self._path)
        except OSError:
            self._file = None
            return False
        if first and self._options.tail_lines is not None:
            self._file.seek(tail_offset(self._file, self._options.tail_lines))
        return True

    def _render(self, line: bytes) -> bytes:
        parts = line.split(b" ", 3)
        if len(parts) < 3 or parts[1] not in (b"stdout", b"stderr"):
            return b""
        stamp, stream, tags = parts[:3]
        text = parts[3] if len(parts) > 3 else b""
        if self._options.since is not None and not self._is_recent(stamp):
            return b""
        goes_on = tags.split(b":")[0] == b"P"
        prefix = b""
        if self._options.timestamps and not self._started.get(stream):
            # Runtimes write the offset of UTC; upstream's kubelet passes on its short name.
            prefix = stamp.removesuffix(b"+00:00") + (b"Z " if stamp.endswith(b"+00:00") else b" ")
        self._started[stream] = goes_on
        return prefix + text + (b"" if goes_on else b"\n")

    def _is_recent(self, stamp: bytes) -> bool:
        try:
            return parse_rfc3339(stamp.decode()) >= (self._options.since or 0.0)
        except ValueError:
            return False


def open_plain(path: Path) -> BinaryIO:
    """Open a regular file; a link would have the kubelet read, as root, what it leads to."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileNotFoundError(path)
    return os.fdopen(descriptor, "rb", buffering=0)


def tail_offset(file: BinaryIO, count: int) -> int:
    """Where the last ``count`` whole lines begin, found by reading backwards in blocks."""
    position = file.seek(0, os.SEEK_END)
    if count <= 0:
        return position
    seen, chunk = 0, b""
    while position > 0:
        size = min(BLOCK, position)
        position -= size
        file.seek(position)
        chunk = file.read(size) + chunk
        # From newline to newline towards the front; each one closes the line before it.
        stop = chunk.rfind(b"\n")
        while stop >= 0:
            start = chunk.rfind(b"\n", 0, stop) + 1
            if start == 0 and position > 0:
                break  # this line begins in an earlier block
            if _ends_line(chunk[start:stop]):
                seen += 1
                if seen > count:
                    return position + stop + 1
            stop = start - 1
        chunk = chunk[: stop + 1]
    return 0


def _ends_line(line: bytes) -> bool:
    parts = line.split(b" ", 3)
    return len(parts) >= 3 and parts[2].split(b":")[0] == b"F"
