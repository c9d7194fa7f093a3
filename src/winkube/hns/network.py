"""Networks: switches with subnets. The dataplane here builds L2Bridge and L2Tunnel."""

from ipaddress import ip_network
from typing import Final

from winkube.base.types import JsonObject
from winkube.facts.hns import Feature
from winkube.hns import policy
from winkube.hns.dataplane.types import Bridge
from winkube.hns.document import (
    PRIVATE,
    Prefix,
    fold_keys,
    list_of,
    number_of,
    parse_address,
    parse_subnet,
    public,
    text_of,
)
from winkube.hns.endpoint import Endpoints
from winkube.hns.errors import Code, HnsError
from winkube.hns.guid import guid_or_new, new_guid, short
from winkube.hns.registry import ENDPOINT, NETWORK, Registry

TYPES: Final = (
    "NAT",
    "ICS",
    "Transparent",
    "L2Bridge",
    "L2Tunnel",
    "Overlay",
    "Private",
    "Internal",
    "Mirrored",
    "Infiniband",
    "ConstrainedICS",
)
BUILT: Final = ("L2Bridge", "L2Tunnel")
FLAGS: Final = {
    "None": 0,
    "EnableDnsProxy": 1,
    "EnableDhcpServer": 2,
    "EnableNonPersistent": 8,
    "DisableHostPort": 1024,
    "EnableIov": 8192,
}
KEYS: Final = (
    "ID",
    "Name",
    "Type",
    "Policies",
    "MacPool",
    "Dns",
    "Ipams",
    "Flags",
    "Owner",
    "AdditionalParams",
    "SchemaVersion",
)
_MAC_STEP: Final = 0x1000  # addresses in a network's pool


def subnets_of(network: JsonObject) -> list[Prefix]:
    return [
        ip_network(row["IpAddressPrefix"]) for ipam in network["Ipams"] for row in ipam["Subnets"]
    ]


def bridge_of(network: JsonObject) -> Bridge:
    return Bridge(link=f"hns{short(network['ID'], 8)}", alias=network["Name"])


