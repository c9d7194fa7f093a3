"""Settings of the two kube-proxies."""

from dataclasses import dataclass
from ipaddress import IPv4Address

from winkube.facts.version import SERVED
from winkube.proxy.family import Family, by_family


@dataclass(frozen=True, slots=True)
class ProxyConfig:
    node_name: str
    node_ip: str
    # Of one family, or of both with a comma between them.
    cluster_cidr: str
    network_name: str = "cbr0"
    kube_version: str = SERVED
    min_sync_seconds: float = 0.05
    # How often an idle proxy looks whether its work is still there.
    check_seconds: float = 10.0
    # Address of the /healthz server; an empty host leaves it out.
    health_host: str = "127.0.0.1"
    health_port: int = 10256

    def __post_init__(self) -> None:
        IPv4Address(self.node_ip)
        by_family(self.cluster_cidr)

    @property
    def pod_ranges(self) -> dict[Family, str]:
        return by_family(self.cluster_cidr)
