"""The v1 projection: the same objects in the flat documents of HNSCall (vmcompute.dll).

Pure conversions both ways. One store holds v2 documents; whoever made an object through one
interface finds it through the other.
"""

from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.hns import policy
from winkube.hns.document import fold_keys, list_of, number_of
from winkube.hns.endpoint import is_attached, is_remote
from winkube.hns.errors import Code, HnsError
from winkube.hns.loadbalancer import PROTOCOLS

DEFAULT: Final = "0.0.0.0/0"
DEFAULT_V6: Final = "::/0"
UNSPECIFIED: Final = "0.0.0.0"
_NETWORK_KEYS: Final = (
    "ID Name Type NetworkAdapterName SourceMac Policies MacPools Subnets DNSSuffix DNSServerList "
    "DNSDomain AutomaticDNS Flags AdditionalParams Extensions Owner"
)
_ENDPOINT_KEYS: Final = (
    "ID Name VirtualNetwork VirtualNetworkName Policies MacAddress IPAddress IPv6Address DNSSuffix "
    "DNSServerList DNSDomain GatewayAddress PrefixLength IsRemoteEndpoint EnableInternalDNS "
    "DisableICC EncapOverhead Owner AdditionalParams Flags"
)
_ELB_KEYS: Final = "Type Protocol InternalPort ExternalPort SourceVIP VIPs ILB IsDSR"


def _split(text: object) -> list[str]:
    return [part.strip() for part in str(text or "").split(",") if part.strip()]


def is_v1_network(document: object) -> bool:
    """Clients of v2 also send v1-shaped documents through it."""
    return (
        isinstance(document, dict)
        and "Ipams" not in document
        and ("Subnets" in document or "NetworkAdapterName" in document)
    )


def is_v1_endpoint(document: object) -> bool:
    return (
        isinstance(document, dict)
        and "HostComputeNetwork" not in document
        and ("VirtualNetwork" in document or "VirtualNetworkName" in document)
    )


def _dns(body: JsonObject) -> JsonObject:
    dns: JsonObject = {}
    if body.get("DNSDomain"):
        dns["Domain"] = body["DNSDomain"]
    if body.get("DNSSuffix"):
        dns["Search"] = _split(body["DNSSuffix"])
    if body.get("DNSServerList"):
        dns["ServerList"] = _split(body["DNSServerList"])
    return dns


def network_from_v1(body: object) -> JsonObject:
    flat = fold_keys(body, _NETWORK_KEYS.split(), Code.INVALID_NETWORK)
    policies = [policy.from_v1(item) for item in list_of(flat, "Policies", Code.INVALID_POLICY)]
    for key, name in (("NetworkAdapterName", "NetAdapterName"), ("SourceMac", "SourceMacAddress")):
        if flat.get(key):
            setting = "NetworkAdapterName" if key == "NetworkAdapterName" else "SourceMacAddress"
            policies.append({"Type": name, "Settings": {setting: flat[key]}})
    if flat.get("AutomaticDNS"):
        policies.append({"Type": "AutomaticDNS", "Settings": {"Enable": True}})
    subnets = [_subnet_from_v1(row) for row in list_of(flat, "Subnets", Code.INVALID_NETWORK)]
    return {
        **{key: flat[key] for key in ("ID", "Name", "Type", "Flags", "Owner") if key in flat},
        "AdditionalParams": flat.get("AdditionalParams") or {},
        "Policies": policies,
        "MacPool": {"Ranges": flat.get("MacPools") or []},
        "Dns": _dns(flat),
        "Ipams": [{"Type": "Static", "Subnets": subnets}] if subnets else [],
    }


def _subnet_from_v1(row: object) -> JsonObject:
    keys = ("AddressPrefix", "GatewayAddress", "Policies")
    subnet = fold_keys(row, keys, Code.INVALID_NETWORK)
    gateway = subnet.get("GatewayAddress")
    routes = [{"NextHop": gateway, "DestinationPrefix": DEFAULT}] if gateway else []
    policies = [policy.from_v1(item) for item in subnet.get("Policies") or []]
    prefix = subnet.get("AddressPrefix")
    return {"IpAddressPrefix": prefix, "Routes": routes, "Policies": policies}


def _gateway(routes: list[JsonObject], everywhere: str = DEFAULT) -> str:
    return next((row["NextHop"] for row in routes if row["DestinationPrefix"] == everywhere), "")


