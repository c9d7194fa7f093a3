"""Settings of the cluster DNS server."""

from dataclasses import dataclass
from ipaddress import IPv4Address


@dataclass(frozen=True, slots=True)
class DnsConfig:
    listen: tuple[tuple[str, int], ...]
    domain: str = "cluster.local"
    # Servers for every other name, as "address" or "address:port".
    upstreams: tuple[str, ...] = ()
    # The address clients use; the name server's own record. Empty: the first to listen on.
    service_ip: str = ""
    ttl: int = 5

    def __post_init__(self) -> None:
        for host, _ in self.listen:
            IPv4Address(host)
        for upstream in self.upstreams:
            parse_upstream(upstream)


def parse_upstream(text: str) -> tuple[str, int]:
    host, _, port = text.partition(":")
    return str(IPv4Address(host)), int(port or 53)
