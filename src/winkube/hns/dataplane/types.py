"""The seam between documents and packets: plain values in, nothing out.

Every call is an ``ensure``: it may be repeated, after a crash at any point, and leaves what already
fits untouched, so that a restart of the service never disturbs traffic.
"""

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Bridge:
    """An HNS network's switch."""

    link: str
    alias: str


@dataclass(frozen=True, slots=True)
class Route:
    prefix: str
    next_hop: str


@dataclass(frozen=True, slots=True)
class Port:
    """A network card in a pod's compartment, plugged into a switch."""

    link: str  # the switch's end
    bridge: str
    netns: str
    address: str  # with prefix length
    mac: str
    routes: tuple[Route, ...] = ()
    mtu: int | None = None
    bandwidth: int | None = None  # bytes per second the pod may send
    second: str = ""  # the address of the other family, with prefix length


@dataclass(frozen=True, slots=True)
class HostPort:
    """The host's own leg on a switch: the pods' gateway."""

    bridge: str
    address: str
    second: str = ""


@dataclass(frozen=True, slots=True, order=True)
class Element:
    """One entry of a packet-rule set or map."""

    set_name: str
    key: str
    value: str = ""
    table: str = "ip"  # or ip6


@dataclass(frozen=True, slots=True)
class Chain:
    name: str
    rules: tuple[str, ...]
    table: str = "ip"


@dataclass(frozen=True, slots=True)
class Rules:
    """What one object contributes to the packet rules."""

    elements: frozenset[Element] = frozenset()
    chains: frozenset[Chain] = frozenset()


@dataclass(frozen=True, slots=True)
class Counters:
    packets_received: int = 0
    bytes_received: int = 0
    dropped_received: int = 0
    packets_sent: int = 0
    bytes_sent: int = 0
    dropped_sent: int = 0


@dataclass(frozen=True, slots=True)
class World:
    """Everything that should exist, for the start of the service."""

    bridges: tuple[Bridge, ...] = ()
    namespaces: tuple[str, ...] = ()
    ports: tuple[Port, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    rules: dict[str, Rules] = field(default_factory=dict)


class Dataplane(Protocol):
    def restore(self, world: World) -> None:
        """Make everything fit, and remove what no document mentions."""
        ...

    def ensure_bridge(self, bridge: Bridge) -> None: ...

    def delete_bridge(self, link: str) -> None: ...

    def ensure_namespace(self, name: str) -> None: ...

    def delete_namespace(self, name: str) -> None: ...

    def ensure_port(self, port: Port) -> None: ...

    def delete_port(self, link: str) -> None: ...

    def ensure_host_port(self, port: HostPort) -> None: ...

    def delete_host_port(self, port: HostPort) -> None: ...

    def program(self, owner: str, rules: Rules) -> None:
        """Replace the owner's rules in one transaction."""
        ...

    def counters(self, link: str) -> Counters: ...