def network_to_v1(shown: JsonObject, endpoints: int) -> JsonObject:
    """From what a v2 query shows, so that the management address appears in both at once."""

    def setting(kind: str, key: str) -> Any:
        items = policy.settings_of(shown["Policies"], kind)
        return items[0].get(key) if items else None

    lifted = {"NetAdapterName", "SourceMacAddress", "AutomaticDNS", "ProviderAddress"}
    return {
        "ID": shown["ID"],
        "Name": shown["Name"],
        "Type": shown["Type"],
        "NetworkAdapterName": setting("NetAdapterName", "NetworkAdapterName") or "",
        "SourceMac": setting("SourceMacAddress", "SourceMacAddress") or "",
        "Policies": [policy.to_v1(p) for p in shown["Policies"] if p["Type"] not in lifted],
        "MacPools": shown["MacPool"]["Ranges"],
        "Subnets": [
            {
                "AddressPrefix": row["IpAddressPrefix"],
                "GatewayAddress": _gateway(row["Routes"]) or _gateway(row["Routes"], DEFAULT_V6),
                "Policies": [policy.to_v1(item) for item in row["Policies"]],
            }
            for ipam in shown["Ipams"]
            for row in ipam["Subnets"]
        ],
        **_dns_to_v1(shown["Dns"]),
        "DNSServerCompartment": 0,
        "ManagementIP": setting("ProviderAddress", "ProviderAddress") or "",
        "AutomaticDNS": bool(setting("AutomaticDNS", "Enable")),
        "AdditionalParams": shown["AdditionalParams"],
        "CurrentEndpointCount": endpoints,
        "MaxConcurrentEndpoints": endpoints,
        "Extensions": [],
        "Flags": shown["Flags"],
        "Health": _health(shown),
        "LayeredOn": shown["Health"]["Extra"].get("LayeredOn", ""),
        "State": shown["State"],
        "Version": shown["Version"],
    }


def _dns_to_v1(dns: JsonObject) -> JsonObject:
    return {
        "DNSSuffix": ",".join(dns.get("Search") or []),
        "DNSServerList": ",".join(dns.get("ServerList") or []),
    }


def _health(shown: JsonObject) -> JsonObject:
    health = shown["Health"]
    return {key: health[key] for key in ("LastErrorCode", "LastUpdateTime")}


def endpoint_from_v1(body: object, network_id: str) -> JsonObject:
    """The caller resolves VirtualNetwork or VirtualNetworkName to the network's GUID."""
    flat = fold_keys(body, _ENDPOINT_KEYS.split(), Code.INVALID_ENDPOINT)
    if flat.get("IPv6Address"):
        raise HnsError(Code.REQUEST_UNSUPPORTED)
    document: JsonObject = {
        key: flat[key] for key in ("ID", "Name", "MacAddress", "Owner") if flat.get(key)
    }
    document["HostComputeNetwork"] = network_id
    document["AdditionalParams"] = flat.get("AdditionalParams") or {}
    document["Policies"] = [
        policy.from_v1(item) for item in list_of(flat, "Policies", Code.INVALID_POLICY)
    ]
    if flat.get("EncapOverhead"):
        settings = {"Overhead": flat["EncapOverhead"]}
        document["Policies"].append({"Type": "EncapOverhead", "Settings": settings})
    if flat.get("IPAddress"):
        document["IpConfigurations"] = [{"IpAddress": flat["IPAddress"]}]
    gateway = flat.get("GatewayAddress")
    if gateway:
        hop = {"NextHop": gateway, "DestinationPrefix": DEFAULT}
        document["Routes"] = [] if gateway == UNSPECIFIED else [hop]
    document["Dns"] = _dns(flat)
    flags = number_of(flat.get("Flags"), {}, Code.INVALID_ENDPOINT)
    flags |= 1 if flat.get("IsRemoteEndpoint") else 0
    document["Flags"] = flags | (2 if flat.get("DisableICC") else 0)
    return document


def endpoint_to_v1(document: JsonObject, network_name: str, containers: list[str]) -> JsonObject:
    overhead = policy.settings_of(document["Policies"], "EncapOverhead")
    namespace = document["HostComputeNamespace"]
    flat = {
        "ID": document["ID"],
        "Name": document["Name"],
        "VirtualNetwork": document["HostComputeNetwork"],
        "VirtualNetworkName": network_name,
        "Policies": [policy.to_v1(p) for p in document["Policies"] if p["Type"] != "EncapOverhead"],
        "MacAddress": document["MacAddress"],
        **_addresses_to_v1(document),
        **_dns_to_v1(document["Dns"]),
        "DNSDomain": document["Dns"].get("Domain", ""),
        "GatewayAddress": _gateway(document["Routes"]),
        "EnableInternalDNS": False,
        "DisableICC": bool(document["Flags"] & 2),
        "IsRemoteEndpoint": is_remote(document),
        "EncapOverhead": overhead[0].get("Overhead", 0) if overhead else 0,
        "SharedContainers": containers,
        "State": document["State"] if is_attached(document) else 1,
        "AdditionalParams": document["AdditionalParams"],
        "Health": _health(document),
        "Version": document["Version"],
    }
    return {**flat, "Namespace": {"ID": namespace}} if namespace else flat


