"""Service ports as HNS load balancers: the pure half of kube-proxy for Windows.

Follows kubernetes/kubernetes: pkg/proxy/winkernel/proxier.go. One load balancer has one front end
(address or none, protocol, port) and one port on all its backends; a backend is an HNS endpoint,
local (a pod of this node, made by CNI) or remote (a stand-in made here for any other address).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from winkube.base.types import JsonObject
from winkube.facts.hns import Feature, supports
from winkube.facts.node import NodeFeature, node_does
from winkube.facts.version import SERVED
from winkube.proxy.family import IPV6
from winkube.proxy.hnsapi import SCHEMA_2_0
from winkube.proxy.service import Backend, ServicePort

PROTOCOLS: Final[Mapping[str, int]] = {"TCP": 6, "UDP": 17, "SCTP": 132}
ENDPOINT_REMOTE: Final = 1
BALANCER_DSR: Final = 1
BALANCER_IPV6: Final = 2
PORT_LOCAL_ROUTED_VIP: Final = 2
PORT_USE_MUX: Final = 4
PORT_PRESERVE_DIP: Final = 8
PORT_VIP_EXTERNAL: Final = 16
DISTRIBUTION_SOURCE_IP: Final = 2


@dataclass(frozen=True, slots=True)
class Features:
    """What this HNS can do, by its version, and what kube-proxy makes of it, by its own."""

    dsr: bool = False
    session_affinity: bool = False
    modify_balancer: bool = False
    internal_policy: bool = True
    dual_stack: bool = False

    @classmethod
    def of_version(cls, version: tuple[int, int], kubernetes: str = SERVED) -> "Features":
        return cls(
            internal_policy=node_does(kubernetes, NodeFeature.INTERNAL_TRAFFIC_POLICY),
            dsr=supports(version, Feature.DSR),
            session_affinity=supports(version, Feature.SESSION_AFFINITY),
            modify_balancer=supports(version, Feature.MODIFY_LOAD_BALANCER),
            dual_stack=supports(version, Feature.DUAL_STACK),
        )


Frontend = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Balancer:
    vip: str
    protocol: int
    external_port: int
    internal_port: int
    backends: frozenset[str]
    flags: int = 0
    port_flags: int = 0
    distribution: int = 0

    @property
    def frontend(self) -> Frontend:
        return _frontend(self.vip, self.protocol, self.external_port, self.flags)


def _frontend(vip: str, protocol: int, port: int, flags: int) -> Frontend:
    """Each family has "every address of the node" of its own."""
    return vip or ("::" if flags & BALANCER_IPV6 else ""), protocol, port


def plan_balancers(port: ServicePort, features: Features) -> tuple[Balancer, ...]:
    """All load balancers of a port; those without a backend are left out, as HNS refuses them."""
    protocol = PROTOCOLS.get(port.protocol)
    ipv6 = BALANCER_IPV6 if port.family is IPV6 else 0
    if protocol is None or (ipv6 and not features.dual_stack):
        return ()
    # Without DSR the client's address is lost before a local-only choice could matter.
    local = port.external_local and features.dsr
    preserve = port.preserve_destination and features.dsr
    external = port.local_backends if local else port.cluster_backends
    internal = port.internal_backends if features.internal_policy else port.cluster_backends
    kept = port.local_backends if local or preserve else port.cluster_backends
    mux = PORT_USE_MUX | PORT_PRESERVE_DIP if preserve else 0
    dsr = BALANCER_DSR if local else 0
    fronts: list[tuple[str, int, tuple[Backend, ...], int, int]] = [
        (port.cluster_ip, port.port, internal, 0, 0)
    ]
    if port.node_port:
        flags = PORT_LOCAL_ROUTED_VIP | PORT_VIP_EXTERNAL
        fronts.append(("", port.node_port, kept, dsr, flags))
    fronts += [(ip, port.port, external, dsr, PORT_VIP_EXTERNAL) for ip in port.external_ips]
    fronts += [
        (ip, port.port, kept, BALANCER_DSR if preserve else dsr, PORT_VIP_EXTERNAL | mux)
        for ip in port.ingress_ips
    ]
    affine = bool(port.affinity_seconds) and features.session_affinity
    return tuple(
        Balancer(
            vip=vip,
            protocol=protocol,
            external_port=number,
            # One internal port for all backends: where they differ, the last one has its way.
            internal_port=backends[-1].port,
            backends=frozenset(b.ip for b in backends),
            flags=flags | ipv6,
            port_flags=port_flags,
            distribution=DISTRIBUTION_SOURCE_IP if affine else 0,
        )
        for vip, number, backends, flags, port_flags in fronts
        if backends
    )


def conjure_mac(ip: str) -> str:
    """The hardware address upstream's proxy gives a remote endpoint."""
    address = ip_address(ip)
    last = address.packed if address.version == 4 else address.packed[:-5:-1]
    return "02-11-" + "-".join(f"{byte:02x}" for byte in last)


