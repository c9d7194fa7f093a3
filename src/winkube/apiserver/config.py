"""What an API server is told: sockets, key material, address ranges. No defaults are read here."""

import socket
from dataclasses import dataclass
from pathlib import Path

from winkube.api.addresses import service_ranges
from winkube.facts.version import SERVED


@dataclass(frozen=True)
class ApiServerConfig:
    """``sockets`` are bound already, perhaps in other network namespaces; we accept on them."""

    sockets: tuple[socket.socket, ...]
    cert_file: Path
    key_file: Path
    client_ca_file: Path
    kubelet_client_cert: Path
    kubelet_client_key: Path
    kubelet_ca: Path
    store_path: Path | str
    service_account_key: Path
    advertise_address: str
    advertise_port: int = 6443
    service_account_issuer: str = "https://kubernetes.default.svc.cluster.local"
    # One network, or one of each family after a comma; services get the first one's by default.
    service_cidr: str = "10.96.0.0/12"
    node_port_range: tuple[int, int] = (30000, 32767)
    cluster_domain: str = "cluster.local"
    kubernetes_version: str = SERVED
    encryption_key: Path | None = None
    # Who we are to servers that extend the API, and the authority that says so to them.
    proxy_client_cert: Path | None = None
    proxy_client_key: Path | None = None
    requestheader_ca: Path | None = None

    def __post_init__(self) -> None:
        if not self.sockets:
            raise ValueError("an API server needs at least one socket")
        service_ranges(self.service_cidr)
        low, high = self.node_port_range
        if not 0 < low <= high <= 65535:
            raise ValueError(f"node port range {low}-{high} is not valid")
