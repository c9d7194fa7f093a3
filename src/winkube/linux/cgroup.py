"""Control groups, version 1 and 2, addressed by one path such as ``/winkube/demo/win-1/pods``.

On version 2 the path is one folder; on version 1 (also beside an empty version 2 hierarchy) it is a
folder in each mounted controller hierarchy. Callers never see the difference.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from winkube.base.errors import WinkubeError

_WANTED: Final = ("cpu", "cpuset", "io", "memory", "pids")
_V1_CONTROLLERS: Final = frozenset(
    {"blkio", "cpu", "cpuacct", "cpuset", "devices", "freezer", "hugetlb", "memory", "misc"}
    | {"net_cls", "net_prio", "perf_event", "pids", "rdma", "systemd"}
)
_TICK: Final = 0.005


class CgroupBusyError(WinkubeError):
    def __init__(self, path: str) -> None:
        super().__init__(f"control group {path} still has processes that do not die")


@dataclass(frozen=True, slots=True)
class Hierarchies:
    """Where this machine has its control groups mounted: by controller on v1, one root on v2."""

    v2: Path | None
    v1: Mapping[str, Path]

    @property
    def roots(self) -> tuple[Path, ...]:
        if self.v2 is not None:
            return (self.v2,)
        return tuple(dict.fromkeys(self.v1.values()))

    def folder(self, path: str, controller: str) -> Path | None:
        root = self.v2 if self.v2 is not None else self.v1.get(controller)
        return None if root is None else root / path.lstrip("/")


def parse_hierarchies(mounts: str) -> Hierarchies:
    """Read /proc/mounts; version 1 wins where any controller is mounted as version 1."""
    v1: dict[str, Path] = {}
    v2: Path | None = None
    for line in mounts.splitlines():
        _, point, fstype, options, *_ = line.split()
        if fstype == "cgroup2":
            v2 = Path(point)
        elif fstype == "cgroup":
            names = (name.removeprefix("name=") for name in options.split(","))
            v1.update({name: Path(point) for name in names if name in _V1_CONTROLLERS})
    if v1 and v2:
        # A hybrid machine: the version 2 tree has no controllers, but runtimes make groups in it.
        v1["unified"] = v2
    return Hierarchies(v2=None if v1 else v2, v1=v1)


@cache
def hierarchies() -> Hierarchies:
    return parse_hierarchies(Path("/proc/mounts").read_text())


def _folders(path: str) -> list[Path]:
    return [root / path.lstrip("/") for root in hierarchies().roots]


def ensure(path: str) -> None:
    """Create the group in every hierarchy, ready for limits in children."""
    for root in hierarchies().roots:
        folder = root
        for part in path.strip("/").split("/"):
            _delegate(folder)
            folder = folder / part
            folder.mkdir(exist_ok=True)
            _copy_cpuset(folder)


def _delegate(folder: Path) -> None:
    """Version 2: let children of this folder have controllers."""
    control = folder / "cgroup.subtree_control"
    if not control.exists():
        return
    offered = (folder / "cgroup.controllers").read_text().split()
    for name in _WANTED:
        if name in offered and name not in control.read_text().split():
            # A group with processes of its own cannot delegate; limits then do not apply below it.
            with contextlib.suppress(OSError):
                control.write_text(f"+{name}")


def _copy_cpuset(folder: Path) -> None:
    """Version 1: a new cpuset has no CPUs, and a process cannot enter it, until they are copied."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        knob = folder / name
        if (folder / "tasks").exists() and knob.exists() and not knob.read_text().strip():
            knob.write_text((folder.parent / name).read_text())


def add(path: str, pid: int) -> None:
    """Move a process into the group (0: the caller)."""
    for folder in _folders(path):
        (folder / "cgroup.procs").write_text(str(pid))


@contextlib.contextmanager
def inside(path: str) -> Iterator[None]:
    """Run the block, and every process it starts, in the group; then go back where we were."""
    before = parse_places(Path("/proc/self/cgroup").read_text(), hierarchies())
    ensure(path)
    add(path, os.getpid())
    try:
        yield
    finally:
        for folder in before:
            with contextlib.suppress(OSError):  # taken away meanwhile: we stay where we are
                (folder / "cgroup.procs").write_text(str(os.getpid()))


