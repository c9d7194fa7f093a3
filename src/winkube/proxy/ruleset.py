"""Service ports as nftables text: pure, and in pieces small enough to change one at a time.

One port becomes a Rendering: chains with their rules, dynamic sets for client affinity, and
elements of the table's shared maps. Two Renderings of a port give the commands that lead from the
one to the other; all commands of a sync run in one nft transaction, so no packet sees half of it.

A packet's way: firewall chains (source ranges) -> ``services`` looks up (address, protocol, port)
-> a policy chain picks a backend -> the backend's chain rewrites the destination. What found no
backend meets ``endpoint-check`` later and is refused there, after address translation, so that
traffic which was translated on another ground is left alone.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from winkube.proxy.family import IPV4, Family
from winkube.proxy.service import Backend, ServicePort

TABLE = "winkube-proxy"
# The bit upstream's kube-proxy uses, so that CNI plugins which look for it find it here too.
MASQUERADE_MARK = 0x4000


def base_ruleset(family: Family = IPV4) -> str:
    """The table without any Service, in place of what is there."""
    ip, lo, address = family.word, family.loopback, family.address_type
    return f"""
add table {ip} {TABLE}
delete table {ip} {TABLE}
table {ip} {TABLE} {{
  comment "services of the cluster"
  map service-ips {{ type {address} . inet_proto . inet_service : verdict; }}
  map service-nodeports {{ type inet_proto . inet_service : verdict; }}
  map no-endpoint-ips {{ type {address} . inet_proto . inet_service : verdict; }}
  map no-endpoint-nodeports {{ type inet_proto . inet_service : verdict; }}
  map firewall-ips {{ type {address} . inet_proto . inet_service : verdict; }}
  set cluster-ips {{ type {address}; }}

  chain mark-for-masquerade {{ meta mark set meta mark or {MASQUERADE_MARK:#x}; }}
  chain refuse {{
    meta l4proto tcp reject with tcp reset
    reject
  }}
  chain discard {{ drop; }}
  chain firewall-check {{ {ip} daddr . meta l4proto . th dport vmap @firewall-ips; }}
  chain endpoint-check {{
    {ip} daddr . meta l4proto . th dport vmap @no-endpoint-ips
    fib daddr type local {ip} daddr != {lo} meta l4proto . th dport vmap @no-endpoint-nodeports
  }}
  chain cluster-ip-check {{
    {ip} daddr @cluster-ips meta l4proto {{ tcp, udp, sctp }} goto refuse
  }}
  chain services {{
    {ip} daddr . meta l4proto . th dport vmap @service-ips
    fib daddr type local {ip} daddr != {lo} meta l4proto . th dport vmap @service-nodeports
  }}

  chain filter-prerouting {{
    type filter hook prerouting priority dstnat - 10
    ct state new jump firewall-check
  }}
  chain filter-output-early {{
    type filter hook output priority -110
    ct state new jump firewall-check
  }}
  chain filter-input {{
    type filter hook input priority filter
    ct state new jump endpoint-check
  }}
  chain filter-forward {{
    type filter hook forward priority filter
    ct state new jump endpoint-check
    ct state new jump cluster-ip-check
  }}
  chain filter-output {{
    type filter hook output priority filter
    ct state new jump endpoint-check
    ct state new jump cluster-ip-check
  }}
  chain nat-prerouting {{
    type nat hook prerouting priority dstnat
    jump services
  }}
  chain nat-output {{
    type nat hook output priority -100
    jump services
  }}
  chain nat-postrouting {{
    type nat hook postrouting priority srcnat
    meta mark and {MASQUERADE_MARK:#x} == 0 return
    meta mark set meta mark xor {MASQUERADE_MARK:#x}
    masquerade fully-random
  }}
}}
"""


@dataclass(frozen=True, slots=True)
class Rendering:
    chains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Name -> seconds an entry lives.
    affinity: Mapping[str, int] = field(default_factory=dict)
    # (map or set, key) -> verdict, empty for a set.
    elements: Mapping[tuple[str, str], str] = field(default_factory=dict)


NOTHING = Rendering()


def render_port(port: ServicePort, cluster_cidr: str) -> Rendering:
    names = _Names(port)
    elements = _Elements(port, names)
    cluster, local = port.cluster_backends, port.local_backends
    uses_external = bool(port.node_port or port.external_ips or port.ingress_ips)
    chains: dict[str, tuple[str, ...]] = {}
    if cluster and (not port.internal_local or uses_external):
        chains[names.cluster] = _policy_chain(port, names, cluster, cluster_cidr)
    if local and (port.internal_local or (port.external_local and uses_external)):
        chains[names.local] = _policy_chain(port, names, local, cluster_cidr)
    elements.add_internal()
    if uses_external:
        if cluster:
            chains[names.external] = _external_chain(port, names, cluster_cidr, bool(local))
        elements.add_external()
    if port.source_ranges and port.ingress_ips:
        chains[names.firewall] = (
            f"{port.family.word} saddr {{ {', '.join(port.source_ranges)} }} return",
            "drop",
        )
        elements.add_firewall()
    affinity: dict[str, int] = {}
    for backend in {*cluster, *local} if chains else ():
        chains[names.endpoint(backend)] = _endpoint_chain(port, names, backend)
        if port.affinity_seconds:
            affinity[names.affinity(backend)] = port.affinity_seconds
    return Rendering(chains, affinity, elements.found)


Elements = Mapping[tuple[str, str], str]


def plan_update(
    changes: Iterable[tuple[Rendering, Rendering]], old: Elements, new: Elements, family: Family
) -> list[str]:
    """The commands, in an order that nft accepts: make, fill, unhook, hook, remove.

    Elements come separately: several ports may claim one, which only the Book can tell.
    """
    table = f"{family.word} {TABLE}"
    make: list[str] = []
    fill: list[str] = []
    flush: list[str] = []
    remove: list[str] = []
    for before, after in changes:
        gone, fresh = before.chains.keys() - after.chains.keys(), after.chains.keys()
        flush += [f"flush chain {table} {name}" for name in gone]
        remove += [f"delete chain {table} {name}" for name in gone]
        make += [f"add chain {table} {name}" for name in fresh - before.chains.keys()]
        for name, rules in after.chains.items():
            fill += _fill_chain(table, name, before.chains.get(name), rules)
        sets = _plan_affinity(before.affinity, after.affinity, family)
        make += sets[0]
        remove += sets[1]
    unhook = [
        f"delete element {table} {where} {{ {key} }}"
        for (where, key), verdict in old.items()
        if new.get((where, key)) != verdict
    ]
    hook = [
        f"add element {table} {where} {{ {key}{f' : {verdict}' if verdict else ''} }}"
        for (where, key), verdict in new.items()
        if old.get((where, key)) != verdict
    ]
    return make + fill + unhook + hook + flush + remove


class Book:
    """What the kernel holds for each port, and who may use an element that several ports claim.

    Sibling ports share their cluster IP, and nothing stops two Services from naming one external
    address: the first to claim an element has it, and the next in line inherits it.
    """

    def __init__(self, family: Family = IPV4) -> None:
        self._family = family
        self._renderings: dict[str, Rendering] = {}
        self._claims: dict[tuple[str, str], dict[str, str]] = {}

    def update(self, wanted: Mapping[str, Rendering]) -> list[str]:
        """Record these ports (NOTHING forgets one) and return the commands that make it true."""
        changes = []
        touched: set[tuple[str, str]] = set()
        for identity, after in wanted.items():
            before = self._renderings.get(identity, NOTHING)
            if before != after:
                changes.append((before, after))
                touched |= before.elements.keys() | after.elements.keys()
        old = self._owned(touched)
        for identity, after in wanted.items():
            self._record(identity, after)
        return plan_update(changes, old, self._owned(touched), self._family)

    def _owned(self, keys: Iterable[tuple[str, str]]) -> Elements:
        return {
            key: next(iter(claims.values())) for key in keys if (claims := self._claims.get(key))
        }

    def _record(self, identity: str, after: Rendering) -> None:
        before = self._renderings.pop(identity, NOTHING)
        if after != NOTHING:
            self._renderings[identity] = after
        for key in before.elements.keys() - after.elements.keys():
            self._claims[key].pop(identity)
            if not self._claims[key]:
                del self._claims[key]
        for key, verdict in after.elements.items():
            self._claims.setdefault(key, {})[identity] = verdict


def remember_clients(
    renderings: Iterable[Rendering],
    clients: Mapping[str, Mapping[str, int]],
    family: Family = IPV4,
) -> list[str]:
    """Carry the clients of an earlier table's affinity sets over, with the time they have left."""
    return [
        f"add element {family.word} {TABLE} {name} "
        f"{{ {client} timeout {seconds}s expires {left}s }}"
        for rendering in renderings
        for name, seconds in rendering.affinity.items()
        for client, left in clients.get(name, {}).items()
        if 0 < left <= seconds
    ]


def _fill_chain(
    table: str, name: str, old: Sequence[str] | None, rules: Sequence[str]
) -> list[str]:
    if old == rules:
        return []
    head = [] if old is None else [f"flush chain {table} {name}"]
    return head + [f"add rule {table} {name} {rule}" for rule in rules]


def _plan_affinity(
    old: Mapping[str, int], new: Mapping[str, int], family: Family
) -> tuple[list[str], list[str]]:
    table = f"{family.word} {TABLE}"
    # The timeout is part of the name, so a set never changes, it is only made and removed.
    make = [
        f"add set {table} {name} "
        f"{{ type {family.address_type}; flags dynamic,timeout; timeout {seconds}s; }}"
        for name, seconds in new.items()
        if name not in old
    ]
    return make, [f"delete set {table} {name}" for name in old.keys() - new.keys()]


class _Names:
    """Chain and set names of one port: short, unique, and the same in every process."""

    def __init__(self, port: ServicePort) -> None:
        self._identity, self._affinity = port.identity, port.affinity_seconds
        tag = _tag(port.identity)
        self.cluster, self.local = f"svc-{tag}", f"loc-{tag}"
        self.external, self.firewall = f"ext-{tag}", f"fw-{tag}"

    def endpoint(self, backend: Backend) -> str:
        return f"ep-{_tag(f'{self._identity} {backend.ip}:{backend.port}')}"

    def affinity(self, backend: Backend) -> str:
        return f"aff-{self.endpoint(backend)[3:]}-{self._affinity}"


def _tag(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class _Elements:
    """Entries of the shared maps for one port."""

    def __init__(self, port: ServicePort, names: _Names) -> None:
        self._port, self._names = port, names
        self.found: dict[tuple[str, str], str] = {}

    def add_internal(self) -> None:
        port, key = self._port, self._key(self._port.cluster_ip)
        self.found["cluster-ips", port.cluster_ip] = ""
        if port.internal_backends:
            chain = self._names.local if port.internal_local else self._names.cluster
            self.found["service-ips", key] = f"goto {chain}"
        else:
            self.found["no-endpoint-ips", key] = self._absent()

    def add_external(self) -> None:
        port = self._port
        for ip in dict.fromkeys(port.external_ips + port.ingress_ips):
            self._add_front("ips", self._key(ip))
        if port.node_port:
            self._add_front("nodeports", f"{port.protocol.lower()} . {port.node_port}")

    def add_firewall(self) -> None:
        for ip in self._port.ingress_ips:
            self.found["firewall-ips", self._key(ip)] = f"goto {self._names.firewall}"

    def _add_front(self, kind: str, key: str) -> None:
        if self._port.cluster_backends:
            self.found[f"service-{kind}", key] = f"goto {self._names.external}"
        if not self._port.external_backends:
            self.found[f"no-endpoint-{kind}", key] = self._absent()

    def _absent(self) -> str:
        # Backends elsewhere may become reachable by another node: silence lets the client retry.
        return "goto discard" if self._port.cluster_backends else "goto refuse"

    def _key(self, ip: str) -> str:
        return f"{ip} . {self._port.protocol.lower()} . {self._port.port}"


def _policy_chain(
    port: ServicePort, names: _Names, backends: Sequence[Backend], cluster_cidr: str
) -> tuple[str, ...]:
    protocol, ip = port.protocol.lower(), port.family.word
    rules = [
        f"{ip} daddr {port.cluster_ip} {protocol} dport {port.port} {ip} saddr != {cluster_cidr} "
        "jump mark-for-masquerade"
    ]
    if port.affinity_seconds:
        rules += [f"{ip} saddr @{names.affinity(b)} goto {names.endpoint(b)}" for b in backends]
    if len(backends) == 1:
        rules.append(f"goto {names.endpoint(backends[0])}")
    else:
        choice = ", ".join(f"{i} : goto {names.endpoint(b)}" for i, b in enumerate(backends))
        rules.append(f"numgen random mod {len(backends)} vmap {{ {choice} }}")
    return tuple(rules)


def _external_chain(
    port: ServicePort, names: _Names, cluster_cidr: str, has_local: bool
) -> tuple[str, ...]:
    if not port.external_local:
        return ("jump mark-for-masquerade", f"goto {names.cluster}")
    # Only traffic from outside is bound to this node's backends; the cluster's own is not.
    rules = [
        f"{port.family.word} saddr {cluster_cidr} goto {names.cluster}",
        "fib saddr type local jump mark-for-masquerade",
        f"fib saddr type local goto {names.cluster}",
    ]
    if has_local:
        rules.append(f"goto {names.local}")
    return tuple(rules)


def _endpoint_chain(port: ServicePort, names: _Names, backend: Backend) -> tuple[str, ...]:
    ip, place = port.family.word, port.family.to_place(backend.ip, backend.port)
    rules = [f"{ip} saddr {backend.ip} jump mark-for-masquerade"]
    if port.affinity_seconds:
        rules.append(f"update @{names.affinity(backend)} {{ {ip} saddr }}")
    rules.append(f"meta l4proto {port.protocol.lower()} dnat to {place}")
    return tuple(rules)
