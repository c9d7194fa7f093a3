"""Endpoints: network cards of pods and of the host, and stand-ins for addresses elsewhere.

States (v1 numbers): 1 created, 2 attached. An endpoint is attached to a namespace (a pod's
compartment) or to the host's compartment, never to both; a remote one to nothing.
"""

import re
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from winkube.base.types import JsonObject
from winkube.hns import policy
from winkube.hns.acl import plan_acls
from winkube.hns.address import plan_configurations, subnet_routes
from winkube.hns.dataplane.rules import merge, rules_for_endpoint, rules_for_second
from winkube.hns.dataplane.types import HostPort, Port, Route, Rules
from winkube.hns.document import (
    PRIVATE,
    fold_keys,
    list_of,
    number_of,
    parse_address,
    parse_subnet,
    public,
    text_of,
)
from winkube.hns.errors import Code, HnsError
from winkube.hns.guid import guid_or_new, parse_guid, short
from winkube.hns.registry import ENDPOINT, NETWORK, FrontendKey, Registry, frontend_key

CREATED, ATTACHED = 1, 2
REMOTE: Final = 1
FLAGS: Final = {"None": 0, "RemoteEndpoint": 1, "DisableInterComputeCommunication": 2}
KEYS: Final = (
    "ID",
    "Name",
    "HostComputeNetwork",
    "HostComputeNamespace",
    "Policies",
    "IpConfigurations",
    "Dns",
    "Routes",
    "MacAddress",
    "Flags",
    "Owner",
    "AdditionalParams",
    "SchemaVersion",
)
HOST_COMPARTMENT: Final = 1
_MAC: Final = re.compile(r"([0-9A-Fa-f]{2}[-:]){5}[0-9A-Fa-f]{2}")
_BAD: Final = Code.INVALID_ENDPOINT
EndpointListener = Callable[[JsonObject], None]


def addresses_of(endpoint: JsonObject) -> list[str]:
    return [str(row["IpAddress"]) for row in endpoint["IpConfigurations"]]


def address_of(endpoint: JsonObject, *, ipv6: bool = False) -> str | None:
    """The endpoint's address of a family, if it has one."""
    return next((ip for ip in addresses_of(endpoint) if (":" in ip) == ipv6), None)


def is_remote(endpoint: JsonObject) -> bool:
    return bool(endpoint["Flags"] & REMOTE)


def is_attached(endpoint: JsonObject) -> bool:
    return bool(endpoint["State"] == ATTACHED)


def link_of(endpoint: JsonObject) -> str:
    return f"v{short(endpoint['ID'], 12)}"


def bridge_link(network_id: str) -> str:
    return f"hns{short(network_id, 8)}"


