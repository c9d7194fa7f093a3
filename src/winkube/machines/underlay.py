"""The underlay of a cluster: a router namespace ``tor``, one namespace per node, a leg on the host.

    host (.254) ── veth ──┐
    node eth0   ── veth ──┤ br0 (.1) in wk-<cluster>-tor

Every namespace carries its cluster's name as the alias of its loopback, because names alone do not
tell cluster ``a`` with node ``b-c`` from cluster ``a-b`` with node ``c``. Nothing else is recorded:
what exists is read from the kernel, so a crash half-way leaves nothing that the next call misses.
The host's forwarding and firewall stay as they are unless ``outbound`` asks for a way out.

A ``dual`` underlay has an IPv6 address beside each IPv4 one, with the same digits: 172.30.0.11 is
also fd00:172:30::11. It leads no further than the host.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address
from typing import Final

from winkube.base.errors import WinkubeError
from winkube.linux import link
from winkube.linux.netns import create_netns, delete_netns, list_netns, netns_exists
from winkube.machines import outbound

BRIDGE: Final = "br0"
UPLINK: Final = "eth0"
HOST_INDEX: Final = 254
POOLS: Final = (IPv4Network("172.30.0.0/16"), IPv4Network("10.213.0.0/16"))
_POD_SUFFIX: Final = re.compile(r"-[0-9a-f]{12}$")
_ROUTER_SYSCTLS: Final = {
    "net.ipv4.ip_forward": 1,
    # Pod traffic may leave by another card than the one the answer comes in on.
    "net.ipv4.conf.all.rp_filter": 0,
    "net.ipv4.conf.default.rp_filter": 0,
    # Hosts and nodes share a link; a redirect would teach them a path around the router.
    "net.ipv4.conf.all.send_redirects": 0,
    "net.ipv4.conf.default.send_redirects": 0,
    "net.ipv4.conf.all.accept_redirects": 0,
    "net.ipv4.conf.default.accept_redirects": 0,
    # Bridged frames must not pass the packet filter twice, whatever the host's default is.
    "net.bridge.bridge-nf-call-iptables": 0,
    "net.bridge.bridge-nf-call-ip6tables": 0,
    "net.bridge.bridge-nf-call-arptables": 0,
}
_ROUTER_SYSCTLS_6: Final = {
    f"net.ipv6.conf.{which}.{name}": value
    for which in ("all", "default")
    for name, value in {
        "disable_ipv6": 0,
        "forwarding": 1,
        "accept_ra": 0,
        "accept_redirects": 0,
        # Nobody else gives out these addresses, and a second of waiting is long.
        "accept_dad": 0,
    }.items()
}
_PREFIX_6: Final = 64


class SubnetsExhaustedError(WinkubeError):
    def __init__(self) -> None:
        super().__init__(
            "no free /24 for the cluster's underlay in "
            + " or ".join(map(str, POOLS))
            + ": take a cluster down, or set the underlay subnet yourself"
        )


class InvalidUnderlayError(WinkubeError):
    """A spec whose addresses do not fit its subnet or each other."""


@dataclass(frozen=True, slots=True)
class NodeSpec:
    name: str
    ip: str


@dataclass(frozen=True, slots=True)
class UnderlaySpec:
    cluster: str
    subnet: IPv4Network
    nodes: tuple[NodeSpec, ...]
    outbound: bool = False
    dual: bool = False

    def __post_init__(self) -> None:
        addresses = [IPv4Address(node.ip) for node in self.nodes]
        reserved = {self.tor_ip, self.host_ip}
        for node, address in zip(self.nodes, addresses, strict=True):
            if address not in self.subnet or address in reserved:
                raise InvalidUnderlayError(
                    f"node {node.name}: address {address} is not free in {self.subnet}"
                )
        if len(set(addresses)) < len(addresses):
            raise InvalidUnderlayError("two nodes have the same address")

    @property
    def tor_ip(self) -> IPv4Address:
        return self.subnet[1]

    @property
    def host_ip(self) -> IPv4Address:
        return self.subnet[HOST_INDEX]


def second_address(ip: IPv4Address | str) -> str:
    """The IPv6 address of whoever has this IPv4 address."""
    *network, host = str(ip).split(".")
    return str(IPv6Address(f"fd00:{':'.join(network)}::{host}"))


def netns_name(cluster: str, node: str) -> str:
    return f"wk-{cluster}-{node}"


def host_link(cluster: str) -> str:
    """The host's end of the cable; names of links are at most 15 characters."""
    return "wk" + hashlib.sha1(cluster.encode(), usedforsecurity=False).hexdigest()[:10]


