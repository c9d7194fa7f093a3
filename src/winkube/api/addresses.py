"""IP addresses and networks as fields of the API take them.

Old fields read leading zeros as decimal and warn of them; new ones take the canonical form alone
(apimachinery: pkg/util/validation/ip.go).
"""

import ipaddress
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from winkube.api.go.number import NumberError, parse_uint

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_LONGEST: Final = 64  # of those that are remembered
WIDEST_V6: Final = 64  # of service ranges, as upstream has it
_NOT_AN_ADDRESS: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_NOT_A_NETWORK: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_ZEROS: Final = re.compile(r"(?<![0-9a-fA-F:])0+(?=[0-9])|(?<=\.)0+(?=[0-9])|(?<=:)0+(?=[0-9]+\.)")


def parse_address(value: object) -> Address | None:
    """Also with leading zeros in its decimal parts; never with a zone."""
    if not isinstance(value, str):
        return None
    return _remembered(value) if len(value) < _LONGEST else _parsed(value)


def _parsed(value: str) -> Address | None:
    if "%" in value:
        return None
    try:
        return ipaddress.ip_address(value)
    except ValueError:
        pass
    if "." not in value:
        return None
    try:
        return ipaddress.ip_address(_ZEROS.sub("", value))
    except ValueError:
        return None


_remembered: Final = lru_cache(maxsize=4096)(_parsed)


def parse_network(value: object) -> tuple[Address, Network] | None:
    """The address as written, and the network it is in."""
    if not isinstance(value, str) or "/" not in value:
        return None
    text, _, prefix = value.partition("/")
    address = parse_address(text)
    try:
        length = parse_uint(prefix)
    except NumberError:
        return None
    if address is None or length > address.max_prefixlen:
        return None
    return address, ipaddress.ip_network(f"{address}/{length}", strict=False)


def gives(network: Network, address: Address) -> bool:
    """Whether the range has this address to give: not its own, nor the one that reaches all."""
    if address.version != network.version or address not in network:
        return False
    whole = address.version == 4 and address == network.broadcast_address
    return address != network.network_address and not whole


def service_ranges(text: str) -> tuple[Network, ...]:
    """Where cluster addresses come from: one network, or one of each family after a comma."""
    networks = tuple(ipaddress.ip_network(part.strip()) for part in text.split(","))
    if len(networks) > 2 or len({network.version for network in networks}) < len(networks):
        raise ValueError(f"service range {text}: give one network, or one IPv4 and one IPv6")
    for network in networks:
        if network.version == 6 and network.prefixlen < WIDEST_V6:
            raise ValueError(f"service range {network}: an IPv6 one has a prefix of 64 or longer")
        if network.max_prefixlen - network.prefixlen < 2:
            raise ValueError(f"service range {network}: a prefix of two bits less is the least")
    return networks


def address_problems(value: object) -> list[str]:
    return [] if parse_address(value) is not None else [_NOT_AN_ADDRESS]


def network_problems(value: object) -> list[str]:
    return [] if parse_network(value) is not None else [_NOT_A_NETWORK]


def strict_address_problems(value: str) -> list[str]:
    """Of newer fields, which take an address in its one canonical form only."""
    address = parse_address(value)
    if address is None:
        return [_NOT_AN_ADDRESS]
    if _has_zeros(value):
        return ["must not have leading 0s"]
    if _is_mapped(address):
        return ["must not be an IPv4-mapped IPv6 address"]
    return [] if str(address) == value else [f'must be in canonical form ("{address}")']


def strict_network_problems(value: str) -> list[str]:
    parsed = parse_network(value)
    if parsed is None:
        return [_NOT_A_NETWORK]
    address, network = parsed
    if _has_zeros(value):
        return ["must not have leading 0s in IP or prefix length"]
    if _is_mapped(address):
        return ["must not have an IPv4-mapped IPv6 address"]
    if address != network.network_address:
        return ["must not have bits set beyond the prefix length"]
    return [] if str(network) == value else [f'must be in canonical form ("{network}")']


def _has_zeros(value: str) -> bool:
    """Whether an address or network that can be read has zeros that no one writes."""
    text, _, prefix = value.partition("/")
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return True
    return len(prefix) > 1 and prefix[0] == "0"


def _is_mapped(address: Address) -> bool:
    return getattr(address, "ipv4_mapped", None) is not None


def is_v4(value: str) -> bool:
    """As Go's net.IP sees it: also an IPv4 address that is written as an IPv6 one."""
    address = parse_address(value)
    return address is not None and (address.version == 4 or _is_mapped(address))


def _shown(address: Address) -> str:
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def regular(value: object) -> tuple[str, str] | None:
    """The family of an address in any form that old fields take, and its usual form."""
    return _regular(value) if isinstance(value, str) else None


@lru_cache(1 << 14)
def _regular(value: str) -> tuple[str, str] | None:
    """Remembered: every Service that selects a pod asks about its addresses, each time anew."""
    address = parse_address(value)
    if address is None:
        return None
    text = _shown(address)
    return "IPv6" if ":" in text else "IPv4", text


def address_warnings(value: str, path: str) -> Iterator[str]:
    """Of an address that was found valid."""
    address = parse_address(value)
    if address is None:
        return
    if _has_zeros(value) or _is_mapped(address):
        yield (
            f'{path}: non-standard IP address "{value}" will be considered invalid in a future '
            f'Kubernetes release: use "{_shown(address)}"'
        )
    elif address.version == 6 and str(address) != value:
        yield (
            f'{path}: IPv6 address "{value}" should be in RFC 5952 canonical format ("{address}")'
        )


def network_warnings(value: str, path: str) -> Iterator[str]:
    """Of a CIDR that was found valid."""
    parsed = parse_network(value)
    if parsed is None:
        return
    address, network = parsed
    exact = address == network.network_address
    if not exact:
        yield (
            f'{path}: CIDR value "{value}" is ambiguous in this context (should be "{network}" or '
            f'"{address}/{address.max_prefixlen}"?)'
        )
    if _has_zeros(value) or _is_mapped(address):
        yield (
            f'{path}: non-standard CIDR value "{value}" will be considered invalid in a future '
            f'Kubernetes release: use "{network}"'
        )
    elif exact and address.version == 6 and str(network) != value:
        yield (
            f'{path}: IPv6 CIDR value "{value}" should be in RFC 5952 canonical format '
            f'("{network}")'
        )
