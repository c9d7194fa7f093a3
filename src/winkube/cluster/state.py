"""What a running cluster is: the spec plus what was assigned to it, kept in ``cluster.json``.

The file is written before anything else is made, so that ``down`` always knows what to remove.
"""

import fcntl
import ipaddress
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

from winkube.base.paths import ClusterPaths, Home
from winkube.cluster.errors import BusyError, NoSuchClusterError
from winkube.cluster.simulation import NO_SIMULATION, Simulation
from winkube.cluster.spec import ClusterSpec, NodeSpec
from winkube.machines import underlay

CONTROL_PLANE = "cp"
_FIRST_NODE = 11


@dataclass(frozen=True, slots=True)
class ClusterState:
    spec: ClusterSpec
    underlay: str
    api_port: int
    home: Home
    simulation: Simulation = NO_SIMULATION

    @property
    def paths(self) -> ClusterPaths:
        return self.home.cluster(self.spec.name)

    @property
    def control_plane_ip(self) -> str:
        return str(ipaddress.ip_network(self.underlay)[2])

    def node_ip(self, name: str) -> str:
        index = [node.name for node in self.spec.nodes].index(name)
        return str(ipaddress.ip_network(self.underlay)[_FIRST_NODE + index])

    def second_ip(self, name: str) -> str:
        """The node's address of the other family, where the cluster has one."""
        return underlay.second_address(self.node_ip(name)) if self.spec.is_dual else ""

    def node_ips(self, name: str) -> tuple[str, ...]:
        return tuple(filter(None, (self.node_ip(name), self.second_ip(name))))

    def nodes(self, system: str) -> tuple[NodeSpec, ...]:
        return tuple(node for node in self.spec.nodes if node.os == system)

    def save(self) -> None:
        document = {
            "spec": asdict(self.spec),
            "underlay": self.underlay,
            "apiPort": self.api_port,
            "simulation": asdict(self.simulation),
        }
        write_private(self.paths.state / "cluster.json", json.dumps(document, indent=1).encode())


def load_state(home: Home, name: str) -> ClusterState:
    try:
        document = json.loads((home.cluster(name).state / "cluster.json").read_bytes())
    except (FileNotFoundError, json.JSONDecodeError):
        raise NoSuchClusterError(name) from None
    spec = dict(document["spec"])
    spec["nodes"] = tuple(NodeSpec(**node) for node in spec["nodes"])
    return ClusterState(
        ClusterSpec(**spec),
        document["underlay"],
        document["apiPort"],
        home,
        Simulation(**document.get("simulation", {})),
    )


def list_clusters(home: Home) -> list[str]:
    if not home.clusters.is_dir():
        return []
    return sorted(p.name for p in home.clusters.iterdir() if (p / "cluster.json").is_file())


def write_private(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Replace a file in one step; only its owner may read it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        if durable:
            os.fsync(file.fileno())
    temporary.replace(path)


@contextmanager
def exclusive(home: Home, name: str, action: str) -> Iterator[None]:
    """Hold the right to change this cluster; the kernel gives it back if we die."""
    home.cluster(name)  # refuses a name that could leave the folder
    home.clusters.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (home.clusters / f"{name}.lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(name, *_holder(file)) from None
        file.truncate(0)
        file.write(f"{os.getpid()} {action}")
        file.flush()
        yield


def _holder(file: TextIO) -> tuple[int, str]:
    file.seek(0)
    pid, _, action = file.read().partition(" ")
    return (int(pid), action) if pid.isdigit() else (0, "unknown")
