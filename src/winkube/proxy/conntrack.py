"""UDP flows that conntrack still leads to a backend (or to nowhere) a Service no longer has."""

import contextlib
import logging
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from winkube.proxy.service import ServicePort

log = logging.getLogger(__name__)
PortsByService = Mapping[str, tuple[ServicePort, ...]]


@dataclass(frozen=True, slots=True)
class StaleFlows:
    """For each changed UDP front end, the backends its flows may have; all others are stale."""

    addresses: Mapping[tuple[str, int], frozenset[str]]
    node_ports: Mapping[int, frozenset[str]]

    @classmethod
    def plan(cls, old: PortsByService, new: PortsByService) -> "StaleFlows | None":
        """None when no UDP port changed its backends."""
        before, after = _udp_ports(old), _udp_ports(new)
        addresses: dict[tuple[str, int], frozenset[str]] = {}
        node_ports: dict[int, frozenset[str]] = {}
        for identity in before.keys() | after.keys():
            was, now = before.get(identity), after.get(identity)
            if was == now:
                continue
            allowed = frozenset(b.ip for b in now.cluster_backends) if now else frozenset()
            for port in (was, now):
                if port is not None:
                    addresses |= dict.fromkeys(_fronts(port), allowed)
                    node_ports |= {port.node_port: allowed} if port.node_port else {}
        return cls(addresses, node_ports) if addresses or node_ports else None

    def has(self, flow: "Flow") -> bool:
        allowed = self.addresses.get((flow.target, flow.target_port))
        if allowed is None and flow.answerer != flow.target:
            # A node port is any local address; only a translated flow can be told to be one.
            allowed = self.node_ports.get(flow.target_port)
        return allowed is not None and flow.answerer not in allowed


@dataclass(frozen=True, slots=True)
class Flow:
    """A UDP conversation: who asked whom, and who really answers."""

    source: str
    source_port: int
    target: str
    target_port: int
    answerer: str


def delete_stale_flows(stale: StaleFlows) -> None:
    """Remove them from the kernel's table. Blocks: call it in a thread."""
    # Imported here: netlink code costs 0.2 s, which a proxy without UDP changes never pays.
    from pyroute2 import Conntrack
    from pyroute2.netlink.exceptions import NetlinkError
    from pyroute2.netlink.nfnetlink.nfctsocket import NFCTAttrTuple

    try:
        with Conntrack() as table:
            wanted = NFCTAttrTuple(proto=socket.IPPROTO_UDP)
            flows = [_flow(entry) for entry in table.dump_entries(tuple_orig=wanted)]
            found = [flow for flow in flows if stale.has(flow)]
            for flow in found:
                _delete(table, flow)
    except (NetlinkError, OSError) as error:
        # Flows end by themselves when their clients fall silent; the services are in place.
        log.warning("stale udp flows not deleted", extra={"error": str(error)})
        return
    if found:
        log.info("stale udp flows deleted", extra={"count": len(found)})


def _delete(table: Any, flow: Flow) -> None:
    from pyroute2.netlink.exceptions import NetlinkError
    from pyroute2.netlink.nfnetlink.nfctsocket import NFCTAttrTuple

    key = NFCTAttrTuple(
        saddr=flow.source,
        daddr=flow.target,
        proto=socket.IPPROTO_UDP,
        sport=flow.source_port,
        dport=flow.target_port,
    )
    # It may have timed out between the listing and now.
    with contextlib.suppress(NetlinkError):
        table.entry("del", tuple_orig=key)


def _flow(entry: Any) -> Flow:
    original, reply = entry.tuple_orig, entry.tuple_reply
    return Flow(original.saddr, original.sport, original.daddr, original.dport, reply.saddr)


def _udp_ports(ports: PortsByService) -> dict[str, ServicePort]:
    return {
        port.identity: port for found in ports.values() for port in found if port.protocol == "UDP"
    }


def _fronts(port: ServicePort) -> Iterable[tuple[str, int]]:
    return [(ip, port.port) for ip in (port.cluster_ip, *port.external_ips, *port.ingress_ips)]
