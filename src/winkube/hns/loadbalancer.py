"""Load balancers: frontends (virtual addresses, or every address of the node) over endpoints."""

from typing import Final

from winkube.base.types import JsonObject
from winkube.facts.hns import Feature
from winkube.hns.dataplane.rules import Frontend, merge, rules_for_frontend
from winkube.hns.dataplane.types import Rules
from winkube.hns.document import fold_keys, list_of, number_of, parse_address, parse_ip, public
from winkube.hns.endpoint import Endpoints, address_of, is_attached, is_remote
from winkube.hns.errors import Code, HnsError
from winkube.hns.guid import guid_or_new, parse_guid
from winkube.hns.policy import SCTP, TCP, UDP, parse_port
from winkube.hns.registry import BALANCER, ENDPOINT, NETWORK, FrontendKey, Registry, frontend_key

FLAGS: Final = {"None": 0, "EnableDirectServerReturn": 1, "EnableIPv6": 2}
PORT_FLAGS: Final = {
    "None": 0,
    "EnableInternalLoadBalancer": 1,
    "LocalRoutedVIP": 2,
    "NotUsed": 4,
    "EnablePreserveDip": 8,
    "VipExternalIP": 16,
}
DISTRIBUTIONS: Final = {"None": 0, "SourceIPProtocol": 1, "SourceIP": 2}
PROTOCOLS: Final = {"tcp": TCP, "udp": UDP, "sctp": SCTP}
KEYS: Final = (
    "ID",
    "HostComputeEndpoints",
    "SourceVIP",
    "FrontendVIPs",
    "PortMappings",
    "Flags",
    "HostComputeNetwork",
    "SchemaVersion",
    "Name",
    "Owner",
    "AdditionalParams",
)
_PORT_KEYS: Final = ("Protocol", "InternalPort", "ExternalPort", "DistributionType", "Flags")
DSR, IPV6 = 1, 2
_BAD: Final = Code.INVALID_POLICY


def frontends_of(document: JsonObject) -> list[FrontendKey]:
    """What must be unique among all load balancers and port mappings of a host."""
    ipv6 = bool(document["Flags"] & IPV6)
    return [
        frontend_key(vip, mapping["Protocol"], mapping["ExternalPort"], ipv6=ipv6)
        for vip in document["FrontendVIPs"] or [""]
        for mapping in document["PortMappings"]
    ]


