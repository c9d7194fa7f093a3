"""Forgetting tracked connections: those of IPv4 by one netlink message per pattern.

A UDP flow keeps the translation (or the lack of one) its first packet got, for as long as packets
come. When a balanced port gains or loses a backend, flows that no longer fit have to be forgotten.
Needs a kernel that filters flushes (5.8). Its filter takes IPv6 addresses the wrong way round, and
forgets all flows but those (torvalds/linux: net/netfilter/nf_conntrack_netlink.c, seen in 6.18), so
flows of that family are listed, compared here and deleted one by one.
"""

import os
import socket
import struct
from dataclasses import dataclass, replace
from typing import Final

UDP: Final = socket.IPPROTO_UDP
_NETLINK_NETFILTER: Final = 12
_GET: Final = (1 << 8) | 1  # conntrack subsystem, get
_DELETE: Final = (1 << 8) | 2
_REQUEST_ACK: Final = 0x1 | 0x4
_REQUEST_DUMP: Final = 0x1 | 0x300
_NESTED: Final = 0x8000
_ORIG, _REPLY, _FILTER = 1, 2, 25
_TUPLE_IP, _TUPLE_PROTO = 1, 2
_IP_SRC, _IP_DST, _IP6_SRC, _IP6_DST = 1, 2, 3, 4
_PROTO_NUM, _PROTO_DST_PORT = 1, 3
_F_SRC, _F_DST, _F_PROTO, _F_DST_PORT = 1 << 0, 1 << 1, 1 << 3, 1 << 5
_ERROR, _DONE = 2, 3
_TYPE: Final = 0x3FFF  # without the flags of an attribute
_HEADER: Final = struct.Struct("=IHHII")
_FAMILY: Final = struct.Struct("=BBH")
_BUFFER: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class Pattern:
    """Flows by protocol and port asked for, optionally the address asked, and who answers."""

    port: int
    answerer: str
    target: str = ""
    protocol: int = UDP


def _attribute(kind: int, payload: bytes) -> bytes:
    size = 4 + len(payload)
    return struct.pack("=HH", size, kind) + payload + b"\0" * (-size % 4)


def _nest(kind: int, *parts: bytes) -> bytes:
    return _attribute(kind | _NESTED, b"".join(parts))


def to_message(pattern: Pattern, sequence: int) -> bytes:
    """The delete request for a pattern."""
    flags = _F_PROTO | _F_DST_PORT | (_F_DST if pattern.target else 0)
    asked = _attribute(_IP_DST, socket.inet_aton(pattern.target)) if pattern.target else b""
    protocol = _attribute(_PROTO_NUM, bytes([pattern.protocol]))
    port = _attribute(_PROTO_DST_PORT, struct.pack("!H", pattern.port))
    answers = _attribute(_IP_SRC, socket.inet_aton(pattern.answerer))
    body = (
        _FAMILY.pack(socket.AF_INET, 0, 0)
        + _nest(_ORIG, _nest(_TUPLE_IP, asked), _nest(_TUPLE_PROTO, protocol, port))
        + _nest(_REPLY, _nest(_TUPLE_IP, answers))
        + _nest(
            _FILTER,
            _attribute(1, struct.pack("=I", flags)),
            _attribute(2, struct.pack("=I", _F_SRC)),
        )
    )
    return _to_request(_DELETE, _REQUEST_ACK, sequence, body)


def _to_request(kind: int, flags: int, sequence: int, body: bytes) -> bytes:
    return _HEADER.pack(_HEADER.size + len(body), kind, flags, sequence, 0) + body


def forget(patterns: list[Pattern]) -> None:
    """Drop every flow that fits a pattern, in this thread's namespace."""
    if not patterns:
        return
    second = frozenset(pattern for pattern in patterns if ":" in pattern.answerer)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER) as kernel:
        kernel.bind((0, 0))
        for sequence, pattern in enumerate(patterns, 1):
            if pattern not in second:
                kernel.send(to_message(pattern, sequence))
                _check(kernel.recv(4096))
        for flow in _list_flows(kernel) if second else ():
            if not second.isdisjoint(flow.patterns):
                body = _FAMILY.pack(socket.AF_INET6, 0, 0) + _attribute(_ORIG | _NESTED, flow.key)
                kernel.send(_to_request(_DELETE, _REQUEST_ACK, 0, body))
                _check(kernel.recv(4096))


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow of IPv6: what names it to the kernel, and the patterns it fits."""

    key: bytes
    patterns: tuple[Pattern, Pattern]


def _list_flows(kernel: socket.socket) -> list[Flow]:
    kernel.send(_to_request(_GET, _REQUEST_DUMP, 0, _FAMILY.pack(socket.AF_INET6, 0, 0)))
    flows: list[Flow] = []
    while True:
        answer = kernel.recv(_BUFFER)
        while answer:
            size, kind = struct.unpack_from("=IH", answer)
            if kind == _DONE:
                return flows
            if kind == _ERROR:
                _check(answer)
            flow = parse_flow(answer[_HEADER.size + _FAMILY.size : size])
            flows += [flow] if flow else []
            answer = answer[size + -size % 4 :]


def parse_flow(body: bytes) -> Flow | None:
    """None where ports or addresses are missing, as for protocols without them."""
    tuples = _attributes(body)
    asked, answered = (_attributes(tuples.get(kind, b"")) for kind in (_ORIG, _REPLY))
    protocol = _attributes(asked.get(_TUPLE_PROTO, b""))
    target = _attributes(asked.get(_TUPLE_IP, b"")).get(_IP6_DST)
    answerer = _attributes(answered.get(_TUPLE_IP, b"")).get(_IP6_SRC)
    port = protocol.get(_PROTO_DST_PORT)
    if target is None or answerer is None or port is None:
        return None
    number, who = struct.unpack("!H", port)[0], socket.inet_ntop(socket.AF_INET6, answerer)
    whole = Pattern(number, who, socket.inet_ntop(socket.AF_INET6, target), protocol[_PROTO_NUM][0])
    return Flow(tuples[_ORIG], (whole, replace(whole, target="")))


def _attributes(data: bytes) -> dict[int, bytes]:
    found = {}
    while len(data) >= 4:
        size, kind = struct.unpack_from("=HH", data)
        found[kind & _TYPE] = data[4:size]
        data = data[max(size + -size % 4, 4) :]
    return found


def _check(answer: bytes) -> None:
    kind = struct.unpack_from("=H", answer, 4)[0]
    number = struct.unpack_from("=i", answer, 16)[0] if kind == _ERROR else 0
    # No flow at all fits: the kernel says so, and that is what was wanted.
    if number not in (0, -2):
        raise OSError(-number, os.strerror(-number), "conntrack")
