"""Queries to answer bodies: what is ours is encoded once and kept until an object it read changes.

Names outside the zone are not answered here: the caller forwards them, or gives the answer that
lets a resolver fail fast.
"""

import struct
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import chain
from typing import Final

from dnslib import AAAA, CNAME, NS, PTR, RD, RR, SOA, SRV, TXT, A, DNSLabel, DNSQuestion, DNSRecord

from winkube.dns.directory import InformerDirectory
from winkube.dns.message import CLASS_ANY, CLASS_IN, Body, Query, Rcode, split_name
from winkube.dns.zone import NOT_THERE, Found, Record, Type, Zone

MAX_CACHED: Final = 20_000
# Answers with several records are kept in this many orders, given out in turn.
MAX_ORDERS: Final = 8
# So many fit the largest message with certainty; of more, each order begins elsewhere.
MOST_ADDRESSES, MOST_RECORDS = {Type.A: 4000, Type.AAAA: 2300}, 500
# Nobody transfers this zone, so the serial has no reader.
_SERIAL: Final = 1
# Refresh, retry and expiry, which only secondary servers would read.
_SOA_TIMES: Final = (7200, 1800, 86400)
_SOA_NUMBERS: Final = struct.Struct("!5I")
_FIXED: Final = struct.Struct("!HHIH")
_ADDRESS: Final = struct.Struct("!HHHIH")
# "The name is the one in the question", which begins right after the header.
_QUESTION_POINTER: Final = 0xC00C
_SIMPLE: Final = {
    Type.A: A,
    Type.AAAA: AAAA,
    Type.NS: NS,
    Type.CNAME: CNAME,
    Type.PTR: PTR,
    Type.TXT: TXT,
}


@dataclass(slots=True)
class Answer:
    """What to send: bodies to take in turn, and a name to ask elsewhere to complete them."""

    bodies: tuple[Body, ...]
    leaves_to: str | None = None
    records: tuple[Record, ...] = ()
    turn: int = 0

    def next(self) -> Body:
        self.turn = (self.turn + 1) % len(self.bodies)
        return self.bodies[self.turn]


