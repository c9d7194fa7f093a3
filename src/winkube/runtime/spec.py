"""The OCI runtime specification of a container, from plain values: what runc is told to make."""

import os
import resource
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from winkube.machines.wine.prefix import wine_environment
from winkube.machines.wine.recipe import CONTAINER_UID, DRIVE_C
from winkube.runtime import seccomp

_INIT: Final = ("/usr/bin/tini", "-s", "--")
_PERIOD: Final = 100_000
_PIDS: Final = 4096
_OPEN_FILES: Final = 65536
_MASKED: Final = (
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
)
_READ_ONLY: Final = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
# Without capabilities a program could bind no port below 1024 and send no echo request; Windows
# has neither limit.
_SYSCTLS: Final = {
    "net.ipv4.ip_unprivileged_port_start": "0",
    "net.ipv4.ping_group_range": "0 2147483647",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Windows resource limits; zero means none."""

    cpu_maximum: int = 0  # hundredths of a percent of all processors
    cpu_count: int = 0
    cpu_shares: int = 0  # weight, 1 to 10000
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Bind:
    source: str
    target: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    rootfs: Path
    args: Sequence[str]
    hostname: str
    netns: Path
    cgroup: str
    user: str
    binds: Sequence[Bind] = ()
    limits: Limits = field(default_factory=Limits)
    tty: bool = False


def plan_resources(limits: Limits, cpus: int) -> dict[str, Any]:
    """Limits as runc writes them; also what an update of a running container sends."""
    resources: dict[str, Any] = {"pids": {"limit": _PIDS}}
    cpu: dict[str, Any] = {}
    if limits.cpu_maximum:
        cpu["quota"] = max(1000, limits.cpu_maximum * cpus * _PERIOD // 10_000)
    elif limits.cpu_count:
        cpu["quota"] = limits.cpu_count * _PERIOD
    if "quota" in cpu:
        cpu["period"] = _PERIOD
    if limits.cpu_shares:
        # Windows' default weight of 5000 is the kernel's default of 1024 shares.
        cpu["shares"] = max(2, limits.cpu_shares * 1024 // 5000)
    if cpu:
        resources["cpu"] = cpu
    if limits.memory_bytes:
        resources["memory"] = {"limit": limits.memory_bytes}
    return resources


def to_process(args: Sequence[str], user: str, *, tty: bool = False) -> dict[str, Any]:
    """A process of a container; the same for the first one and for every exec."""
    env = wine_environment(user) | {"LC_ALL": "C.UTF-8"}
    nothing: list[str] = []
    kinds = ("bounding", "effective", "inheritable", "permitted", "ambient")
    return {
        "terminal": tty,
        "user": {"uid": CONTAINER_UID, "gid": CONTAINER_UID},
        "args": list(args),
        "env": [f"{name}={value}" for name, value in env.items()],
        "cwd": f"/{DRIVE_C}",
        "capabilities": dict.fromkeys(kinds, nothing),
        "rlimits": [
            {"type": "RLIMIT_NOFILE", "hard": _open_files(), "soft": _open_files()},
            {"type": "RLIMIT_CORE", "hard": 0, "soft": 0},
        ],
        "noNewPrivileges": True,
    }


def to_spec(spec: ContainerSpec) -> dict[str, Any]:
    process = to_process([*_INIT, *spec.args], spec.user, tty=spec.tty)
    return {
        "ociVersion": "1.0.2",
        "process": process | {"oomScoreAdj": 0},
        "root": {"path": str(spec.rootfs)},
        "hostname": spec.hostname,
        "mounts": [*_system_mounts(), *map(_to_mount, spec.binds)],
        "linux": {
            "cgroupsPath": spec.cgroup,
            "resources": plan_resources(spec.limits, os.cpu_count() or 1)
            | {"devices": [{"allow": False, "access": "rwm"}]},
            "namespaces": [
                *({"type": kind} for kind in ("pid", "ipc", "uts", "mount", "cgroup")),
                {"type": "network", "path": str(spec.netns)},
            ],
            "sysctl": dict(_SYSCTLS),
            "seccomp": seccomp.profile(),
            "maskedPaths": list(_MASKED),
            "readonlyPaths": list(_READ_ONLY),
        },
    }


def _open_files() -> int:
    """As many as Windows programs expect, within what we may hand on ourselves."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)


def _mount(target: str, kind: str, *options: str) -> dict[str, Any]:
    return {"destination": target, "type": kind, "source": kind, "options": list(options)}


def _system_mounts() -> list[dict[str, Any]]:
    closed = ("nosuid", "noexec", "nodev")
    return [
        _mount("/proc", "proc", *closed),
        _mount("/dev", "tmpfs", "nosuid", "strictatime", "mode=755", "size=65536k"),
        _mount("/dev/pts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666"),
        _mount("/dev/shm", "tmpfs", *closed, "mode=1777", "size=65536k"),
        _mount("/sys", "sysfs", *closed, "ro"),
        # Wine keeps its server's socket here: one server per container, out of the others' sight.
        _mount("/tmp", "tmpfs", "nosuid", "nodev", "mode=1777"),
    ]


def _to_mount(bind: Bind) -> dict[str, Any]:
    options = ["rbind", "rprivate", "nosuid", "nodev", "ro" if bind.read_only else "rw"]
    return {
        "destination": bind.target,
        "type": "bind",
        "source": bind.source,
        "options": options,
    }
