"""Pod and service subnets: of IPv4 alone, or one of each address family.

Two are written as upstream's flags write them, with a comma between them; the first is the family
a Service gets that does not ask for one, and that is IPv4: Windows has no network without it.
"""

import ipaddress
from typing import Any, Final

from winkube.cluster.errors import SpecError

IPV4, DUAL = "ipv4", "dual"
IP_FAMILIES: Final = (IPV4, DUAL)
PODS: Final = {IPV4: "10.244.0.0/16", DUAL: "10.244.0.0/16,fd00:10:244::/56"}
SERVICES: Final = {IPV4: "10.96.0.0/12", DUAL: "10.96.0.0/12,fd00:10:96::/112"}
# The longest prefixes: room for sixteen nodes, and for 254 Services.
LONGEST_PODS: Final = (20, 60)
LONGEST_SERVICES: Final = (24, 120)


def split(subnets: str) -> tuple[str, ...]:
    return tuple(subnets.split(","))


def parse_ip_family(path: str, value: Any) -> str:
    if value not in IP_FAMILIES:
        raise SpecError(path, f"must be one of {', '.join(IP_FAMILIES)}, not {value!r}")
    return str(value)


def parse_subnets(path: str, value: Any, ip_family: str, longest: tuple[int, int]) -> str:
    """The subnets in their plain form; what is wrong with them names the field."""
    if not isinstance(value, str) or not value:
        raise SpecError(path, f"must be a text, not {value!r}")
    texts = split(value)
    if len(texts) != (2 if ip_family == DUAL else 1):
        wanted = "an IPv4 and an IPv6 subnet, as in " + PODS[DUAL]
        raise SpecError(path, f"must be {wanted if ip_family == DUAL else 'one IPv4 subnet'}")
    found: list[str] = []
    for text, version, most in zip(texts, (4, 6), longest, strict=False):
        found.append(_parse_subnet(path, text, version, most))
    return ",".join(found)


def _parse_subnet(path: str, text: str, version: int, longest: int) -> str:
    kind = ipaddress.IPv4Network if version == 4 else ipaddress.IPv6Network
    try:
        network = kind(text.strip())
    except ValueError as error:
        raise SpecError(path, f"not an IPv{version} subnet: {error}") from error
    if network.prefixlen > longest:
        raise SpecError(path, f"a /{network.prefixlen} is too small, /{longest} is the least")
    return str(network)


def check_apart(pods: str, services: str) -> None:
    for one, other in zip(split(pods), split(services), strict=True):
        first, second = ipaddress.ip_network(one), ipaddress.ip_network(other)
        if first.version == second.version and first.overlaps(second):
            raise SpecError(
                "networking.podSubnet", f"{one} overlaps networking.serviceSubnet {other}"
            )