def parse_places(text: str, mounted: Hierarchies) -> list[Path]:
    """Read /proc/<pid>/cgroup: the folder of the process in each hierarchy."""
    found = []
    for line in text.splitlines():
        _, controllers, place = line.split(":", 2)
        name = controllers.partition(",")[0].removeprefix("name=")
        root = mounted.v1.get(name) if name else mounted.v2 or mounted.v1.get("unified")
        if root is not None:
            found.append(root / place.lstrip("/"))
    return found


def _tree(folder: Path) -> Iterator[Path]:
    """The folder and all below it, children first."""
    with contextlib.suppress(FileNotFoundError):
        for child in os.scandir(folder):
            if child.is_dir(follow_symlinks=False):
                yield from _tree(Path(child.path))
        yield folder


def pids(path: str, *, recursive: bool = True) -> list[int]:
    """Processes in the group and, unless told otherwise, in the groups below it."""
    found: set[int] = set()
    for root in _folders(path):
        for folder in _tree(root) if recursive else (root,):
            with contextlib.suppress(OSError):
                found.update(map(int, (folder / "cgroup.procs").read_text().split()))
    return sorted(found)


def kill_all(path: str, *, timeout: float = 10.0) -> None:
    """Kill every process in the group and below, and wait until they are gone."""
    deadline = time.monotonic() + timeout
    while True:
        for folder in _folders(path):
            with contextlib.suppress(OSError):
                (folder / "cgroup.kill").write_text("1")
        left = pids(path)
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            raise CgroupBusyError(path)
        time.sleep(_TICK)


def remove(path: str, *, timeout: float = 5.0) -> None:
    """Remove the group and all below it; absent is fine, processes inside are an error."""
    deadline = time.monotonic() + timeout
    for root in _folders(path):
        for folder in list(_tree(root)):
            while not _rmdir(folder):
                # The kernel lets go of a dead process's group a moment after the process is gone.
                if time.monotonic() > deadline:
                    raise CgroupBusyError(path)
                time.sleep(_TICK)


def _rmdir(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def exists(path: str) -> bool:
    return any(folder.is_dir() for folder in _folders(path))


def _read_table(folder: Path | None, name: str) -> dict[str, int]:
    if folder is None:
        return {}
    with contextlib.suppress(OSError):
        rows = (line.split() for line in (folder / name).read_text().splitlines())
        return {row[0]: int(row[1]) for row in rows if len(row) == 2}
    return {}


def _read_number(folder: Path | None, name: str) -> int:
    if folder is None:
        return 0
    with contextlib.suppress(OSError, ValueError):
        return int((folder / name).read_text())
    return 0


def cpu_usage_ns(path: str) -> int:
    """CPU time used by the group and below, in nanoseconds; 0 when it is gone."""
    if hierarchies().v2 is not None:
        return (
            _read_table(hierarchies().folder(path, "cpu"), "cpu.stat").get("usage_usec", 0) * 1000
        )
    return _read_number(hierarchies().folder(path, "cpuacct"), "cpuacct.usage")


def memory_usage(path: str) -> int:
    """Bytes charged to the group and below, page cache included."""
    name = "memory.current" if hierarchies().v2 is not None else "memory.usage_in_bytes"
    return _read_number(hierarchies().folder(path, "memory"), name)


def memory_working_set(path: str) -> int:
    """Bytes in use less inactive file pages, as cAdvisor counts."""
    table = _read_table(hierarchies().folder(path, "memory"), "memory.stat")
    inactive = table.get("total_inactive_file", table.get("inactive_file", 0))
    return max(0, memory_usage(path) - inactive)


def oom_kills(path: str) -> int:
    """How many processes of the group the kernel ended because its memory did not suffice."""
    name = "memory.events" if hierarchies().v2 is not None else "memory.oom_control"
    return _read_table(hierarchies().folder(path, "memory"), name).get("oom_kill", 0)
