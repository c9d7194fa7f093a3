"""UDP flows that conntrack still leads to a backend (or to nowhere) a Service no longer has."""

import logging
from collections.abc import Iterable, Mapping

from winkube.linux.conntrack import Pattern, forget
from winkube.proxy.service import ServicePort

log = logging.getLogger(__name__)
PortsByService = Mapping[str, tuple[ServicePort, ...]]


def plan_stale_flows(old: PortsByService, new: PortsByService) -> list[Pattern]:
    """What to forget: flows to backends a UDP port lost, and those begun while it had none."""
    before, after = _udp_ports(old), _udp_ports(new)
    patterns: set[Pattern] = set()
    for identity in before.keys() | after.keys():
        was, now = before.get(identity), after.get(identity)
        gone = _addresses(was) - _addresses(now)
        for port in filter(None, (was, now)):
            for front in _fronts(port):
                # A flow that met no backend was not translated: the front itself "answers".
                answerers = gone if _addresses(was) else {front}
                patterns |= {Pattern(port.port, who, target=front) for who in answerers}
            if port.node_port:
                patterns |= {Pattern(port.node_port, who) for who in gone}
    return sorted(patterns, key=lambda pattern: (pattern.port, pattern.target, pattern.answerer))


def forget_flows(patterns: list[Pattern]) -> None:
    """Remove them from the kernel's table. Blocks: call it in a thread."""
    try:
        forget(patterns)
    except OSError as error:
        # Flows end by themselves when their clients fall silent; the services are in place.
        log.warning("stale udp flows not deleted", extra={"error": str(error)})


def _addresses(port: ServicePort | None) -> frozenset[str]:
    return frozenset(b.ip for b in port.cluster_backends) if port else frozenset()


def _udp_ports(ports: PortsByService) -> dict[str, ServicePort]:
    return {
        port.identity: port for found in ports.values() for port in found if port.protocol == "UDP"
    }


def _fronts(port: ServicePort) -> Iterable[str]:
    return [ip for ip in (port.cluster_ip, *port.external_ips, *port.ingress_ips) if ip]
