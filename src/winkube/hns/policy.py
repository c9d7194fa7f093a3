"""Policies: which types exist at which scope and version, and what the endpoint ones ask for.

A policy that changes what packets do, and that no dataplane here carries out, is refused by name
(REQUEST_UNSUPPORTED): accepting it in silence would be worse than failing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.facts.hns import Feature, HnsVersion, supports
from winkube.hns.document import Prefix, fold_keys, list_of, number_of, parse_ip, parse_subnet
from winkube.hns.errors import Code, HnsError


class Effect(Enum):
    APPLIED = "applied"  # the dataplane carries it out
    CARRIED = "carried"  # kept and shown; nothing to do on this dataplane
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class PolicyType:
    effect: Effect
    feature: Feature | None = None


ENDPOINT: Final[dict[str, PolicyType]] = {
    "OutBoundNAT": PolicyType(Effect.APPLIED),
    "PortMapping": PolicyType(Effect.APPLIED),
    "SDNRoute": PolicyType(Effect.APPLIED),
    "ProviderAddress": PolicyType(Effect.CARRIED),
    "EncapOverhead": PolicyType(Effect.CARRIED),
    "PortName": PolicyType(Effect.CARRIED),
    "L2Driver": PolicyType(Effect.CARRIED),
    "InterfaceConstraint": PolicyType(Effect.CARRIED),
    "InterfaceParameters": PolicyType(Effect.APPLIED),
    "ACL": PolicyType(Effect.APPLIED),
    "QOS": PolicyType(Effect.APPLIED),
    "TierAcl": PolicyType(Effect.REFUSED, Feature.TIER_ACL),
    "Iov": PolicyType(Effect.CARRIED),
    "VLAN": PolicyType(Effect.REFUSED),
    "L4Proxy": PolicyType(Effect.REFUSED, Feature.L4_PROXY),
    "L4WFPPROXY": PolicyType(Effect.REFUSED, Feature.L4_WFP_PROXY),
}
NETWORK: Final[dict[str, PolicyType]] = {
    "NetAdapterName": PolicyType(Effect.APPLIED),
    "ProviderAddress": PolicyType(Effect.APPLIED),
    "InterfaceConstraint": PolicyType(Effect.CARRIED),
    "SourceMacAddress": PolicyType(Effect.CARRIED),
    "DrMacAddress": PolicyType(Effect.CARRIED),
    "AutomaticDNS": PolicyType(Effect.CARRIED),
    "VSwitchExtension": PolicyType(Effect.CARRIED),
    "HostRoute": PolicyType(Effect.CARRIED, Feature.HOST_ROUTE),
    "LayerConstraint": PolicyType(Effect.CARRIED),
    "RemoteSubnetRoute": PolicyType(Effect.REFUSED, Feature.REMOTE_SUBNET),
    "VxlanPort": PolicyType(Effect.REFUSED, Feature.VXLAN_PORT),
    "SetPolicy": PolicyType(Effect.REFUSED, Feature.SET_POLICY),
    "L4Proxy": PolicyType(Effect.REFUSED, Feature.L4_PROXY),
    "NetworkACL": PolicyType(Effect.REFUSED, Feature.NETWORK_ACL),
}
PROTOCOLS: Final = {"tcp": 6, "udp": 17, "icmp": 1, "icmpv4": 1, "igmp": 2, "icmpv6": 58}
TCP, UDP, SCTP = 6, 17, 132
MAX_PORT: Final = 65535


def check_policies(
    policies: Iterable[object], table: dict[str, PolicyType], version: HnsVersion
) -> list[JsonObject]:
    """Normalise ``{Type, Settings}`` items; a type nobody knows, or newer than this HNS, fails."""
    spelling = {name.casefold(): name for name in table}
    checked = []
    for item in policies:
        policy = fold_keys(item, ("Type", "Settings"), Code.INVALID_POLICY)
        name = spelling.get(str(policy.get("Type", "")).casefold())
        if name is None:
            raise HnsError(Code.INVALID_POLICY_TYPE)
        kind = table[name]
        if kind.feature is not None and not supports(version, kind.feature):
            raise HnsError(Code.INVALID_POLICY_TYPE)
        if kind.effect is Effect.REFUSED:
            raise HnsError(Code.REQUEST_UNSUPPORTED)
        settings = policy.get("Settings", {})
        if not isinstance(settings, dict):
            raise HnsError(Code.INVALID_POLICY)
        checked.append({"Type": name, "Settings": settings})
    return checked


def settings_of(policies: Iterable[JsonObject], name: str) -> list[JsonObject]:
    return [policy["Settings"] for policy in policies if policy["Type"] == name]


@dataclass(frozen=True, slots=True)
class OutboundNat:
    """All OutBoundNAT policies of an endpoint taken together."""

    general: bool  # translate whatever leaves, save for the exceptions
    exceptions: tuple[str, ...]
    destinations: tuple[str, ...]  # translate what goes here (the loopback-DSR trick)
    virtual_ip: str


def plan_outbound_nat(policies: Iterable[JsonObject]) -> OutboundNat | None:
    items = [
        fold_keys(item, ("VirtualIP", "Exceptions", "Destinations"), Code.INVALID_POLICY)
        for item in settings_of(policies, "OutBoundNAT")
    ]
    if not items:
        return None
    return OutboundNat(
        general=any(not item.get("Destinations") for item in items),
        exceptions=_prefixes(items, "Exceptions"),
        destinations=_prefixes(items, "Destinations"),
        virtual_ip=next((str(parse_ip(i["VirtualIP"])) for i in items if i.get("VirtualIP")), ""),
    )


def _prefixes(items: Iterable[JsonObject], key: str, *, dual: bool = False) -> tuple[str, ...]:
    found = {
        parse_subnet(text, dual=dual, code=Code.INVALID_POLICY)
        for item in items
        for text in list_of(item, key, Code.INVALID_POLICY)
    }
    # The packet filter refuses overlapping ranges in one set.
    return tuple(
        str(prefix)
        for prefix in sorted(found, key=lambda each: (each.version, each.network_address))
        if not any(prefix != other and _lies_in(prefix, other) for other in found)
    )


def _lies_in(inner: Prefix, outer: Prefix) -> bool:
    same = inner.version == outer.version and inner.prefixlen >= outer.prefixlen
    return same and inner.network_address in outer


def plan_encapsulated(policies: Iterable[JsonObject], *, dual: bool = False) -> tuple[str, ...]:
    """Prefixes whose traffic is the host's to answer or to redirect (SDNRoute with NeedEncap).

    Every packet of a pod passes the host anyway; what is left to do is to keep such traffic, when
    no load balancer takes it, from wandering out on the wire.
    """
    keys = ("DestinationPrefix", "NextHop", "NeedEncap")
    items = [fold_keys(i, keys, Code.INVALID_POLICY) for i in settings_of(policies, "SDNRoute")]
    wanted = [{"P": [i.get("DestinationPrefix")]} for i in items if i.get("NeedEncap")]
    return _prefixes(wanted, "P", dual=dual)


NAT_FLAGS: Final = {"None": 0, "LocalRoutedVip": 1, "IPv6": 2}
NAT_IPV6: Final = NAT_FLAGS["IPv6"]


@dataclass(frozen=True, slots=True)
class PortMapping:
    protocol: int
    internal_port: int
    external_port: int
    vip: str
    ipv6: bool = False


def parse_port(value: object, code: Code) -> int:
    port = number_of(value, {}, code)
    if not 0 < port <= MAX_PORT:
        raise HnsError(code)
    return port


def plan_port_mappings(policies: Iterable[JsonObject]) -> tuple[PortMapping, ...]:
    mappings = []
    for item in settings_of(policies, "PortMapping"):
        keys = ("Protocol", "InternalPort", "ExternalPort", "VIP", "Flags")
        settings = fold_keys(item, keys, Code.INVALID_POLICY)
        protocol = number_of(settings.get("Protocol"), PROTOCOLS, Code.INVALID_POLICY)
        if protocol not in (TCP, UDP, SCTP):
            raise HnsError(Code.MAPPING_NOT_SUPPORTED)
        vip = settings.get("VIP") or ""
        ipv6 = bool(number_of(settings.get("Flags"), NAT_FLAGS, Code.INVALID_POLICY) & NAT_IPV6)
        unspecified = vip in ("", "0.0.0.0")
        mappings.append(
            PortMapping(
                protocol,
                parse_port(settings.get("InternalPort"), Code.INVALID_INTERNAL_PORT),
                parse_port(settings.get("ExternalPort"), Code.INVALID_POLICY),
                "" if unspecified else str(parse_ip(vip)),
                ipv6,
            )
        )
    return tuple(mappings)


def plan_mtu(policies: Iterable[JsonObject]) -> int | None:
    sizes = [
        number_of(item.get("Mtu"), {}, Code.INVALID_POLICY)
        for item in settings_of(policies, "InterfaceParameters")
    ]
    return next((size for size in sizes if size), None)


def plan_bandwidth(policies: Iterable[JsonObject]) -> int | None:
    """Bytes per second an endpoint may send, from its QOS policy."""
    key = "MaximumOutgoingBandwidthInBytes"
    rates = [
        number_of(fold_keys(item, (key,), Code.INVALID_POLICY).get(key), {}, Code.INVALID_POLICY)
        for item in settings_of(policies, "QOS")
    ]
    return next((rate for rate in rates if rate > 0), None)


# v1 policies are flat and partly named otherwise: (v1 type, v2 type, {v1 key: v2 key}).
_TWINS: Final[tuple[tuple[str, str, dict[str, str]], ...]] = (
    ("OutBoundNAT", "OutBoundNAT", {"VIP": "VirtualIP", "ExceptionList": "Exceptions"}),
    ("ROUTE", "SDNRoute", {}),
    ("PA", "ProviderAddress", {"PA": "ProviderAddress"}),
    ("NAT", "PortMapping", {}),
    ("VLAN", "VLAN", {"VLAN": "IsolationId"}),
    ("VSID", "VSID", {"VSID": "IsolationId"}),
)


def from_v1(policy: object) -> JsonObject:
    """A flat v1 policy as v2 writes it; one that already has Settings passes through."""
    flat = fold_keys(policy, ("Type", "Settings"), Code.INVALID_POLICY)
    if "Settings" in flat:
        return flat
    kind = str(flat.pop("Type", ""))
    for old, new, keys in _TWINS:
        if old.casefold() == kind.casefold():
            return {"Type": new, "Settings": {keys.get(k, k): v for k, v in flat.items()}}
    return {"Type": kind, "Settings": flat}


def to_v1(policy: JsonObject) -> JsonObject:
    names = {number: name.upper() for name, number in (("tcp", 6), ("udp", 17))}
    for old, new, keys in _TWINS:
        if new == policy["Type"]:
            back = {v: k for k, v in keys.items()}
            flat: dict[str, Any] = {back.get(k, k): v for k, v in policy["Settings"].items()}
            if old == "NAT":
                flat["Protocol"] = names.get(flat.get("Protocol", 0), flat.get("Protocol"))
            return {"Type": old, **flat}
    return {"Type": policy["Type"], **policy["Settings"]}
