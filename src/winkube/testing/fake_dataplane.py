"""A dataplane that only remembers: the rules of HNS without root and without packets."""

from winkube.hns.dataplane.types import Bridge, Counters, HostPort, Port, Rules, World


class FakeDataplane:
    def __init__(self) -> None:
        self.bridges: dict[str, Bridge] = {}
        self.namespaces: set[str] = set()
        self.ports: dict[str, Port] = {}
        self.host_ports: set[HostPort] = set()
        self.rules: dict[str, Rules] = {}

    def restore(self, world: World) -> None:
        self.bridges = {bridge.link: bridge for bridge in world.bridges}
        self.namespaces = set(world.namespaces)
        self.ports = {port.link: port for port in world.ports}
        self.host_ports = set(world.host_ports)
        self.rules = dict(world.rules)

    def ensure_bridge(self, bridge: Bridge) -> None:
        self.bridges[bridge.link] = bridge

    def delete_bridge(self, link: str) -> None:
        self.bridges.pop(link, None)

    def ensure_namespace(self, name: str) -> None:
        self.namespaces.add(name)

    def delete_namespace(self, name: str) -> None:
        self.namespaces.discard(name)

    def ensure_port(self, port: Port) -> None:
        self.ports[port.link] = port

    def delete_port(self, link: str) -> None:
        self.ports.pop(link, None)

    def ensure_host_port(self, port: HostPort) -> None:
        self.host_ports.add(port)

    def delete_host_port(self, port: HostPort) -> None:
        self.host_ports.discard(port)

    def program(self, owner: str, rules: Rules) -> None:
        if rules.elements or rules.chains:
            self.rules[owner] = rules
        else:
            self.rules.pop(owner, None)

    def counters(self, link: str) -> Counters:
        return Counters()