class LoadBalancers:
    def __init__(self, registry: Registry, endpoints: Endpoints) -> None:
        self._registry = registry
        endpoints.on_delete.append(self._forget_endpoint)

    def create(self, settings: object, guid: str | None = None) -> JsonObject:
        wanted = fold_keys(settings, KEYS, _BAD)
        balancer_id = guid_or_new(guid or wanted.get("ID"))
        if self._registry.find(BALANCER, balancer_id) is not None:
            raise HnsError(Code.ALREADY_EXISTS)
        document = self._normalise(wanted, balancer_id)
        self._refuse_taken(document)
        self._refuse_exhausted(document)
        self._commit(document)
        return public(document)

    def view(self, document: JsonObject) -> JsonObject:
        return public(document)

    def modify(self, guid: str, request: object) -> JsonObject:
        """Replace the whole document, which needs an HNS that can."""
        if not self._registry.supports(Feature.MODIFY_LOAD_BALANCER):
            raise HnsError(Code.NOT_IMPLEMENTED)
        before = self._registry.open(BALANCER, guid)
        wrapper = fold_keys(request, ("Settings", *KEYS), _BAD)
        settings = wrapper.get("Settings", wrapper)
        document = self._normalise(fold_keys(settings, KEYS, _BAD), guid)
        self._refuse_taken(document)
        for key in frontends_of(before):
            self._registry.frontends.pop(key, None)
        self._commit(document)
        return public(document)

    def delete(self, guid: str) -> None:
        document = self._registry.open(BALANCER, guid)
        self._registry.dataplane.program(guid, Rules())
        self._registry.remove(BALANCER, guid)
        for key in frontends_of(document):
            self._registry.frontends.pop(key, None)

    def restore(self) -> dict[str, Rules]:
        rules = {}
        for document in self._registry.all(BALANCER):
            self._registry.frontends.update(
                dict.fromkeys(frontends_of(document), str(document["ID"]))
            )
            rules[document["ID"]] = self.rules(document)
        return rules

    def rules(self, document: JsonObject) -> Rules:
        ipv6 = bool(document["Flags"] & IPV6)
        backends = [
            address
            for guid in document["HostComputeEndpoints"]
            if (endpoint := self._registry.find(ENDPOINT, guid)) is not None
            if (address := address_of(endpoint, ipv6=ipv6)) is not None
        ]
        affinity = self._registry.supports(Feature.SESSION_AFFINITY)
        return merge(
            rules_for_frontend(
                Frontend(vip, mapping["Protocol"], mapping["ExternalPort"], ipv6),
                [(address, mapping["InternalPort"]) for address in backends],
                distribution=mapping["DistributionType"] if affinity else 0,
                dsr=bool(document["Flags"] & DSR),
            )
            for vip in document["FrontendVIPs"] or [""]
            for mapping in document["PortMappings"]
        )

    def _commit(self, document: JsonObject) -> None:
        self._registry.dataplane.program(document["ID"], self.rules(document))
        self._registry.put(BALANCER, document)
        keys = dict.fromkeys(frontends_of(document), str(document["ID"]))
        self._registry.frontends.update(keys)

    def _normalise(self, wanted: JsonObject, guid: str) -> JsonObject:
        document = self._registry.base_fields(guid, wanted)
        document["Flags"] = self._flags(wanted)
        document["HostComputeEndpoints"] = self._backends(wanted)
        document["FrontendVIPs"] = [
            _vip(vip, ipv6=bool(document["Flags"] & IPV6))
            for vip in list_of(wanted, "FrontendVIPs", Code.INVALID_IP)
            if vip
        ]
        source = wanted.get("SourceVIP") or ""
        document["SourceVIP"] = str(parse_ip(source)) if source else ""
        mappings = list_of(wanted, "PortMappings", _BAD)
        if not mappings:
            raise HnsError(_BAD)
        document["PortMappings"] = [_port_mapping(row) for row in mappings]
        network = wanted.get("HostComputeNetwork")
        if network:
            document["HostComputeNetwork"] = self._registry.get(NETWORK, parse_guid(network))["ID"]
        return document

    def _flags(self, wanted: JsonObject) -> int:
        flags = number_of(wanted.get("Flags"), FLAGS, _BAD)
        if flags & DSR and not self._registry.supports(Feature.DSR):
            raise HnsError(Code.REQUEST_UNSUPPORTED)
        if flags & IPV6 and not self._registry.config.dual:
            raise HnsError(Code.REQUEST_UNSUPPORTED)
        return flags

    def _backends(self, wanted: JsonObject) -> list[str]:
        backends = []
        for text in list_of(wanted, "HostComputeEndpoints", _BAD):
            endpoint = self._registry.get(ENDPOINT, parse_guid(str(text)))
            if not is_remote(endpoint) and not is_attached(endpoint):
                raise HnsError(Code.PORT_NOT_FOUND)
            backends.append(endpoint["ID"])
        return list(dict.fromkeys(backends))

    def _refuse_taken(self, document: JsonObject) -> None:
        keys = frontends_of(document)
        owners = {self._registry.frontends.get(key, document["ID"]) for key in keys}
        if len(set(keys)) < len(keys) or owners != {document["ID"]}:
            raise HnsError(Code.PORT_ALREADY_EXISTS)

    def _refuse_exhausted(self, document: JsonObject) -> None:
        blocks = self._registry.config.ephemeral_port_blocks
        if blocks is None or not _takes_ports(document):
            return
        if len(self._registry.select(BALANCER, _takes_ports)) >= blocks:
            raise HnsError(Code.PORT_ALREADY_EXISTS)

    def _forget_endpoint(self, endpoint: JsonObject) -> None:
        """A backend that is deleted leaves its load balancers; they stay."""
        guid = endpoint["ID"]
        for document in self._registry.all(BALANCER):
            if guid in document["HostComputeEndpoints"]:
                left = [one for one in document["HostComputeEndpoints"] if one != guid]
                self._commit({**document, "HostComputeEndpoints": left})


def _vip(text: object, *, ipv6: bool) -> str:
    """A virtual address has to be of the load balancer's family."""
    address = parse_address(text, dual=ipv6)
    if (address.version == 6) != ipv6:
        raise HnsError(Code.INVALID_IP)
    return str(address)


def _takes_ports(document: JsonObject) -> bool:
    """Without direct server return each TCP load balancer reserves a block of ephemeral ports."""
    tcp = any(mapping["Protocol"] == TCP for mapping in document["PortMappings"])
    return tcp and not document["Flags"] & DSR


def _port_mapping(row: object) -> JsonObject:
    mapping = fold_keys(row, _PORT_KEYS, _BAD)
    protocol = number_of(mapping.get("Protocol"), PROTOCOLS, _BAD)
    if protocol not in PROTOCOLS.values():
        raise HnsError(Code.MAPPING_NOT_SUPPORTED)
    distribution = number_of(mapping.get("DistributionType"), DISTRIBUTIONS, _BAD)
    if distribution not in DISTRIBUTIONS.values():
        raise HnsError(_BAD)
    return {
        "Protocol": protocol,
        "InternalPort": parse_port(mapping.get("InternalPort"), Code.INVALID_INTERNAL_PORT),
        "ExternalPort": parse_port(mapping.get("ExternalPort"), _BAD),
        "DistributionType": distribution,
        "Flags": number_of(mapping.get("Flags"), PORT_FLAGS, _BAD),
    }
