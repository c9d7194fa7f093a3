"""Which addresses a range set offers, in which order: pure arithmetic, no disk."""

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from winkube.wire import cni
from winkube.wire.cni import CniError, Json

Address = IPv4Address | IPv6Address
Subnet = IPv4Network | IPv6Network
_LONGEST = {4: 30, 6: 126}


class Range:
    """A run of addresses in a subnet; the gateway in it is never handed out."""

    def __init__(self, subnet: Subnet, first: Address, last: Address, gateway: Address) -> None:
        self.subnet, self.first, self.last, self.gateway = subnet, first, last, gateway

    def holds(self, address: Address) -> bool:
        return address.version == self.first.version and (
            int(self.first) <= int(address) <= int(self.last)
        )

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"


def _address(row: Json, key: str, fallback: Address, subnet: Subnet) -> Address:
    if not row.get(key):
        return fallback
    try:
        address = ip_address(str(row[key]))
    except ValueError:
        raise CniError(cni.INVALID_CONFIG, f"invalid {key}: {row[key]}") from None
    if address not in subnet:
        raise CniError(cni.INVALID_CONFIG, f"{key} {address} not in network {subnet}")
    return address


def parse_range(document: object) -> Range:
    row = cni.fold(document, ("subnet", "rangeStart", "rangeEnd", "gateway"))
    text = str(row.get("subnet", ""))
    try:
        subnet = ip_network(text)
    except ValueError as error:
        raise CniError(cni.INVALID_CONFIG, f"invalid subnet {text!r}", str(error)) from None
    if subnet.prefixlen > _LONGEST[subnet.version]:
        message = f"Network {subnet} too small to allocate from"
        raise CniError(cni.INVALID_CONFIG, message)
    # IPv4 keeps its last address for broadcast; IPv6 does not.
    last = subnet[-2] if subnet.version == 4 else subnet[-1]
    return Range(
        subnet,
        _address(row, "rangeStart", subnet[1], subnet),
        _address(row, "rangeEnd", last, subnet),
        _address(row, "gateway", subnet[1], subnet),
    )


def parse_range_sets(conf: Json) -> list[list[Range]]:
    """All sets: the runtime's, then the short form, then ``ranges``; each yields one address."""
    ipam = cni.fold(conf.get("ipam") or {}, ("subnet", "ranges", "rangeStart", "rangeEnd"))
    runtime = cni.fold(conf.get("runtimeConfig") or {}, ("ipRanges", "ips"))
    sets = [*(runtime.get("ipRanges") or [])]
    if ipam.get("subnet"):
        sets.append([ipam])
    sets += ipam.get("ranges") or []
    if not sets:
        raise CniError(cni.INVALID_CONFIG, "no IP ranges specified")
    return [[parse_range(row) for row in rows] for rows in sets]


def candidates(
    ranges: Sequence[Range], last_reserved: Address | None
) -> Iterator[tuple[Address, Range]]:
    """Every address once, from the one after the last reserved, round to it again."""
    flat = list(ranges)
    start = next((i for i, row in enumerate(flat) if last_reserved and row.holds(last_reserved)), 0)
    if last_reserved is None or not flat[start].holds(last_reserved):
        spans = [(row, int(row.first), int(row.last)) for row in flat]
    else:
        head, cursor = flat[start], int(last_reserved)
        rest = flat[start + 1 :] + flat[:start]
        spans = [(head, cursor + 1, int(head.last))]
        spans += [(row, int(row.first), int(row.last)) for row in rest]
        spans += [(head, int(head.first), cursor)]
    for row, first, last in spans:
        kind = type(row.first)
        for number in range(first, last + 1):
            address = kind(number)
            if address != row.gateway:
                yield address, row