def _addresses_to_v1(document: JsonObject) -> JsonObject:
    """Flat fields have a name for each family."""
    flat: JsonObject = {}
    for row in document["IpConfigurations"]:
        if ":" not in row["IpAddress"]:
            flat |= {"IPAddress": row["IpAddress"], "PrefixLength": row["PrefixLength"]}
            continue
        flat |= {"IPv6Address": row["IpAddress"], "IPv6PrefixLength": row["PrefixLength"]}
        flat["GatewayAddressV6"] = _gateway(document["Routes"], DEFAULT_V6)
    return flat


def endpoint_reference(text: object) -> str:
    """The GUID in ``/endpoints/{id}``."""
    prefix, _, guid = str(text).strip("/").rpartition("/")
    if prefix.casefold() not in ("endpoints", ""):
        raise HnsError(Code.INVALID_JSON_REFERENCE)
    return guid


def policy_list_kind(body: JsonObject) -> str:
    kinds = {str(item.get("Type", "")).upper() for item in body.get("Policies") or []}
    if len(kinds) != 1:
        raise HnsError(Code.INVALID_POLICY)
    return kinds.pop()


def balancer_from_v1(body: JsonObject) -> JsonObject:
    endpoints = [endpoint_reference(text) for text in body.get("References") or []]
    rows = [fold_keys(item, _ELB_KEYS.split(), Code.INVALID_POLICY) for item in body["Policies"]]
    first = rows[0]
    document: JsonObject = {
        "HostComputeEndpoints": endpoints,
        "SourceVIP": first.get("SourceVIP", ""),
        "FrontendVIPs": first.get("VIPs") or [],
        "Flags": 1 if first.get("IsDSR") else 0,
        "PortMappings": [
            {
                "Protocol": number_of(row.get("Protocol"), PROTOCOLS, Code.INVALID_POLICY),
                "InternalPort": row.get("InternalPort", 0),
                "ExternalPort": row.get("ExternalPort", 0),
                "Flags": 1 if row.get("ILB") else 0,
            }
            for row in rows
        ],
    }
    return {**document, "ID": body["ID"]} if body.get("ID") else document


def balancer_to_v1(document: JsonObject) -> JsonObject:
    return {
        "ID": document["ID"],
        "References": [f"/endpoints/{guid}" for guid in document["HostComputeEndpoints"]],
        "Policies": [
            {
                "Type": "ELB",
                "Protocol": row["Protocol"],
                "InternalPort": row["InternalPort"],
                "ExternalPort": row["ExternalPort"],
                "SourceVIP": document["SourceVIP"],
                "VIPs": document["FrontendVIPs"],
                "ILB": bool(row["Flags"] & 1),
                "IsDSR": bool(document["Flags"] & 1),
            }
            for row in document["PortMappings"]
        ],
        "State": document["State"],
        "Version": document["Version"],
    }


def route_from_v1(body: JsonObject) -> JsonObject:
    document: JsonObject = {
        "HostComputeEndpoints": [endpoint_reference(t) for t in body.get("References") or []],
        "Setting": [
            {key: value for key, value in item.items() if key != "Type"}
            for item in body["Policies"]
        ],
    }
    return {**document, "ID": body["ID"]} if body.get("ID") else document


def route_to_v1(document: JsonObject) -> JsonObject:
    return {
        "ID": document["ID"],
        "References": [f"/endpoints/{guid}" for guid in document["HostComputeEndpoints"]],
        "Policies": [{"Type": "ROUTE", **row} for row in document["Setting"]],
        "State": document["State"],
        "Version": document["Version"],
    }


def namespace_to_v1(document: JsonObject) -> JsonObject:
    return {
        "ID": document["ID"],
        "IsDefault": document["Type"] == "HostDefault",
        "CompartmentId": document["NamespaceId"],
        "CompartmentGuid": document["NamespaceGuid"],
        "ResourceList": document["Resources"],
        "AdditionalParams": document["AdditionalParams"],
        "Health": _health(document),
        "State": document["State"],
        "Version": document["Version"],
    }
