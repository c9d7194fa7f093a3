"""What packet rules call the addresses of a family."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Family:
    word: str
    address_type: str
    protocol: str
    icmp: str
    loopback: str


IPV4: Final = Family("ip", "ipv4_addr", "ip protocol", "icmp", "127.0.0.0/8")
IPV6: Final = Family("ip6", "ipv6_addr", "ip6 nexthdr", "ipv6-icmp", "::1")


def family_of(address: str) -> Family:
    return IPV6 if ":" in address else IPV4
