"""The kernel's dataplane: a bridge per network, a veth per pod, one nftables table.

Pods do not see each other on the bridge: their addresses carry no route to the subnet and all they
send goes to the gateway, the host's own leg. That is how a load balancer's translation is undone on
the way back also when client and server share a node, as VFP does on each port of its switch.
Works on the namespace of the calling thread, which is the Windows host's.
"""

import contextlib
import logging
import re
from typing import Final

from winkube.aio.command import CommandError
from winkube.hns.config import HnsConfig
from winkube.hns.dataplane.rules import RuleBook, stale_flows, tables
from winkube.hns.dataplane.types import Bridge, Counters, HostPort, Port, Route, Rules, World
from winkube.hns.errors import Code, HnsError
from winkube.linux import conntrack, link, nft
from winkube.linux.command import run
from winkube.linux.netns import create_netns, delete_netns, list_netns, netns_exists

_OURS: Final = re.compile(r"hns[0-9a-f]{8}|v[0-9a-f]{12}")
_ALIAS: Final = re.compile(r"[A-Za-z0-9][\w.\-]{0,200}", re.ASCII)
_CARD: Final = "eth0"
_BURST_SECONDS: Final = 0.1
log = logging.getLogger(__name__)


class NetnsDataplane:
    def __init__(self, config: HnsConfig) -> None:
        self._config = config
        self._nft = nft.Session()
        self._book = RuleBook()

    def restore(self, world: World) -> None:
        existing = link.links()
        wanted = {bridge.link for bridge in world.bridges} | {port.link for port in world.ports}
        stale = [name for name in existing if _OURS.fullmatch(name) and name not in wanted]
        link.batch([f"link delete {name}" for name in stale], force=True)
        for name in set(list_netns(self._config.netns_prefix)) - set(world.namespaces):
            delete_netns(name)
        for namespace in world.namespaces:
            if not netns_exists(namespace):
                self.ensure_namespace(namespace)
        for bridge in world.bridges:
            self.ensure_bridge(bridge)
        for host_port in world.host_ports:
            self.ensure_host_port(host_port)
        for port in world.ports:
            if port.link not in existing:
                self._restore_port(port)
        self._restore_rules(world)

    def _restore_port(self, port: Port) -> None:
        try:
            self.ensure_port(port)
        except HnsError:
            # One pod without network is its own trouble; the others must get theirs.
            log.exception("pod not reconnected", extra={"netns": port.netns, "link": port.link})

    def _restore_rules(self, world: World) -> None:
        for owner, rules in world.rules.items():
            self._book.replace(owner, rules)
        self._apply(tables(self._config) + self._book.everything())

    def ensure_bridge(self, bridge: Bridge) -> None:
        mac = "02:" + ":".join(bridge.link[3 + i : 5 + i] for i in range(0, 8, 2)) + ":01"
        commands = [f"link set dev {bridge.link} up address {mac}"]
        if bridge.link not in link.links():
            kind = "type bridge forward_delay 0 stp_state 0 mcast_snooping 0"
            commands.insert(0, f"link add {bridge.link} {kind}")
        if _ALIAS.fullmatch(bridge.alias):
            commands.append(f"link set dev {bridge.link} alias {bridge.alias}")
        self._batch(commands)
        link.set_sysctls(
            {
                f"net.ipv4.conf.{bridge.link}.send_redirects": 0,
                f"net.ipv4.conf.{bridge.link}.rp_filter": 0,
                f"net.ipv4.conf.{bridge.link}.forwarding": 1,
            }
        )

    def delete_bridge(self, link_name: str) -> None:
        self._delete_link(link_name)

    def ensure_namespace(self, name: str) -> None:
        create_netns(name)

    def delete_namespace(self, name: str) -> None:
        delete_netns(name)

    def ensure_port(self, port: Port) -> None:
        size = f"mtu {port.mtu} " if port.mtu else ""
        card = f"peer name {_CARD} {size}address {port.mac} netns {port.netns}"
        try:
            link.batch(self._plug_commands(port, f"{size}type veth {card}"))
        except CommandError:
            # The most likely reason is a half-made pair of an earlier, killed attempt.
            self._delete_link(port.link)
            self._batch(self._plug_commands(port, f"{size}type veth {card}"))
        try:
            link.batch(_card_commands(port), netns=port.netns)
            self._limit(port)
        except CommandError as error:
            self._delete_link(port.link)
            raise HnsError(Code.NAMESPACE_ATTACH_FAILED) from error

    def _plug_commands(self, port: Port, description: str) -> list[str]:
        return [
            f"link add {port.link} {description}",
            f"link set dev {port.link} master {port.bridge} up",
            f"link set dev {port.link} type bridge_slave isolated on",
        ]

    def _limit(self, port: Port) -> None:
        if port.bandwidth is None:
            return
        burst = max(int(port.bandwidth * _BURST_SECONDS), 2 * 65536)
        words = ["tc", "-n", port.netns, "qdisc", "replace", "dev", _CARD, "root", "tbf"]
        run([*words, "rate", f"{port.bandwidth}bps", "burst", str(burst), "latency", "100ms"])

    def delete_port(self, link_name: str) -> None:
        self._delete_link(link_name)

    def ensure_host_port(self, port: HostPort) -> None:
        commands = [f"address replace {port.address} dev {port.bridge}"]
        if port.second:
            commands.append(f"address replace {port.second} dev {port.bridge} nodad")
        self._batch(commands)

    def delete_host_port(self, port: HostPort) -> None:
        addresses = filter(None, (port.address, port.second))
        link.batch([f"address delete {ip} dev {port.bridge}" for ip in addresses], force=True)

    def program(self, owner: str, rules: Rules) -> None:
        before = self._book.rules_of(owner)
        commands = self._book.replace(owner, rules)
        if not commands:
            return
        try:
            self._apply(commands)
        except HnsError:
            self._book.replace(owner, before)
            raise
        self._forget_flows(before, rules)

    def _forget_flows(self, before: Rules, rules: Rules) -> None:
        """UDP flows that would go on to a backend that left, or past a frontend that came."""
        patterns = stale_flows(before, rules, self._config)
        try:
            conntrack.forget(patterns)
        except OSError:
            # They expire half a minute after their last packet; nothing else depends on it.
            log.warning("old UDP flows not forgotten", exc_info=True)

    def counters(self, link_name: str) -> Counters:
        with contextlib.suppress(CommandError):
            row = link.query("-stats", "link", "show", "dev", link_name)[0]["stats64"]
            # What the switch's end receives is what the pod has sent.
            sent, received = row["rx"], row["tx"]
            return Counters(
                received["packets"],
                received["bytes"],
                received["dropped"],
                sent["packets"],
                sent["bytes"],
                sent["dropped"],
            )
        return Counters()

    def _apply(self, ruleset: str) -> None:
        try:
            self._nft.apply(ruleset)
        except CommandError as error:
            log.exception("packet rules refused", extra={"ruleset": ruleset[:2000]})
            raise HnsError(Code.GENERAL_FAILURE, f"packet rules refused: {error}") from error

    def _batch(self, commands: list[str]) -> None:
        try:
            link.batch(commands)
        except CommandError as error:
            raise HnsError(Code.GENERAL_FAILURE, f"link setup failed: {error}") from error

    def _delete_link(self, name: str) -> None:
        link.batch([f"link delete {name}"], force=True)


def _card_commands(port: Port) -> list[str]:
    """The pod's side: its address, the gateway on the link, and everything by way of that."""
    commands = [
        f"link set dev {_CARD} up",
        f"address replace {port.address} dev {_CARD} noprefixroute",
    ]
    if port.second:
        commands.append(f"address replace {port.second} dev {_CARD} noprefixroute nodad")
    hops = dict.fromkeys(route.next_hop for route in port.routes)
    commands += [f"route replace {_whole(hop)} dev {_CARD} scope link" for hop in hops]
    commands += [
        f"route replace {route.prefix} via {route.next_hop} dev {_CARD} src {_own(port, route)}"
        for route in port.routes
    ]
    return commands


def _whole(hop: str) -> str:
    return f"{hop}/128" if ":" in hop else f"{hop}/32"


def _own(port: Port, route: Route) -> str:
    address = port.second if ":" in route.next_hop else port.address
    return address.split("/")[0]
