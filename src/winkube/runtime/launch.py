"""The launcher's two files: orders (what to run) and report (what became of it)."""

import contextlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from winkube.machines.wine.recipe import CONTAINER_UID, WINE_BINARY

IO_FOLDER: Final = "/run/winkube"  # inside the container
LAUNCHER: Final = "/opt/winkube/launch.exe"
# A Windows console edits lines itself, but Wine says so to the terminal only when a program first
# reads: what is typed at the first prompt would be echoed twice, its Enter turned to a line feed.
_RAW: Final = (
    '/usr/bin/stty -echo -echonl -icanon -iexten -brkint -icrnl -ixon min 1 time 0; exec "$@"'
)
_REPORT_LIMIT: Final = 65536
_MAX_DIGITS: Final = 10  # of a 32-bit exit code
# Windows' own sentences for the errors a start can end with; Wine words some of them differently.
_WORDS: Final = {
    "2": "The system cannot find the file specified.",
    "3": "The system cannot find the path specified.",
    "5": "Access is denied.",
    "8": "Not enough memory resources are available to process this command.",
    "14": "Not enough storage is available to complete this operation.",
    "87": "The parameter is incorrect.",
    "123": "The filename, directory name, or volume label syntax is incorrect.",
    "193": "%1 is not a valid Win32 application.",
    "206": "The filename or extension is too long.",
    "216": "This version of %1 is not compatible with the version of Windows you're running.",
    "267": "The directory name is invalid.",
    "1455": "The paging file is too small for this operation to complete.",
}


@dataclass(frozen=True, slots=True)
class Orders:
    command: str
    cwd: str
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bool = False
    tty: bool = False
    tied: bool = False  # the program ends when its launcher is killed


@dataclass(frozen=True, slots=True)
class Report:
    """What the launcher has said so far; a program the container runs may have written nonsense."""

    started: bool = False
    failure: str | None = None
    exit_code: int | None = None


def to_orders(orders: Orders, report: str) -> bytes:
    entries = [f"command={orders.command}", f"cwd={orders.cwd}", f"report={report}"]
    entries += ["stdin=1"] if orders.stdin else []
    entries += ["tty=1"] if orders.tty else []
    entries += ["tied=1"] if orders.tied else []
    entries += [f"env={name}={value}" for name, value in orders.env.items()]
    return b"".join(entry.replace("\0", "").encode() + b"\0" for entry in entries)


def parse_report(data: bytes) -> Report:
    started, failure, exit_code = False, None, None
    for line in data.decode(errors="replace").splitlines():
        word, _, rest = line.partition(" ")
        if word == "started":
            started = True
        elif word == "failed":
            code, _, words = rest.partition(" ")
            failure = _WORDS.get(code) or words or "The system cannot start the program."
        elif word == "exited" and rest.isdecimal() and len(rest) <= _MAX_DIGITS:
            exit_code = int(rest) & 0xFFFFFFFF
    return Report(started, failure, exit_code)


def write_orders(folder: Path, name: str, orders: Orders) -> list[str]:
    """Leave the orders where the container sees them; the process arguments that follow them."""
    path = folder / f"{name}.orders"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o400)
    with os.fdopen(fd, "wb") as file:
        os.fchown(fd, CONTAINER_UID, CONTAINER_UID)
        file.write(to_orders(orders, f"{IO_FOLDER}/{name}.report"))
    args = [WINE_BINARY, LAUNCHER, f"{IO_FOLDER}/{name}.orders"]
    return ["/bin/sh", "-c", _RAW, "sh", *args] if orders.tty else args


def read_report(folder: Path, name: str) -> Report:
    return parse_report(read_untrusted(folder / f"{name}.report", _REPORT_LIMIT))


def read_untrusted(path: Path, limit: int) -> bytes:
    """The beginning of a file in the container's own folder; empty when it is no plain file.

    The container may have put anything there: a link to a device without end, a pipe that never
    answers, a folder. None of them is followed, waited for or an error.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return b""
        with open(fd, "rb", closefd=False) as file:
            return file.read(limit)
    except OSError:
        return b""
    finally:
        os.close(fd)


def forget(folder: Path, name: str) -> None:
    for suffix in ("orders", "report"):
        # A folder the container made under this name stays until the container goes.
        with contextlib.suppress(OSError):
            (folder / f"{name}.{suffix}").unlink(missing_ok=True)
