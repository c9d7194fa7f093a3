"""What the controllers are told by whoever assembles the cluster."""

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from winkube.base.errors import WinkubeError


class ControllerConfigError(WinkubeError):
    pass


@dataclass(frozen=True, slots=True)
class ControllerConfig:
    """Times in seconds; the defaults are kube-controller-manager's."""

    # Of one address family, or of both with a comma between them.
    cluster_cidr: str = "10.244.0.0/16"
    node_cidr_mask: int = 24
    node_cidr_mask_ipv6: int = 64
    service_cidr: str = "10.96.0.0/12"
    root_ca: bytes = b""
    # The CA that signs approved certificate requests; without it nothing is signed.
    signing_cert: Path | None = None
    signing_key: Path | None = None
    # Signs the tokens kept in Secrets; without it such Secrets stay empty.
    service_account_key: Path | None = None
    identity: str = "winkube-controllers"
    leader_elect: bool = False
    # A node whose lease and status are older than this is Unknown.
    node_grace_period: float = 50.0
    # One that never said anything has this long to begin.
    node_startup_grace_period: float = 60.0
    node_monitor_period: float = 5.0
    # The garbage collector watches every kind; it may let a starting cluster go first.
    garbage_delay: float = 0.0
    # How long ended pods are kept: only their number matters.
    terminated_pod_threshold: int = 12500
    # Where LoadBalancer addresses come from; empty means the nodes' own addresses.
    load_balancer_pool: tuple[str, ...] = ()
    # Where the volumes of the local-path provisioner lie on Linux nodes and on Windows nodes.
    local_path_linux: str = "/var/lib/winkube/local-path"
    local_path_windows: str = "C:\\local-path"
    # How often an autoscaler looks, and how long it remembers before it makes anything smaller.
    autoscaler_period: float = 15.0
    autoscaler_stabilization: float = 300.0
    autoscaler_tolerance: float = 0.1
    # While a pod starts, its CPU figures count only once it is ready.
    autoscaler_cpu_initialization: float = 300.0
    autoscaler_initial_readiness_delay: float = 30.0
    workers: int = 5

    def __post_init__(self) -> None:
        for text, mask in self.pod_ranges:
            network = ipaddress.ip_network(text)
            if not network.prefixlen <= mask <= network.max_prefixlen:
                raise ControllerConfigError(
                    f"node_cidr_mask {mask} does not fit cluster_cidr {network}"
                )
        for text in self.service_cidr.split(","):
            ipaddress.ip_network(text)

    @property
    def pod_ranges(self) -> list[tuple[str, int]]:
        """Each range of the cluster with the length of a node's part of it."""
        return [
            (text, self.node_cidr_mask_ipv6 if ":" in text else self.node_cidr_mask)
            for text in self.cluster_cidr.split(",")
        ]
