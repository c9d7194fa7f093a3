"""What a proxy needs to know about one port of a Service, read from JSON once.

Owns the choice of backends (readiness, termination, traffic policies), which is the same for every
data plane; leaves to the data planes what a front end or a backend looks like there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from winkube.base.types import JsonObject
from winkube.proxy.family import ONLY_IPV4, Family, family_of
from winkube.proxy.topology import Hints, Place, parse_hints, plan_near

SERVICE_NAME_LABEL = "kubernetes.io/service-name"
_OTHER_PROXY_LABEL = "service.kubernetes.io/service-proxy-name"
_DEFAULT_AFFINITY_SECONDS = 10800


@dataclass(frozen=True, slots=True, order=True)
class Backend:
    ip: str
    port: int
    local: bool = False
    ready: bool = True
    serving: bool = True
    terminating: bool = False
    # Not meant for this node, while others are.
    far: bool = False


@dataclass(frozen=True, slots=True)
class ServicePort:
    service: str
    name: str
    protocol: str
    cluster_ip: str
    port: int
    node_port: int = 0
    external_ips: tuple[str, ...] = ()
    ingress_ips: tuple[str, ...] = ()
    source_ranges: tuple[str, ...] = ()
    affinity_seconds: int = 0
    internal_local: bool = False
    external_local: bool = False
    preserve_destination: bool = False
    health_check_port: int = 0
    backends: tuple[Backend, ...] = ()

    @property
    def family(self) -> Family:
        return family_of(self.cluster_ip)

    @property
    def identity(self) -> str:
        """Unique on a node in a family, and stable while name and protocol stay."""
        return f"{self.service}:{self.name}/{self.protocol.lower()}"

    @property
    def cluster_backends(self) -> tuple[Backend, ...]:
        """The backends of traffic that may leave the node."""
        return plan_usable(b for b in self.backends if not b.far)

    @property
    def local_backends(self) -> tuple[Backend, ...]:
        return plan_usable(b for b in self.backends if b.local)

    @property
    def internal_backends(self) -> tuple[Backend, ...]:
        return self.local_backends if self.internal_local else self.cluster_backends

    @property
    def external_backends(self) -> tuple[Backend, ...]:
        return self.local_backends if self.external_local else self.cluster_backends


def plan_usable(backends: Iterable[Backend]) -> tuple[Backend, ...]:
    """Ready backends; failing those, the ones that still serve while they terminate (KEP-1669)."""
    known = tuple(backends)
    ready = tuple(b for b in known if b.ready)
    return ready or tuple(b for b in known if b.serving and b.terminating)


def service_of_slice(slice_: JsonObject) -> str | None:
    """The "namespace/name" of the Service an EndpointSlice belongs to."""
    metadata = slice_.get("metadata") or {}
    service = (metadata.get("labels") or {}).get(SERVICE_NAME_LABEL)
    return f"{metadata.get('namespace', '')}/{service}" if service else None


def parse_service_ports(
    service: JsonObject | None,
    slices: Sequence[JsonObject],
    here: Place,
    families: Iterable[Family] = ONLY_IPV4,
) -> tuple[ServicePort, ...]:
    """Every port a proxy serves for this Service, once for each family it has an address of.

    Empty for headless, ExternalName and absent.
    """
    if service is None or not _is_proxied(service):
        return ()
    spec = service["spec"]
    found: list[ServicePort] = []
    for family in families:
        cluster_ip = family.first([*(spec.get("clusterIPs") or ()), spec.get("clusterIP") or ""])
        if cluster_ip is None:
            continue
        known = [s for s in slices if s.get("addressType", "IPv4") == family.name]
        found += [
            _parse_port(service, port, cluster_ip, _parse_backends(known, port, here, family))
            for port in spec.get("ports") or ()
        ]
    return tuple(found)


def _is_proxied(service: JsonObject) -> bool:
    labels = service.get("metadata", {}).get("labels") or {}
    spec = service.get("spec") or {}
    return (
        spec.get("type") != "ExternalName"
        and spec.get("clusterIP") != "None"
        and _OTHER_PROXY_LABEL not in labels
    )


def _parse_port(
    service: JsonObject, port: JsonObject, cluster_ip: str, backends: tuple[Backend, ...]
) -> ServicePort:
    metadata, spec = service["metadata"], service["spec"]
    family = family_of(cluster_ip)
    external_local = spec.get("externalTrafficPolicy") == "Local"
    return ServicePort(
        service=f"{metadata.get('namespace', 'default')}/{metadata['name']}",
        name=port.get("name") or "",
        protocol=port.get("protocol") or "TCP",
        cluster_ip=cluster_ip,
        port=port["port"],
        node_port=port.get("nodePort") or 0,
        external_ips=tuple(ip for ip in spec.get("externalIPs") or () if family.owns(ip)),
        ingress_ips=_parse_ingress(service, family),
        source_ranges=_parse_ranges(spec.get("loadBalancerSourceRanges") or (), family),
        affinity_seconds=_parse_affinity(spec),
        internal_local=spec.get("internalTrafficPolicy") == "Local",
        external_local=external_local,
        preserve_destination=(metadata.get("annotations") or {}).get("preserve-destination")
        == "true",
        health_check_port=(spec.get("healthCheckNodePort") or 0) if external_local else 0,
        backends=backends,
    )


def _parse_ranges(texts: Iterable[object], family: Family) -> tuple[str, ...]:
    """In their plain form: they become part of a ruleset."""
    return tuple(map(str, family.ranges(texts, strict=False)))


def _parse_ingress(service: JsonObject, family: Family) -> tuple[str, ...]:
    """Load balancer addresses to capture; ipMode Proxy wants its traffic left alone (KEP-1860)."""
    status = (service.get("status") or {}).get("loadBalancer") or {}
    return tuple(
        entry["ip"]
        for entry in status.get("ingress") or ()
        if family.owns(entry.get("ip")) and entry.get("ipMode", "VIP") == "VIP"
    )


def _parse_affinity(spec: JsonObject) -> int:
    if spec.get("sessionAffinity") != "ClientIP":
        return 0
    client_ip = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
    return int(client_ip.get("timeoutSeconds") or _DEFAULT_AFFINITY_SECONDS)


def _parse_backends(
    slices: Iterable[JsonObject], port: JsonObject, here: Place, family: Family
) -> tuple[Backend, ...]:
    found: dict[Backend, Hints] = {}
    for slice_ in slices:
        number = _slice_port(slice_, port.get("name") or "", port.get("protocol") or "TCP")
        if number is None:
            continue
        for endpoint in slice_.get("endpoints") or ():
            hints = parse_hints(endpoint)
            backends = _parse_endpoint(endpoint, number, here.node)
            found |= {backend: hints for backend in backends if family.owns(backend.ip)}
    # A pod can be in two slices while the controller moves it; the ready sighting wins.
    best = {(b.ip, b.port): b for b in sorted(found, key=lambda b: (b.ready, b.serving))}
    near = plan_near((found[b] for b in best.values() if b.ready), here)
    if near is not None:
        kind, name = near
        best = {
            place: replace(b, far=b.ready and name not in found[b][kind])
            for place, b in best.items()
        }
    return tuple(sorted(best.values()))


def _slice_port(slice_: JsonObject, name: str, protocol: str) -> int | None:
    for port in slice_.get("ports") or ():
        same = (port.get("name") or "") == name and (port.get("protocol") or "TCP") == protocol
        if same and port.get("port"):
            return int(port["port"])
    return None


def _parse_endpoint(endpoint: JsonObject, port: int, node_name: str) -> Iterable[Backend]:
    conditions = endpoint.get("conditions") or {}
    # An absent condition means true for ready, ready for serving, false for terminating.
    ready = conditions.get("ready") is not False
    serving = conditions.get("serving")
    for address in endpoint.get("addresses") or ():
        yield Backend(
            ip=address,
            port=port,
            local=endpoint.get("nodeName") == node_name,
            ready=ready,
            serving=ready if serving is None else bool(serving),
            terminating=bool(conditions.get("terminating")),
        )
