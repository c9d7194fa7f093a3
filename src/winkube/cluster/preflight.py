"""What a machine needs before a cluster can start; what is missing comes with its remedy."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from winkube.cluster.errors import PreflightError
from winkube.cluster.spec import ClusterSpec

# program -> Debian package
_EVERYWHERE: Final = {"ip": "iproute2", "nft": "nftables", "runc": "runc"}
# iptables: the port mapping plugin calls it for host ports.
_LINUX: Final = {"containerd": "containerd", "ctr": "containerd", "iptables": "iptables"}
_WINDOWS: Final = {
    "conmon": "conmon",
    "mmdebstrap": "mmdebstrap",
    "x86_64-w64-mingw32-gcc": "gcc-mingw-w64-x86-64",
}
_BUSYBOX: Final = Path("/bin/busybox")
_CNI: Final = (Path("/usr/lib/cni/bridge"), Path("/opt/cni/bin/bridge"))
_FILESYSTEMS: Final = Path("/proc/filesystems")
_IPV6: Final = Path("/proc/sys/net/ipv6")


@dataclass(frozen=True, slots=True)
class Machine:
    """What was found; a value, so that the judgement can be tested anywhere."""

    root: bool
    programs: frozenset[str]
    cni: bool
    busybox: bool
    overlayfs: bool
    ipv6: bool


def look() -> Machine:
    wanted = {**_EVERYWHERE, **_LINUX, **_WINDOWS}
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
    return Machine(
        root=os.geteuid() == 0,
        programs=frozenset(name for name in wanted if shutil.which(name, path=path)),
        cni=any(plugin.exists() for plugin in _CNI),
        busybox=_BUSYBOX.exists(),
        overlayfs="overlay" in _FILESYSTEMS.read_text()
        or bool(shutil.which("modprobe", path=path)),
        ipv6=_IPV6.is_dir(),
    )


def plan_problems(machine: Machine, spec: ClusterSpec) -> list[str]:
    """Everything that is missing for this cluster, as sentences."""
    systems = {node.os for node in spec.nodes}
    wanted = dict(_EVERYWHERE)
    wanted.update(_LINUX if "linux" in systems else {})
    wanted.update(_WINDOWS if "windows" in systems else {})
    packages = {package for name, package in wanted.items() if name not in machine.programs}
    if "linux" in systems and not machine.cni:
        packages.add("containernetworking-plugins")
    if "linux" in systems and not machine.busybox:
        packages.add("busybox-static")
    problems = []
    if not machine.root:
        problems.append("it takes root (namespaces, mounts, control groups): run it with sudo")
    if packages:
        names = " ".join(sorted(packages))
        problems.append(f"programs are missing: apt-get install --no-install-recommends {names}")
    if not machine.overlayfs:
        problems.append("the kernel has no overlayfs: use a kernel with CONFIG_OVERLAY_FS")
    if spec.is_dual and not machine.ipv6:
        problems.append(
            "the kernel has no IPv6: start it without ipv6.disable=1, or use --ip-family ipv4"
        )
    return problems


def check(spec: ClusterSpec) -> None:
    problems = plan_problems(look(), spec)
    if problems:
        raise PreflightError(problems)
