"""Where winkube keeps things on a machine.

Everything a cluster owns lives below two folders, one that survives a reboot (state) and one that
does not (run), so that taking a cluster down is removing both. The cache is shared by all clusters.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from winkube.base.errors import WinkubeError

# Kept short: it is part of network namespace names and of Unix socket paths (108 bytes at most).
_CLUSTER_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?")


class InvalidNameError(WinkubeError):
    def __init__(self, kind: str, name: str) -> None:
        super().__init__(
            f"{kind} name {name!r} is not valid: use at most 32 lower-case letters, digits and "
            "'-', starting and ending with a letter or digit"
        )


@dataclass(frozen=True, slots=True)
class Home:
    """The roots on this machine; WINKUBE_HOME and WINKUBE_RUN move them (read by the CLI only)."""

    state: Path = Path("/var/lib/winkube")
    run: Path = Path("/run/winkube")

    @classmethod
    def load(cls) -> "Home":
        default = cls()
        return cls(
            state=Path(os.environ.get("WINKUBE_HOME", default.state)),
            run=Path(os.environ.get("WINKUBE_RUN", default.run)),
        )

    @property
    def cache(self) -> Path:
        return self.state / "cache"

    @property
    def clusters(self) -> Path:
        return self.state / "clusters"

    def cluster(self, name: str) -> "ClusterPaths":
        if not _CLUSTER_NAME.fullmatch(name):
            raise InvalidNameError("cluster", name)
        return ClusterPaths(name=name, state=self.clusters / name, run=self.run / name)


@dataclass(frozen=True, slots=True)
class ClusterPaths:
    name: str
    state: Path
    run: Path

    @property
    def pki(self) -> Path:
        return self.state / "pki"

    @property
    def store(self) -> Path:
        return self.state / "store"

    @property
    def logs(self) -> Path:
        return self.state / "logs"

    @property
    def volumes(self) -> Path:
        """Persistent volumes of the Linux nodes; those of Windows nodes lie on their drives."""
        return self.state / "volumes"

    def node(self, node: str) -> "NodePaths":
        if not _CLUSTER_NAME.fullmatch(node):
            raise InvalidNameError("node", node)
        return NodePaths(state=self.state / "nodes" / node, run=self.run / node)


@dataclass(frozen=True, slots=True)
class NodePaths:
    """One emulated host's files; ``c_drive`` is what the host itself calls C: on a Windows node."""

    state: Path
    run: Path

    @property
    def cri_socket(self) -> Path:
        return self.run / "cri.sock"

    @property
    def hns_socket(self) -> Path:
        return self.run / "hns.sock"

    @property
    def kubelet(self) -> Path:
        return self.state / "kubelet"

    @property
    def runtime(self) -> Path:
        return self.state / "runtime"

    @property
    def runtime_run(self) -> Path:
        return self.run / "runtime"

    @property
    def pod_logs(self) -> Path:
        return self.state / "log" / "pods"

    @property
    def cni_conf(self) -> Path:
        return self.state / "cni" / "net.d"

    @property
    def cni_bin(self) -> Path:
        return self.state / "cni" / "bin"

    @property
    def cni_data(self) -> Path:
        return self.state / "cni" / "data"

    @property
    def c_drive(self) -> Path:
        return self.state / "c"
