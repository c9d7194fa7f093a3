"""Settings of the cluster DNS server."""

from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address

from winkube.dns.errors import ConfigError


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
        if not self.listen:
            raise ConfigError("dns has no address to listen on")
        for host, port in self.listen:
            parse_upstream(f"{host}:{port}")
        for upstream in self.upstreams:
            parse_upstream(upstream)


def parse_upstream(text: str) -> tuple[str, int]:
    host, _, port = text.partition(":")
    try:
        number = int(port) if port else 53
        if not 0 <= number < 65536:
            raise ConfigError(f"dns server {text!r} has a port out of range")
        return str(IPv4Address(host)), number
    except (AddressValueError, ValueError) as error:
        raise ConfigError(f"dns server {text!r} is not an IPv4 address with a port") from error
