"""Which addresses an endpoint gets: those it asks for, or the first free one of its network.

An endpoint has an IPv4 address and, on a host of two families, may have an IPv6 one after it; a
stand-in for an address elsewhere has one of either.
"""

from ipaddress import IPv4Address, IPv4Network, ip_address, ip_network

from winkube.base.types import JsonObject
from winkube.facts.hns import Feature
from winkube.hns.document import Address, Prefix, fold_keys, list_of, parse_address
from winkube.hns.errors import Code, HnsError
from winkube.hns.registry import Registry

Subnets = list[tuple[Prefix, JsonObject]]


def plan_configurations(
    registry: Registry, wanted: JsonObject, network: JsonObject, *, remote: bool
) -> list[JsonObject]:
    """The endpoint's ``IpConfigurations``."""
    subnets: Subnets = [
        (ip_network(row["IpAddressPrefix"]), row)
        for ipam in network["Ipams"]
        for row in ipam["Subnets"]
    ]
    given = list_of(wanted, "IpConfigurations", Code.INVALID_IP)
    if len(given) > (2 if registry.config.dual else 1):
        raise HnsError(Code.REQUEST_UNSUPPORTED)
    if not given and remote:
        raise HnsError(Code.INVALID_IP)
    found = [_given(registry, row, network, subnets, remote=remote) for row in given]
    if not found:
        found = [_next_address(registry, network, subnets)]
    versions = tuple(address.version for address, _ in found)
    if versions not in ((4,), (4, 6)) and not (remote and versions == (6,)):
        raise HnsError(Code.INVALID_IP)
    return [
        {
            "IpAddress": str(address),
            "PrefixLength": prefix.prefixlen if prefix else address.max_prefixlen,
        }
        for address, prefix in found
    ]


def subnet_routes(network: JsonObject, configurations: list[JsonObject]) -> list[JsonObject]:
    """What an endpoint gets that names no route: those of its subnets."""
    addresses = [ip_address(row["IpAddress"]) for row in configurations]
    return [
        dict(route)
        for ipam in network["Ipams"]
        for row in ipam["Subnets"]
        for route in row["Routes"]
        if any(address in ip_network(row["IpAddressPrefix"]) for address in addresses)
        if route["NextHop"]
    ]


def _given(
    registry: Registry, item: object, network: JsonObject, subnets: Subnets, *, remote: bool
) -> tuple[Address, Prefix | None]:
    row = fold_keys(item, ("IpAddress", "PrefixLength", "IpSubnetId"), Code.INVALID_IP)
    address = parse_address(row.get("IpAddress"), dual=registry.config.dual)
    if (network["ID"], str(address)) in registry.addresses:
        raise HnsError(Code.OBJECT_ALREADY_EXISTS)
    prefix = next((prefix for prefix, _ in subnets if address in prefix), None)
    if remote:
        return address, prefix
    if prefix is None:
        raise HnsError(Code.INVALID_IP if subnets else Code.SUBNET_NOT_FOUND)
    _refuse_reserved(registry, address, subnets)
    return address, prefix


def _refuse_reserved(registry: Registry, address: Address, subnets: Subnets) -> None:
    strict = registry.supports(Feature.RESERVED_ADDRESSES)
    if address in _gateways(subnets):
        raise HnsError(Code.ADDR_INVALID_OR_RESERVED if strict else Code.INVALID_IP)
    edges = {edge for prefix, _ in subnets for edge in (prefix[0], prefix[-1])}
    if strict and address in edges:
        raise HnsError(Code.ADDR_INVALID_OR_RESERVED)


def _next_address(
    registry: Registry, network: JsonObject, subnets: Subnets
) -> tuple[IPv4Address, IPv4Network]:
    reserved = _gateways(subnets)
    for prefix, _ in subnets:
        if not isinstance(prefix, IPv4Network):
            continue
        for address in prefix.hosts():
            taken = (network["ID"], str(address)) in registry.addresses
            if address not in reserved and not taken:
                return address, prefix
    raise HnsError(Code.SUBNET_NOT_FOUND if not subnets else Code.INVALID_IP)


def _gateways(subnets: Subnets) -> set[Address]:
    return {
        ip_address(route["NextHop"])
        for _, row in subnets
        for route in row["Routes"]
        if route["NextHop"]
    }