class Answers:
    def __init__(self, zone: Zone, directory: InformerDirectory, ttl: int) -> None:
        self._zone, self._directory, self._ttl = zone, directory, ttl
        self._cache: dict[tuple[bytes, int], Answer] = {}
        self._readers: defaultdict[str, set[tuple[bytes, int]]] = defaultdict(set)
        self._authority = _pack_soa(zone, ttl)
        directory.on_change(self._forget)

    def find(self, query: Query) -> Answer | None:
        """None: the name is not ours."""
        if query.class_ not in (CLASS_IN, CLASS_ANY):
            return Answer((Body(Rcode.REFUSED, authoritative=False),))
        key = (query.name, query.type)
        answer = self._cache.get(key)
        if answer is None:
            answer = self._make(query)
            if answer is not None:
                self._keep(key, answer)
        return answer

    def complete(self, query: Query, answer: Answer, rest: list[RR], rcode: int) -> Body:
        """The alias that leaves the zone, followed by what its target's server said."""
        packet = DNSRecord(q=DNSQuestion(DNSLabel(split_name(query.name)), query.type))
        question = len(packet.pack())
        for record in answer.records:
            packet.add_answer(self._resource(record))
        packet.add_answer(*rest)
        return Body(Rcode(rcode), (len(packet.rr), 0, 0), bytes(packet.pack()[question:]))

    def _make(self, query: Query) -> Answer | None:
        self._directory.take_reads()
        raw = split_name(query.name)
        # Any byte may stand in a label; latin-1 maps each to a character of its own.
        labels = [label.decode("latin-1") for label in raw]
        address = _reverse_address(labels)
        if address is not None:
            found = self._zone.find_address(address)
            if not found.exists:
                return None
            if query.type not in (Type.PTR, Type.ANY):
                found = Found(exists=True)
        elif not self._zone.holds(labels):
            return None
        elif any("." in label for label in labels):
            found = NOT_THERE
        else:
            found = self._zone.find(labels, query.type)
        return self._encode(raw, query.type, found)

    def _encode(self, labels: tuple[bytes, ...], type_: int, found: Found) -> Answer:
        if not found.exists:
            return Answer((self._pack(labels, type_, Rcode.NXDOMAIN, found),))
        orders = [found]
        if len({record.type for record in found.records}) == 1:
            orders = [_rotated(found, turn) for turn in range(min(len(found.records), MAX_ORDERS))]
        bodies = tuple(self._pack(labels, type_, Rcode.NOERROR, order) for order in orders)
        return Answer(bodies, found.leaves_to, tuple(found.records))

    def _pack(self, labels: tuple[bytes, ...], type_: int, rcode: Rcode, found: Found) -> Body:
        if not found.records:
            # The zone's SOA without pointers means the same after any question.
            return Body(rcode, (0, 1, 0), self._authority)
        plain = self._pack_addresses(labels, found)
        if plain is not None:
            return Body(rcode, (len(found.records), 0, 0), plain)
        # dnslib compresses names against the question, whose place and length are the client's.
        packet = DNSRecord(q=DNSQuestion(DNSLabel(labels), type_))
        question = len(packet.pack())
        for record in found.records:
            packet.add_answer(self._resource(record))
        for record in found.extra:
            packet.add_ar(self._resource(record))
        counts = (len(packet.rr), 0, len(packet.ar))
        return Body(rcode, counts, bytes(packet.pack()[question:]))

    def _pack_addresses(self, labels: tuple[bytes, ...], found: Found) -> bytes | None:
        """Nearly all answers are addresses of the very name asked for: those go without dnslib."""
        name = b".".join(labels).decode("latin-1")
        if found.extra or any(
            r.type not in MOST_ADDRESSES or r.owner != name for r in found.records
        ):
            return None
        heads = {
            type_: _ADDRESS.pack(_QUESTION_POINTER, type_, CLASS_IN, self._ttl, size)
            for type_, size in ((Type.A, 4), (Type.AAAA, 16))
        }
        return b"".join(heads[r.type] + ip_address(str(r.data)).packed for r in found.records)

    def _resource(self, record: Record) -> RR:
        return RR(record.owner, int(record.type), ttl=self._ttl, rdata=self._data(record))

    def _data(self, record: Record) -> RD:
        if record.type is Type.SOA:
            server, contact = self._zone.soa()
            return SOA(server, contact, (_SERIAL, *_SOA_TIMES, self._ttl))
        if isinstance(record.data, tuple):
            port, target = record.data
            return SRV(0, 100, port, target)
        return _SIMPLE[record.type](record.data)

    def _keep(self, key: tuple[bytes, int], answer: Answer) -> None:
        if len(self._cache) >= MAX_CACHED:
            # Somebody asks for random names; starting over is cheaper than choosing.
            self._cache.clear()
            self._readers.clear()
        self._cache[key] = answer
        for read in self._directory.take_reads():
            self._readers[read].add(key)

    def _forget(self, keys: Iterable[str]) -> None:
        for reader in chain.from_iterable(self._readers.pop(key, ()) for key in keys):
            self._cache.pop(reader, None)


def _reverse_address(labels: list[str]) -> str | None:
    """The address that "4.3.2.1.in-addr.arpa", or 32 digits below "ip6.arpa", ask about."""
    digits = list(reversed(labels[:-2]))
    try:
        match labels[-2:], len(digits):
            case ["in-addr", "arpa"], 4:
                return str(IPv4Address(".".join(digits)))
            case ["ip6", "arpa"], 32 if all(len(digit) == 1 for digit in digits):
                return str(IPv6Address(bytes.fromhex("".join(digits))))
    except ValueError:
        pass
    return None


def _rotated(found: Found, turn: int) -> Found:
    records = found.records
    start = turn * max(1, len(records) // MAX_ORDERS)
    most = MOST_ADDRESSES.get(records[0].type, MOST_RECORDS)
    shown = (records[start:] + records[:start])[:most]
    if len(shown) == len(records):
        return Found(exists=True, records=shown, extra=found.extra)
    targets = {record.data[1] for record in shown if isinstance(record.data, tuple)}
    extra = [record for record in found.extra if record.owner in targets]
    return Found(exists=True, records=shown, extra=extra)


def _pack_soa(zone: Zone, ttl: int) -> bytes:
    server, contact = zone.soa()
    data = _wire(server) + _wire(contact) + _SOA_NUMBERS.pack(_SERIAL, *_SOA_TIMES, ttl)
    return _wire(zone.domain) + _FIXED.pack(Type.SOA, CLASS_IN, ttl, len(data)) + data


def _wire(name: str) -> bytes:
    labels = [label.encode("ascii") for label in name.split(".")]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
