"""The two address families, and what nftables, iproute2 and EndpointSlices call them."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final

Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class Family:
    version: int
    # The word for the table, and of a rule that looks at an address.
    word: str
    address_type: str
    loopback: str
    # Destinations on the link itself, or of many.
    nearby: tuple[str, ...]
    # Of EndpointSlices and of a Service's ipFamilies.
    name: str

    def owns(self, text: object) -> bool:
        """Whether the text is an address of this family, and nothing beside it."""
        # A zone may hold any character, and the text becomes part of a command.
        if not isinstance(text, str) or "%" in text:
            return False
        try:
            return ip_address(text).version == self.version
        except ValueError:
            return False

    def first(self, candidates: Iterable[object]) -> str | None:
        return next((str(c) for c in candidates if self.owns(c)), None)

    def find_range(self, texts: Iterable[object], *, strict: bool = True) -> Network | None:
        return next(iter(self.ranges(texts, strict=strict)), None)

    def ranges(self, texts: Iterable[object], *, strict: bool = True) -> tuple[Network, ...]:
        """Those of this family; what is no range is left out."""
        found = []
        for text in texts:
            try:
                network = ip_network(str(text).strip(), strict=strict)
            except ValueError:
                continue
            if network.version == self.version and "%" not in str(text):
                found.append(network)
        return tuple(found)

    def to_place(self, ip: str, port: int) -> str:
        return f"{ip}:{port}" if self.version == 4 else f"[{ip}]:{port}"


IPV4: Final = Family(4, "ip", "ipv4_addr", "127.0.0.0/8", ("224.0.0.0/4",), "IPv4")
IPV6: Final = Family(6, "ip6", "ipv6_addr", "::1", ("fe80::/10", "ff00::/8"), "IPv6")
FAMILIES: Final = (IPV4, IPV6)
ONLY_IPV4: Final = (IPV4,)


def family_of(text: str) -> Family:
    """Of an address or a range that is known to be one."""
    return IPV6 if ":" in text else IPV4


def by_family(ranges: str) -> dict[Family, str]:
    """One range, or one for each family with a comma between them, as upstream's flags have it."""
    return {family_of(text): str(ip_network(text)) for text in ranges.split(",")}
