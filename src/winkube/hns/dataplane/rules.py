"""HNS objects as packet rules: pure text, one nftables table, and element changes in batches.

How a connection is balanced: ``frontends`` (address, protocol, port) or ``nodeports`` (protocol,
port) leads to a *spread* chain, shared by all load balancers with the same number of backends and
the same way of choosing. It writes the chosen slot into the packet mark; ``backends`` (the same key
and the mark) then gives the target. So the cost of a packet does not grow with the number of load
balancers, and programming one is a handful of element changes and no new rule.

The mark also says what address translation has to know later: bit 16, direct server return.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from winkube.hns.acl import Acl
from winkube.hns.config import HnsConfig
from winkube.hns.dataplane.family import IPV4, IPV6, Family, family_of
from winkube.hns.dataplane.types import Chain, Element, Rules
from winkube.hns.document import Address
from winkube.hns.policy import OutboundNat, PortMapping
from winkube.linux.conntrack import Pattern

TABLE: Final = "winkube-hns"
MARK: Final = 0x57000000
MARK_MASK: Final = 0xFF000000
DSR: Final = 0x00010000
PROTOCOLS: Final = {6: "tcp", 17: "udp", 132: "sctp"}
SETS: Final = {
    "frontends": "map frontends { type ipv4_addr . inet_proto . inet_service : verdict; }",
    "backends": "map backends "
    "{ type ipv4_addr . inet_proto . inet_service . mark : ipv4_addr . inet_service; }",
    "nodeports": "map nodeports { type inet_proto . inet_service : verdict; }",
    "nodeport-backends": "map nodeport-backends "
    "{ type inet_proto . inet_service . mark : ipv4_addr . inet_service; }",
    "vips": "set vips { type ipv4_addr; }",
    "selves": "set selves { type ipv4_addr . ipv4_addr; }",
    "outbound": "map outbound { type ipv4_addr : verdict; }",
    "outbound-icmp": "map outbound-icmp { type ipv4_addr : verdict; }",
    "encapsulated": "map encapsulated { type ipv4_addr : verdict; }",
    "acl-in": "map acl-in { type ipv4_addr : verdict; }",
    "acl-out": "map acl-out { type ipv4_addr : verdict; }",
}


@dataclass(frozen=True, slots=True)
class Spread:
    """How connections are dealt out: 0 each at random, 1 by source and protocol, 2 by source."""

    backends: int
    distribution: int
    dsr: bool

    @property
    def first_mark(self) -> int:
        return MARK | (DSR if self.dsr else 0)

    def chain(self, family: Family, *, nodeport: bool) -> Chain:
        suffix = ("d" if self.dsr else "") + ("n" if nodeport else "")
        choice = {
            1: f"jhash {family.word} saddr . {family.protocol}",
            2: f"jhash {family.word} saddr",
        }.get(self.distribution, "numgen random")
        mark = f"meta mark set {choice} mod {self.backends} offset {self.first_mark:#x}"
        pick = "pick-nodeport" if nodeport else "pick"
        name = f"spread-{self.backends}-{self.distribution}{suffix}"
        return Chain(name, (mark, f"goto {pick}"), family.word)


@dataclass(frozen=True, slots=True)
class Frontend:
    vip: str  # empty: every address of the node
    protocol: int
    port: int
    ipv6: bool = False

    @property
    def family(self) -> Family:
        return IPV6 if self.ipv6 else IPV4


def rules_for_frontend(
    frontend: Frontend, backends: Sequence[tuple[str, int]], *, distribution: int, dsr: bool
) -> Rules:
    """One balanced port; without backends it is not there at all."""
    if not backends:
        return Rules()
    spread = Spread(len(backends), distribution, dsr)
    table = frontend.family.word
    chain = spread.chain(frontend.family, nodeport=not frontend.vip)
    protocol = PROTOCOLS[frontend.protocol]
    parts = (
        (frontend.vip, protocol, str(frontend.port))
        if frontend.vip
        else (protocol, str(frontend.port))
    )
    key = " . ".join(parts)
    heads, slots = ("frontends", "backends") if frontend.vip else ("nodeports", "nodeport-backends")
    elements = {Element(heads, key, f"goto {chain.name}", table)}
    if frontend.vip:
        elements.add(Element("vips", frontend.vip, table=table))
    elements |= {
        Element(slots, f"{key} . {spread.first_mark + slot:#x}", f"{address} . {port}", table)
        for slot, (address, port) in enumerate(backends)
    }
    return Rules(frozenset(elements), frozenset({chain}))


def merge(rules: Iterable[Rules]) -> Rules:
    rows = list(rules)
    return Rules(
        frozenset().union(*(row.elements for row in rows)),
        frozenset().union(*(row.chains for row in rows)),
    )


def rules_for_endpoint(
    address: IPv4Address,
    nat: OutboundNat | None,
    mappings: Sequence[PortMapping],
    acls: Sequence[Acl],
    encapsulated: Sequence[str],
    config: HnsConfig,
) -> Rules:
    parts = [Rules(frozenset({Element("selves", f"{address} . {address}")}))]
    if nat is not None:
        parts.append(_outbound_rules(address, nat, config))
    parts += _encapsulated_rules(address, encapsulated, config.uplink)
    parts += _mapping_rules(address, mappings)
    parts += _acl_rules(address, acls)
    return merge(parts)


def rules_for_second(
    address: IPv6Address,
    mappings: Sequence[PortMapping],
    acls: Sequence[Acl],
    encapsulated: Sequence[str],
    uplink: str,
) -> Rules:
    """The endpoint's other address. Nothing is translated: the way leads no further than the host.

    A rule that names addresses names IPv4 ones, and means none of this family's packets.
    """
    parts = [Rules(frozenset({Element("selves", f"{address} . {address}", table=IPV6.word)}))]
    parts += _encapsulated_rules(address, encapsulated, uplink)
    parts += _mapping_rules(address, mappings)
    parts += _acl_rules(address, [acl for acl in acls if not acl.local and not acl.remote])
    return merge(parts)


def _encapsulated_rules(address: Address, prefixes: Sequence[str], uplink: str) -> list[Rules]:
    """Dropped unseen, not refused.

    A connection that comes a moment before its load balancer is tried again by its sender, and
    conntrack has not learnt a path without translation.
    """
    if not prefixes:
        return []
    table = family_of(str(address)).word
    drop = f'{table} daddr {{ {", ".join(prefixes)} }} oifname "{uplink}" drop'
    chain = _named("encap", [drop], table)
    element = Element("encapsulated", str(address), f"jump {chain.name}", table)
    return [Rules(frozenset({element}), frozenset({chain}))]


def _mapping_rules(address: Address, mappings: Sequence[PortMapping]) -> list[Rules]:
    ipv6 = address.version == 6
    return [
        rules_for_frontend(
            Frontend(mapping.vip, mapping.protocol, mapping.external_port, ipv6),
            [(str(address), mapping.internal_port)],
            distribution=0,
            dsr=False,
        )
        for mapping in mappings
        if mapping.ipv6 == ipv6
    ]


def _outbound_rules(address: IPv4Address, nat: OutboundNat, config: HnsConfig) -> Rules:
    source = nat.virtual_ip or config.management_ip
    translate = f"meta l4proto {{ tcp, udp, sctp }} snat to {source}"
    rules, drops = [], []
    if nat.destinations:
        rules.append(f"ip daddr {{ {', '.join(nat.destinations)} }} {translate}")
    if nat.general:
        if nat.exceptions:
            skip = f"ip daddr {{ {', '.join(nat.exceptions)} }} return"
            rules.append(skip)
            drops.append(skip)
        rules.append(f'oifname "{config.uplink}" {translate}')
        # Windows does not translate ICMP, and what is not translated gets no answer.
        drops.append(f'oifname "{config.uplink}" drop')
    nat_chain = _named("nat", rules)
    chains, elements = {nat_chain}, {Element("outbound", str(address), f"goto {nat_chain.name}")}
    if drops:
        icmp_chain = _named("icmp", drops)
        chains.add(icmp_chain)
        elements.add(Element("outbound-icmp", str(address), f"goto {icmp_chain.name}"))
    return Rules(frozenset(elements), frozenset(chains))


def _acl_rules(address: Address, acls: Sequence[Acl]) -> list[Rules]:
    table = family_of(str(address)).word
    found = []
    for name, inbound in (("acl-in", True), ("acl-out", False)):
        rules = [_acl_rule(acl) for acl in acls if acl.inbound == inbound]
        if rules:
            chain = _named("acl", rules, table)
            element = Element(name, str(address), f"jump {chain.name}", table)
            found.append(Rules(frozenset({element}), frozenset({chain})))
    return found


def _acl_rule(acl: Acl) -> str:
    here, there = ("daddr", "saddr") if acl.inbound else ("saddr", "daddr")
    near, far = ("dport", "sport") if acl.inbound else ("sport", "dport")
    protocols = acl.protocols or ((6, 17) if acl.local_ports or acl.remote_ports else ())
    words = [
        f"meta l4proto {_set(map(str, protocols))}" if protocols else "",
        f"ip {here} {_set(acl.local)}" if acl.local else "",
        f"ip {there} {_set(acl.remote)}" if acl.remote else "",
        f"th {near} {_set(acl.local_ports)}" if acl.local_ports else "",
        f"th {far} {_set(acl.remote_ports)}" if acl.remote_ports else "",
        "return" if acl.allow else "drop",
    ]
    return " ".join(word for word in words if word)


def _set(items: Iterable[str]) -> str:
    return "{ " + ", ".join(items) + " }"


def _named(prefix: str, rules: Sequence[str], table: str = IPV4.word) -> Chain:
    """A chain named after what it says, so that endpoints with equal policies share it."""
    digest = hashlib.sha1("\n".join(rules).encode(), usedforsecurity=False).hexdigest()[:16]
    return Chain(f"{prefix}-{digest}", tuple(rules), table)


def tables(config: HnsConfig) -> str:
    """Every table without objects, in place of what is there."""
    families = {IPV4: config.management_ip} | ({IPV6: config.second_ip} if config.dual else {})
    return "".join(
        f"add table {family.word} {TABLE}\ndelete table {family.word} {TABLE}\n"
        + _skeleton(family, node, config.uplink)
        for family, node in families.items()
    )


def _skeleton(family: Family, node: str, uplink: str) -> str:
    """The surrounding transaction makes replacing it unnoticeable."""
    ip, icmp = family.word, family.icmp
    # IPv6 has no switch for this: a redirect would teach pods a way past the host, to each other.
    quiet = "icmpv6 type nd-redirect drop" if family is IPV6 else ""
    sets = "\n  ".join(SETS.values()).replace(IPV4.address_type, family.address_type)
    l4 = "meta l4proto { tcp, udp, sctp }"
    return f"""\
