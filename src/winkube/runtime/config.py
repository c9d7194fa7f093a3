"""What the Windows runtime of one node is told at start; nothing here changes while it runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from winkube.machines.personality import Personality


@dataclass(frozen=True, slots=True)
class RegistryAuth:
    username: str = ""
    password: str = ""


@dataclass(frozen=True, slots=True)
class RegistryConfig:
    """How to reach registries: mirrors by host name, and the hosts that speak plain HTTP."""

    mirrors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    insecure: frozenset[str] = frozenset()
    auths: Mapping[str, RegistryAuth] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RuntimeConfig:
    socket: Path
    root: Path  # survives a reboot: images, container records and writable layers
    run: Path  # does not: mounts, bundles, runc and conmon state
    cache: Path  # shared by all nodes: the Wine base, layers and blobs
    cni_conf_dir: Path
    cni_bin_dir: Path
    hns_socket: Path | None  # None: pods get a namespace with loopback only
    personality: Personality
    cgroup_parent: str
    node_name: str
    c_drive: Path  # what the emulated host calls C:
    registries: RegistryConfig = field(default_factory=RegistryConfig)

    @property
    def containers(self) -> Path:
        return self.root / "containers"

    @property
    def sandboxes(self) -> Path:
        return self.root / "sandboxes"

    @property
    def images(self) -> Path:
        return self.root / "images"

    @property
    def bundles(self) -> Path:
        return self.run / "c"

    @property
    def runc_root(self) -> Path:
        return self.run / "runc"

    @property
    def exits(self) -> Path:
        return self.run / "exits"

    @property
    def attach(self) -> Path:
        return self.run / "a"