class Networks:
    def __init__(self, registry: Registry, endpoints: Endpoints) -> None:
        self._registry, self._endpoints = registry, endpoints

    def create(self, settings: object, guid: str | None = None) -> JsonObject:
        wanted = fold_keys(settings, KEYS, Code.INVALID_NETWORK)
        network_id = guid_or_new(guid or wanted.get("ID"))
        if self._registry.find(NETWORK, network_id) is not None:
            raise HnsError(Code.NETWORK_ALREADY_EXISTS)
        document = self._normalise(wanted, network_id)
        self._refuse_overlap(document)
        self._registry.dataplane.ensure_bridge(bridge_of(document))
        self._registry.put(NETWORK, document)
        return self.view(document)

    def view(self, document: JsonObject) -> JsonObject:
        """What a query shows; the management address appears some time after creation."""
        shown = public(document)
        age = self._registry.clock.now() - document[PRIVATE]["created"]
        if age >= self._registry.config.management_ip_delay:
            address = {"ProviderAddress": self._registry.config.management_ip}
            kept = [p for p in document["Policies"] if p["Type"] != "ProviderAddress"]
            shown["Policies"] = [*kept, {"Type": "ProviderAddress", "Settings": address}]
        return shown

    def modify(self, guid: str, request: object) -> JsonObject:
        """Add, remove or replace policies; HNS takes nothing else of an L2Bridge network."""
        document = self._registry.open(NETWORK, guid)
        asked = fold_keys(request, ("ResourceType", "RequestType", "Settings"), Code.INVALID_JSON)
        kind = asked.get("ResourceType")
        if kind == "DNS":
            changed = {**document, "Dns": asked.get("Settings") or {}}
        elif kind == "Policy":
            changed = {**document, "Policies": self._change_policies(document, asked)}
        else:
            raise HnsError(Code.REQUEST_UNSUPPORTED)
        self._registry.put(NETWORK, changed)
        return self.view(changed)

    def _change_policies(self, document: JsonObject, asked: JsonObject) -> list[JsonObject]:
        settings = fold_keys(asked.get("Settings") or {}, ("Policies",), Code.INVALID_POLICY)
        given = policy.check_policies(
            list_of(settings, "Policies", Code.INVALID_POLICY),
            policy.NETWORK,
            self._registry.config.version,
        )
        current: list[JsonObject] = document["Policies"]
        match asked.get("RequestType"):
            case "Add":
                return [*current, *given]
            case "Remove":
                if any(item not in current for item in given):
                    raise HnsError(Code.POLICY_NOT_FOUND)
                return [item for item in current if item not in given]
            case "Update":
                types = {item["Type"] for item in given}
                return [*(item for item in current if item["Type"] not in types), *given]
            case _:
                raise HnsError(Code.REQUEST_UNSUPPORTED)

    def delete(self, guid: str) -> None:
        """The network and, as Windows's scripts rely on, all its endpoints."""
        document = self._registry.get(NETWORK, guid)
        for endpoint in self._registry.select(
            ENDPOINT, lambda row: row["HostComputeNetwork"] == guid
        ):
            self._endpoints.delete(endpoint["ID"])
        self._registry.remove(NETWORK, guid)
        self._registry.dataplane.delete_bridge(bridge_of(document).link)

    def _normalise(self, wanted: JsonObject, guid: str) -> JsonObject:
        document = self._registry.base_fields(guid, wanted)
        document["Type"] = self._type(wanted)
        document["Policies"] = self._policies(wanted)
        document["MacPool"] = self._mac_pool(wanted)
        document["Dns"] = wanted.get("Dns") or {}
        document["Ipams"] = [self._ipam(row) for row in list_of(wanted, "Ipams", _BAD)]
        document["Flags"] = self._flags(wanted)
        document["Health"]["Extra"] |= {"SwitchGuid": new_guid(), "LayeredOn": new_guid()}
        return document

    def _type(self, wanted: JsonObject) -> str:
        # Enum value 0 is dropped on the wire: a network without a type is a NAT network.
        name = text_of(wanted, "Type", Code.INVALID_NETWORK_TYPE) or "NAT"
        spelling = {known.casefold(): known for known in TYPES}
        if name.casefold() not in spelling:
            raise HnsError(Code.INVALID_NETWORK_TYPE)
        if spelling[name.casefold()] not in BUILT:
            raise HnsError(Code.REQUEST_UNSUPPORTED)
        return spelling[name.casefold()]

    def _flags(self, wanted: JsonObject) -> int:
        flags = number_of(wanted.get("Flags"), FLAGS, _BAD)
        if flags & FLAGS["DisableHostPort"] and not self._registry.supports(
            Feature.DISABLE_HOST_PORT
        ):
            raise HnsError(Code.INVALID_NETWORK)
        return flags

    def _policies(self, wanted: JsonObject) -> list[JsonObject]:
        config = self._registry.config
        policies = policy.check_policies(
            list_of(wanted, "Policies", Code.INVALID_POLICY), policy.NETWORK, config.version
        )
        for item in policy.settings_of(policies, "NetAdapterName"):
            if item.get("NetworkAdapterName") not in (config.adapter, config.uplink):
                raise HnsError(Code.ADAPTER_NOT_FOUND)
        for item in policy.settings_of(policies, "ProviderAddress"):
            if item.get("ProviderAddress") != config.management_ip:
                raise HnsError(Code.ADAPTER_NOT_FOUND)
        return policies

    def _ipam(self, row: object) -> JsonObject:
        ipam = fold_keys(row, ("Type", "Subnets"), Code.INVALID_NETWORK)
        if str(ipam.get("Type") or "Static").casefold() != "static":
            raise HnsError(Code.REQUEST_UNSUPPORTED)
        dual = self._registry.config.dual
        subnets = [_subnet(each, dual=dual) for each in list_of(ipam, "Subnets", _BAD)]
        return {"Type": "Static", "Subnets": subnets}

    def _mac_pool(self, wanted: JsonObject) -> JsonObject:
        pool = fold_keys(wanted.get("MacPool") or {}, ("Ranges",), Code.INVALID_NETWORK)
        if list_of(pool, "Ranges", _BAD):
            return pool
        number = len(list(self._registry.all(NETWORK)))
        first = 0x00155D_000000 + (number + 1) * _MAC_STEP
        return {
            "Ranges": [
                {
                    "StartMacAddress": to_mac(first),
                    "EndMacAddress": to_mac(first + _MAC_STEP - 1),
                }
            ]
        }

    def _refuse_overlap(self, document: JsonObject) -> None:
        mine = subnets_of(document)
        for other in self._registry.all(NETWORK):
            theirs = subnets_of(other)
            pairs = [(a, b) for a in mine for b in theirs if a.version == b.version]
            if any(a.overlaps(b) for a, b in pairs):
                same = other["Name"] == document["Name"]
                raise HnsError(Code.NETWORK_ALREADY_EXISTS if same else Code.INVALID_SUBNET)


_BAD: Final = Code.INVALID_NETWORK


def _subnet(row: object, *, dual: bool) -> JsonObject:
    keys = ("ID", "IpAddressPrefix", "Policies", "Routes", "IpSubnets", "Flags")
    subnet = fold_keys(row, keys, Code.INVALID_NETWORK)
    prefix = parse_subnet(subnet.get("IpAddressPrefix"), dual=dual)
    routes = []
    for item in list_of(subnet, "Routes", _BAD):
        route = fold_keys(item, ("NextHop", "DestinationPrefix", "Metric"), Code.INVALID_NETWORK)
        next_hop = route.get("NextHop") or ""
        if next_hop and parse_address(next_hop, dual=dual) not in prefix:
            raise HnsError(Code.INVALID_IP)
        routes.append(
            {
                "NextHop": next_hop,
                "DestinationPrefix": str(parse_subnet(route.get("DestinationPrefix"), dual=dual)),
                "Metric": number_of(route.get("Metric"), {}, Code.INVALID_NETWORK),
            }
        )
    return {
        "ID": subnet.get("ID") or new_guid(),
        "IpAddressPrefix": str(prefix),
        "Policies": list_of(subnet, "Policies", _BAD),
        "Routes": routes,
    }


def to_mac(number: int) -> str:
    return "-".join(f"{byte:02X}" for byte in number.to_bytes(6, "big"))
