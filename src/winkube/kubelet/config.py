"""What a kubelet is told at start; everything else it learns from the API and the runtime."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from winkube.base.types import JsonObject
from winkube.facts.version import SERVED
from winkube.kubelet.errors import KubeletConfigError
from winkube.machines.personality import Personality

LINUX: Final = "linux"
WINDOWS: Final = "windows"


@dataclass(frozen=True, slots=True)
class KubeletConfig:
    node_name: str
    os: str
    node_ip: str
    cri_socket: Path
    root_dir: Path
    pod_logs_dir: Path
    cert_file: Path
    key_file: Path
    client_ca_file: Path
    personality: Personality | None = None
    cluster_dns: tuple[str, ...] = ()
    cluster_domain: str = "cluster.local"
    port: int = 10250
    c_drive: Path | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[JsonObject, ...] = ()
    max_pods: int = 110
    cpus: int | None = None
    memory_bytes: int | None = None
    kube_version: str = f"v{SERVED}.0"
    cgroup_parent: str = "/winkube/pods"
    resolv_conf: Path | None = Path("/etc/resolv.conf")
    # Of the other address family, on a cluster that has two.
    second_ip: str = ""

    def __post_init__(self) -> None:
        if self.os not in (LINUX, WINDOWS):
            raise KubeletConfigError(f"os {self.os!r} is not one of linux, windows")
        if self.os == WINDOWS and (self.personality is None or self.c_drive is None):
            raise KubeletConfigError("a Windows node needs a personality and a C: drive")

    @property
    def is_windows(self) -> bool:
        return self.os == WINDOWS

    @property
    def node_ips(self) -> tuple[str, ...]:
        return (self.node_ip, self.second_ip) if self.second_ip else (self.node_ip,)

    @property
    def node_cgroup(self) -> str:
        """All of this node's: its pods and its own processes."""
        return self.cgroup_parent.rpartition("/")[0]

    def pod_dir(self, uid: str) -> Path:
        return self.root_dir / "pods" / uid

    def log_dir(self, namespace: str, name: str, uid: str) -> Path:
        return self.pod_logs_dir / f"{namespace}_{name}_{uid}"
