"""Facts of the machine below the node: CPUs, memory, disk, ids."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class MachineFacts:
    cpus: int
    memory_bytes: int
    disk_bytes: int
    arch: str
    boot_id: str
    kernel: str
    os_image: str


def read_machine(folder: Path) -> MachineFacts:
    folder.mkdir(parents=True, exist_ok=True)
    disk = os.statvfs(folder)
    return MachineFacts(
        cpus=len(os.sched_getaffinity(0)),
        memory_bytes=read_meminfo()["MemTotal"],
        disk_bytes=disk.f_blocks * disk.f_frsize,
        arch=_ARCHITECTURES.get(platform.machine(), platform.machine()),
        boot_id=_read("/proc/sys/kernel/random/boot_id"),
        kernel=platform.release(),
        os_image=_os_image(),
    )


def read_meminfo() -> dict[str, int]:
    """/proc/meminfo in bytes."""
    rows = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    return {row[0].rstrip(":"): int(row[1]) * 1024 for row in rows if len(row) >= 2}


def free_disk(folder: Path) -> int:
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _os_image() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    except OSError:
        return "Linux"