def remote_endpoint_document(network_id: str, ip: str) -> JsonObject:
    return {
        "HostComputeNetwork": network_id,
        "IpConfigurations": [{"IpAddress": ip}],
        "MacAddress": conjure_mac(ip),
        "Flags": ENDPOINT_REMOTE,
        "SchemaVersion": SCHEMA_2_0,
    }


def balancer_document(balancer: Balancer, endpoint_ids: Iterable[str]) -> JsonObject:
    mapping = {
        "Protocol": balancer.protocol,
        "InternalPort": balancer.internal_port,
        "ExternalPort": balancer.external_port,
        "DistributionType": balancer.distribution,
        "Flags": balancer.port_flags,
    }
    return {
        "HostComputeEndpoints": sorted(endpoint_ids),
        "SourceVIP": "",
        "FrontendVIPs": [balancer.vip] if balancer.vip else [],
        "PortMappings": [mapping],
        "Flags": balancer.flags,
        "SchemaVersion": SCHEMA_2_0,
    }


@dataclass(frozen=True, slots=True)
class Installed:
    """A load balancer as HNS has it; comparing two tells whether anything has to be done."""

    balancer_id: str
    frontend: Frontend
    endpoint_ids: frozenset[str]
    shape: tuple[int, int, int, int]

    @classmethod
    def parse(cls, document: JsonObject) -> "Installed | None":
        """None for a document that is not of the kind this proxy makes."""
        mappings = list(document.get("PortMappings") or ())
        vips = list(document.get("FrontendVIPs") or ())
        if len(mappings) != 1 or len(vips) > 1:
            return None
        mapping = mappings[0]
        return cls(
            balancer_id=document["ID"],
            frontend=_frontend(
                vips[0] if vips else "",
                mapping.get("Protocol", 0),
                mapping.get("ExternalPort", 0),
                document.get("Flags", 0),
            ),
            endpoint_ids=frozenset(i.lower() for i in document.get("HostComputeEndpoints") or ()),
            shape=(
                mapping.get("InternalPort", 0),
                mapping.get("DistributionType", 0),
                mapping.get("Flags", 0),
                document.get("Flags", 0),
            ),
        )

    def is_for(self, balancer: Balancer, endpoint_ids: frozenset[str]) -> bool:
        shape = (
            balancer.internal_port,
            balancer.distribution,
            balancer.port_flags,
            balancer.flags,
        )
        return (
            self.frontend == balancer.frontend
            and self.shape == shape
            and self.endpoint_ids == frozenset(i.lower() for i in endpoint_ids)
        )


@dataclass(frozen=True, slots=True)
class EndpointTable:
    """A network's endpoints by address; a local one hides a remote one with the same address."""

    local: dict[str, str]
    remote: dict[str, str]
    duplicates: tuple[str, ...]

    @classmethod
    def parse(cls, documents: Iterable[JsonObject]) -> "EndpointTable":
        local: dict[str, str] = {}
        remote: dict[str, str] = {}
        spare: list[str] = []
        for document in documents:
            is_remote = bool(document.get("Flags", 0) & ENDPOINT_REMOTE)
            table = remote if is_remote else local
            for ip in endpoint_addresses(document):
                if is_remote and ip in table:
                    spare.append(document["ID"])
                else:
                    table[ip] = document["ID"]
        spare += [remote.pop(ip) for ip in local.keys() & remote.keys()]
        return cls(local, remote, tuple(spare))

    def find(self, ip: str) -> str | None:
        return self.local.get(ip) or self.remote.get(ip)


def endpoint_addresses(document: JsonObject) -> list[str]:
    """Kube-proxy looks at the first two configurations: one for each address family."""
    configurations = (document.get("IpConfigurations") or ())[:2]
    return [c["IpAddress"] for c in configurations if c.get("IpAddress")]