def _port(node: str) -> str:
    return "p" + hashlib.sha1(node.encode(), usedforsecurity=False).hexdigest()[:10]


def choose_subnet(taken: Iterable[IPv4Network]) -> IPv4Network:
    """The first /24 of the pools that overlaps nothing taken."""
    used = [network for network in taken if network.prefixlen > 0]
    for pool in POOLS:
        for candidate in pool.subnets(new_prefix=24):
            if not any(candidate.overlaps(network) for network in used):
                return candidate
    raise SubnetsExhaustedError


def pick_subnet(taken: Iterable[IPv4Network] = ()) -> IPv4Network:
    """A subnet that is neither taken nor routed by the host."""
    routed = (str(row["dst"]) for row in link.routes())
    return choose_subnet([*taken, *(IPv4Network(dst) for dst in routed if dst != "default")])


def ensure_underlay(spec: UnderlaySpec) -> None:
    """Make the kernel look like the spec; what already does is not touched."""
    tor = netns_name(spec.cluster, "tor")
    names = {node.name: netns_name(spec.cluster, node.name) for node in spec.nodes}
    for name in (tor, *names.values()):
        _ensure_namespace(spec, name)
    for stale in set(_namespaces_of(spec.cluster)) - {tor, *names.values()}:
        delete_netns(stale)
    wanted_ports = {_port(name) for name in names}
    _ensure_tor(spec, tor, wanted_ports)
    _ensure_host_leg(spec, tor)
    ports = link.links(tor)
    for node in spec.nodes:
        _ensure_node(spec, tor, node, plugged=_port(node.name) in ports)
    if spec.outbound:
        outbound.ensure(spec.cluster, spec.subnet, host_link(spec.cluster))


def _ensure_namespace(spec: UnderlaySpec, name: str) -> None:
    if not netns_exists(name):
        create_netns(name)
    link.batch([f"link set dev lo up alias winkube/{spec.cluster}"], netns=name)
    knobs = _ROUTER_SYSCTLS | (_ROUTER_SYSCTLS_6 if spec.dual else {})
    link.set_sysctls(knobs, netns=name)


def _addresses(spec: UnderlaySpec, ip: IPv4Address | str, device: str) -> list[str]:
    """The commands that give a card its addresses."""
    commands = [f"address replace {ip}/{spec.subnet.prefixlen} dev {device}"]
    if spec.dual:
        six = second_address(ip)
        commands.append(f"address replace {six}/{_PREFIX_6} dev {device} nodad")
    return commands


def _ensure_tor(spec: UnderlaySpec, tor: str, wanted_ports: set[str]) -> None:
    existing = link.links(tor)
    commands = []
    if BRIDGE not in existing:
        commands.append(f"link add {BRIDGE} type bridge forward_delay 0 stp_state 0")
    commands += [
        *_addresses(spec, spec.tor_ip, BRIDGE),
        f"link set dev {BRIDGE} up",
    ]
    stale = [name for name in existing if name.startswith("p") and name not in wanted_ports]
    # Forced: a port also goes by itself, a moment after the namespace of its other end.
    link.batch([f"link delete {name}" for name in stale], netns=tor, force=True)
    if spec.outbound:
        commands.append(f"route replace default via {spec.host_ip} dev {BRIDGE}")
    link.batch(commands, netns=tor)


