"""IP addresses and networks as old fields of the API take them: leading zeros are decimal."""

import ipaddress
import re
from collections.abc import Iterator
from typing import Final

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_ZEROS: Final = re.compile(r"(?<![0-9a-fA-F:])0+(?=[0-9])|(?<=\.)0+(?=[0-9])|(?<=:)0+(?=[0-9]+\.)")


def parse_address(value: object) -> Address | None:
    """Also with leading zeros in its decimal parts; never with a zone."""
    if not isinstance(value, str) or "%" in value:
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


def parse_network(value: object) -> tuple[Address, Network] | None:
    """The address as written, and the network it is in."""
    if not isinstance(value, str) or "/" not in value:
        return None
    text, _, prefix = value.partition("/")
    address = parse_address(text)
    if address is None or not prefix.isascii() or not prefix.isdigit():
        return None
    if int(prefix) > address.max_prefixlen or (len(prefix) > 1 and prefix[0] == "0"):
        return None
    return address, ipaddress.ip_network(f"{address}/{prefix}", strict=False)


def _is_standard(value: str) -> bool:
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return False
    return getattr(address, "ipv4_mapped", None) is None


def _shown(address: Address) -> str:
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def address_warnings(value: str, path: str) -> Iterator[str]:
    """Of an address that was found valid."""
    address = parse_address(value)
    if address is None:
        return
    if not _is_standard(value):
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
    if not _is_standard(value.partition("/")[0]):
        yield (
            f'{path}: non-standard CIDR value "{value}" will be considered invalid in a future '
            f'Kubernetes release: use "{network}"'
        )
    elif exact and address.version == 6 and str(network) != value:
        yield (
            f'{path}: IPv6 CIDR value "{value}" should be in RFC 5952 canonical format '
            f'("{network}")'
        )