table {ip} {TABLE} {{
  {sets}
  chain pick {{
    {l4} dnat {ip} to {ip} daddr . meta l4proto . th dport . meta mark map @backends
  }}
  chain pick-nodeport {{
    {l4} dnat {ip} to meta l4proto . th dport . meta mark map @nodeport-backends
  }}
  chain services {{
    {ip} daddr . meta l4proto . th dport vmap @frontends
    {ip} daddr != {family.loopback} fib daddr type local meta l4proto . th dport vmap @nodeports
  }}
  chain prerouting {{
    type nat hook prerouting priority dstnat; policy accept;
    jump services
  }}
  chain output {{
    type nat hook output priority -100; policy accept;
    jump services
  }}
  chain postrouting {{
    type nat hook postrouting priority srcnat; policy accept;
    meta mark & {MARK_MASK:#x} == {MARK:#x} jump balanced
    {ip} saddr vmap @outbound
  }}
  chain balanced {{
    meta mark & {DSR:#x} == 0 {ip} saddr . {ip} daddr @selves snat to {node}
    iifname "{uplink}" oifname "{uplink}" snat to {node}
  }}
  chain filter {{
    ct state established,related accept
    meta l4proto {icmp} {ip} daddr @vips drop
    {ip} saddr vmap @encapsulated
    {ip} daddr vmap @acl-in
    {ip} saddr vmap @acl-out
    meta l4proto {icmp} {ip} saddr vmap @outbound-icmp
  }}
  chain forward {{
    type filter hook forward priority filter; policy accept;
    jump filter
  }}
  chain to-pods {{
    type filter hook output priority filter; policy accept;
    {quiet}
    ct state new {ip} daddr vmap @acl-in
  }}
  chain from-pods {{
    type filter hook input priority filter; policy accept;
    ct state new {ip} saddr vmap @acl-out
  }}
}}
"""


def stale_flows(before: Rules, after: Rules, config: HnsConfig) -> list[Pattern]:
    """UDP flows that no longer fit: to backends that left, or untranslated to a new frontend."""
    patterns = []
    for item in before.elements ^ after.elements:
        parts = item.key.split(" . ")
        node_ip = config.second_ip if item.table == IPV6.word else config.management_ip
        match item.set_name:
            case "backends" if parts[1] == "udp" and item in before.elements:
                answerer = item.value.split(" . ")[0]
                patterns.append(Pattern(int(parts[2]), answerer, target=parts[0]))
            case "nodeport-backends" if parts[0] == "udp" and item in before.elements:
                patterns.append(Pattern(int(parts[1]), item.value.split(" . ")[0]))
            case "frontends" if parts[1] == "udp" and item in after.elements:
                patterns.append(Pattern(int(parts[2]), parts[0], target=parts[0]))
            case "nodeports" if parts[0] == "udp" and item in after.elements:
                patterns.append(Pattern(int(parts[1]), node_ip, target=node_ip))
    return patterns


class RuleBook:
    """Which owner wants which elements and chains; says what has to change in the kernel."""

    def __init__(self) -> None:
        self._owners: dict[str, Rules] = {}
        self._users: dict[Element | Chain, int] = {}

    def replace(self, owner: str, rules: Rules) -> str:
        """Commands that turn the owner's old rules into the new ones; empty when equal."""
        old = self.rules_of(owner)
        fresh = self._count([*rules.chains, *rules.elements], 1)
        stale = self._count([*old.chains, *old.elements], -1)
        if rules == Rules():
            self._owners.pop(owner, None)
        else:
            self._owners[owner] = rules
        return _commands(fresh, stale)

    def rules_of(self, owner: str) -> Rules:
        return self._owners.get(owner, Rules())

    def _count(self, items: Iterable[Element | Chain], step: int) -> set[Element | Chain]:
        """Items whose last user went, or whose first one came."""
        crossed = set()
        for item in items:
            users = self._users.get(item, 0) + step
            if users == (1 if step > 0 else 0):
                crossed.add(item)
            self._users[item] = users
            if users == 0:
                del self._users[item]
        return crossed

    def everything(self) -> str:
        return _commands(set(self._users), set())


def _commands(fresh: set[Element | Chain], stale: set[Element | Chain]) -> str:
    lines = [_element("delete", item) for item in stale if isinstance(item, Element)]
    for item in stale:
        if isinstance(item, Chain):
            chain = f"chain {item.table} {TABLE} {item.name}"
            lines += [f"flush {chain}", f"delete {chain}"]
    for item in fresh:
        if isinstance(item, Chain):
            place = f"{item.table} {TABLE} {item.name}"
            lines.append(f"add chain {place}")
            lines += [f"add rule {place} {rule}" for rule in item.rules]
    lines += [_element("add", item) for item in fresh if isinstance(item, Element)]
    return "".join(line + "\n" for line in lines)


def _element(verb: str, item: Element) -> str:
    value = f" : {item.value}" if item.value else ""
    return f"{verb} element {item.table} {TABLE} {item.set_name} {{ {item.key}{value} }}"