def _ensure_host_leg(spec: UnderlaySpec, tor: str) -> None:
    name = host_link(spec.cluster)
    if name not in link.links() or "host" not in link.links(tor):
        # One end without the other is what a crash or a deleted tor leaves.
        link.batch([f"link delete {name}"], force=True)
        link.batch([f"link add {name} type veth peer name host netns {tor}"])
    link.batch([f"link set dev host master {BRIDGE} up"], netns=tor)
    if spec.dual:
        # The host's own settings for new cards may say otherwise.
        knobs = {"disable_ipv6": 0, "accept_ra": 0, "accept_dad": 0}
        link.set_sysctls({f"net.ipv6.conf.{name}.{knob}": v for knob, v in knobs.items()})
    link.batch(
        [
            *_addresses(spec, spec.host_ip, name),
            f"link set dev {name} up alias winkube/{spec.cluster}",
        ]
    )


def _ensure_node(spec: UnderlaySpec, tor: str, node: NodeSpec, *, plugged: bool) -> None:
    name, port = netns_name(spec.cluster, node.name), _port(node.name)
    if not plugged:
        link.batch([f"link add {port} type veth peer name {UPLINK} netns {name}"], netns=tor)
    link.batch([f"link set dev {port} master {BRIDGE} up alias {name}"], netns=tor)
    commands = [
        *_addresses(spec, node.ip, UPLINK),
        f"link set dev {UPLINK} up",
        f"route replace default via {spec.tor_ip} dev {UPLINK}",
    ]
    if spec.dual:
        commands.append(f"route replace ::/0 via {second_address(spec.tor_ip)} dev {UPLINK}")
    link.batch(commands, netns=name)


def ensure_pod_routes(cluster: str, routes: dict[str, str]) -> None:
    """Teach the router which node has which pod subnet (as a rack switch in an L3 topology is)."""
    commands = [f"route replace {cidr} via {node_ip}" for cidr, node_ip in routes.items()]
    link.batch(commands, netns=netns_name(cluster, "tor"))


def _namespaces_of(cluster: str) -> list[str]:
    """Node namespaces marked as this cluster's; unmarked ones belong to nobody yet."""
    names = [
        name
        for name in list_netns(f"wk-{cluster}-")
        if not _POD_SUFFIX.search(name) and netns_exists(name)
    ]
    mark = f"winkube/{cluster}"
    return [name for name in names if link.links(name)["lo"].get("ifalias") == mark]


def _unmarked(names: Iterable[str]) -> list[str]:
    return [n for n in names if netns_exists(n) and not link.links(n)["lo"].get("ifalias")]


def _pod_namespaces_of(nodes: Iterable[str]) -> list[str]:
    """Pods' namespaces: a node's namespace name, then 12 hex digits of the HNS namespace."""
    return [
        name
        for node in nodes
        for name in list_netns(f"{node}-")
        if _POD_SUFFIX.fullmatch(name.removeprefix(node))
    ]


def delete_underlay(cluster: str, known: Iterable[str] = ()) -> None:
    """Remove every piece of the cluster's underlay that exists, whatever state a crash left.

    ``known`` are names of its nodes: their namespaces are ours though a crash left them unmarked.
    """
    outbound.remove(cluster)
    tor = netns_name(cluster, "tor")
    if netns_exists(tor):
        # Links first: a namespace that a process still holds would keep its cards.
        ports = [name for name in link.links(tor) if name == "host" or name.startswith("p")]
        link.batch([f"link delete {name}" for name in ports], netns=tor, force=True)
    if host_link(cluster) in link.links():
        link.batch([f"link delete {host_link(cluster)}"], force=True)
    nodes = [*_namespaces_of(cluster), *_unmarked(netns_name(cluster, name) for name in known)]
    for name in (*_pod_namespaces_of(nodes), *nodes, tor):
        delete_netns(name)