class Endpoints:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.on_delete: list[EndpointListener] = []

    # -- life ---------------------------------------------------------------------------------

    def create(self, settings: object, guid: str | None = None) -> JsonObject:
        wanted = fold_keys(settings, KEYS, _BAD)
        endpoint_id = guid_or_new(guid or wanted.get("ID"))
        if self._registry.find(ENDPOINT, endpoint_id) is not None:
            raise HnsError(Code.OBJECT_ALREADY_EXISTS)
        if wanted.get("HostComputeNamespace"):  # read-only here: the namespace takes endpoints in
            raise HnsError(_BAD)
        network = self._registry.get(
            NETWORK, parse_guid(text_of(wanted, "HostComputeNetwork", _BAD))
        )
        document = self._normalise(wanted, endpoint_id, network)
        self._reserve_ports(document)
        self._registry.put(ENDPOINT, document)
        for address in addresses_of(document):
            self._registry.addresses[network["ID"], address] = endpoint_id
        return public(document)

    def view(self, document: JsonObject) -> JsonObject:
        return public(document)

    def delete(self, guid: str) -> None:
        document = self._registry.get(ENDPOINT, guid)
        for listener in self.on_delete:
            listener(document)
        if is_attached(document):
            document = self.detach(guid)
        self._registry.remove(ENDPOINT, guid)
        for address in addresses_of(document):
            self._registry.addresses.pop((document["HostComputeNetwork"], address), None)
        self._release_ports(document)

    def modify(self, guid: str, request: object) -> JsonObject:
        """Change policies in place (ResourceType Policy)."""
        document = self._registry.open(ENDPOINT, guid)
        asked = fold_keys(request, ("ResourceType", "RequestType", "Settings"), Code.INVALID_JSON)
        if asked.get("ResourceType") != "Policy":
            raise HnsError(Code.REQUEST_UNSUPPORTED)
        settings = fold_keys(asked.get("Settings") or {}, ("Policies",), Code.INVALID_POLICY)
        given = self._check_policies(list_of(settings, "Policies", Code.INVALID_POLICY))
        current: list[JsonObject] = document["Policies"]
        match asked.get("RequestType"):
            case "Add":
                policies = [*current, *given]
            case "Remove":
                policies = [item for item in current if item not in given]
            case "Update":
                types = {item["Type"] for item in given}
                policies = [*(p for p in current if p["Type"] not in types), *given]
            case "Reset":
                policies = given
            case _:
                raise HnsError(Code.REQUEST_UNSUPPORTED)
        return self._replace_policies(document, policies)

    def _replace_policies(self, document: JsonObject, policies: list[JsonObject]) -> JsonObject:
        changed = {**document, "Policies": policies}
        self._release_ports(document)
        try:
            self._reserve_ports(changed)
        except HnsError:
            self._reserve_ports(document)
            raise
        if is_attached(changed):
            self._registry.dataplane.program(changed["ID"], self.rules(changed))
        self._registry.put(ENDPOINT, changed)
        return public(changed)

    # -- attachment ---------------------------------------------------------------------------

    def attach_to_namespace(self, guid: str, namespace_id: str, netns: str) -> JsonObject:
        document = self._attachable(guid)
        changed = {**document, "State": ATTACHED, "HostComputeNamespace": namespace_id}
        changed[PRIVATE] = {**document[PRIVATE], "netns": netns}
        self._registry.dataplane.ensure_port(self.port(changed))
        self._registry.dataplane.program(guid, self.rules(changed))
        self._registry.put(ENDPOINT, changed)
        return changed

    def attach_to_host(self, guid: str, *, compartment: int = HOST_COMPARTMENT) -> JsonObject:
        document = self._attachable(guid)
        changed = {**document, "State": ATTACHED}
        changed[PRIVATE] = {**document[PRIVATE], "compartment": compartment}
        self._registry.dataplane.ensure_host_port(self.host_port(changed))
        self._registry.put(ENDPOINT, changed)
        return changed

    def detach(self, guid: str) -> JsonObject:
        document = self._registry.get(ENDPOINT, guid)
        if not is_attached(document):
            return document
        private = dict(document[PRIVATE])
        changed = {**document, "State": CREATED, "HostComputeNamespace": "", PRIVATE: private}
        netns = private.pop("netns", None)
        private.pop("compartment", None)
        # The document goes first: what a crash leaves in the kernel is removed at the next start.
        self._registry.put(ENDPOINT, changed)
        self._registry.dataplane.program(guid, Rules())
        if netns is None:
            self._registry.dataplane.delete_host_port(self.host_port(document))
        else:
            self._registry.dataplane.delete_port(link_of(document))
        return changed

    def _attachable(self, guid: str) -> JsonObject:
        document = self._registry.get(ENDPOINT, guid)
        if is_remote(document):
            raise HnsError(Code.INVALID_REMOTE_ENDPOINT_OPERATION)
        if is_attached(document):
            raise HnsError(Code.ENDPOINT_ALREADY_ATTACHED)
        return document

    # -- what the dataplane is told --------------------------------------------------------------

    def port(self, document: JsonObject) -> Port:
        address, second = _with_lengths(document)
        return Port(
            link=link_of(document),
            bridge=bridge_link(document["HostComputeNetwork"]),
            netns=document[PRIVATE]["netns"],
            address=address,
            second=second,
            mac=document["MacAddress"].replace("-", ":").lower(),
            routes=tuple(
                Route(row["DestinationPrefix"], row["NextHop"]) for row in document["Routes"]
            ),
            mtu=policy.plan_mtu(document["Policies"]),
            bandwidth=policy.plan_bandwidth(document["Policies"]),
        )

    def host_port(self, document: JsonObject) -> HostPort:
        address, second = _with_lengths(document)
        return HostPort(bridge_link(document["HostComputeNetwork"]), address, second)

    def rules(self, document: JsonObject) -> Rules:
        if "netns" not in document[PRIVATE]:
            return Rules()
        policies = document["Policies"]
        mappings, acls = policy.plan_port_mappings(policies), plan_acls(policies)
        config = self._registry.config
        ways = policy.plan_encapsulated(policies, dual=config.dual)
        first = rules_for_endpoint(
            IPv4Address(addresses_of(document)[0]),
            policy.plan_outbound_nat(policies),
            mappings,
            acls,
            [way for way in ways if ":" not in way],
            config,
        )
        second = address_of(document, ipv6=True)
        if second is None:
            return first
        ways_6 = [way for way in ways if ":" in way]
        other = rules_for_second(IPv6Address(second), mappings, acls, ways_6, config.uplink)
        return merge([first, other])

    # -- checks -------------------------------------------------------------------------------

    def _normalise(self, wanted: JsonObject, guid: str, network: JsonObject) -> JsonObject:
        document = self._registry.base_fields(guid, wanted)
        document["HostComputeNetwork"] = network["ID"]
        document["HostComputeNamespace"] = ""
        document["Flags"] = number_of(wanted.get("Flags"), FLAGS, _BAD)
        remote = bool(document["Flags"] & REMOTE)
        document["Policies"] = self._check_policies(list_of(wanted, "Policies", _BAD))
        document["Dns"] = wanted.get("Dns") or dict(network["Dns"])
        addresses = plan_configurations(self._registry, wanted, network, remote=remote)
        document["IpConfigurations"] = addresses
        dual = self._registry.config.dual
        given = [_route(row, dual=dual) for row in list_of(wanted, "Routes", _BAD)]
        inherit = "Routes" not in wanted and not remote
        document["Routes"] = subnet_routes(network, addresses) if inherit else given
        document["MacAddress"] = self._mac(wanted, network)
        return document

    def _check_policies(self, policies: list[object]) -> list[JsonObject]:
        checked = policy.check_policies(policies, policy.ENDPOINT, self._registry.config.version)
        policy.plan_outbound_nat(checked)
        policy.plan_port_mappings(checked)
        policy.plan_encapsulated(checked, dual=self._registry.config.dual)
        plan_acls(checked)
        policy.plan_mtu(checked)
        policy.plan_bandwidth(checked)
        return checked

    def _mac(self, wanted: JsonObject, network: JsonObject) -> str:
        given = text_of(wanted, "MacAddress", _BAD)
        if given:
            if not _MAC.fullmatch(given):
                raise HnsError(_BAD)
            return given.replace(":", "-")
        used = {row["MacAddress"].upper() for row in self._registry.all(ENDPOINT)}
        for row in network["MacPool"]["Ranges"]:
            first, last = (_mac_number(row[key]) for key in ("StartMacAddress", "EndMacAddress"))
            for number in range(first, last + 1):
                mac = "-".join(f"{byte:02X}" for byte in number.to_bytes(6, "big"))
                if mac not in used:
                    return mac
        raise HnsError(_BAD)

    def _reserve_ports(self, document: JsonObject) -> None:
        keys = _port_keys(document)
        taken = self._registry.frontends
        if len(set(keys)) < len(keys) or any(key in taken for key in keys):
            raise HnsError(Code.PORT_ALREADY_EXISTS)
        taken.update(dict.fromkeys(keys, str(document["ID"])))

    def _release_ports(self, document: JsonObject) -> None:
        for key in _port_keys(document):
            self._registry.frontends.pop(key, None)

    def restore(self) -> Iterator[JsonObject]:
        """Rebuild the indexes from the documents read at start."""
        for document in self._registry.all(ENDPOINT):
            for address in addresses_of(document):
                key = (document["HostComputeNetwork"], address)
                self._registry.addresses[key] = document["ID"]
            self._reserve_ports(document)
            yield document


def _with_lengths(document: JsonObject) -> tuple[str, str]:
    """Its addresses as a card gets them; the second is empty where there is none."""
    rows = [f"{row['IpAddress']}/{row['PrefixLength']}" for row in document["IpConfigurations"]]
    return (rows[0], rows[1]) if len(rows) > 1 else (rows[0], "")


def _port_keys(document: JsonObject) -> list[FrontendKey]:
    return [
        frontend_key(mapping.vip, mapping.protocol, mapping.external_port, ipv6=mapping.ipv6)
        for mapping in policy.plan_port_mappings(document["Policies"])
    ]


def _mac_number(text: str) -> int:
    if not _MAC.fullmatch(text):
        raise HnsError(Code.INVALID_NETWORK)
    return int(text.replace("-", "").replace(":", ""), 16)


def _route(row: object, *, dual: bool) -> JsonObject:
    route = fold_keys(row, ("NextHop", "DestinationPrefix", "Metric"), _BAD)
    return {
        "NextHop": str(parse_address(route.get("NextHop"), dual=dual)),
        "DestinationPrefix": str(parse_subnet(route.get("DestinationPrefix"), dual=dual)),
        "Metric": number_of(route.get("Metric"), {}, _BAD),
    }
