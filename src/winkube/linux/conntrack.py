"""Forgetting tracked connections: one netlink message per pattern, matched by the kernel.

A UDP flow keeps the translation (or the lack of one) its first packet got, for as long as packets
come. When a balanced port gains or loses a backend, flows that no longer fit have to be forgotten.
Needs a kernel that filters flushes (5.8).
"""

import os
import socket
import struct
from dataclasses import dataclass
from typing import Final

UDP: Final = socket.IPPROTO_UDP
_NETLINK_NETFILTER: Final = 12
_DELETE: Final = (1 << 8) | 2  # conntrack subsystem, delete
_REQUEST_ACK: Final = 0x1 | 0x4
_NESTED: Final = 0x8000
_ORIG, _REPLY, _FILTER = 1, 2, 25
_TUPLE_IP, _TUPLE_PROTO = 1, 2
# Source and destination, by address family.
_IP: Final = {socket.AF_INET: (1, 2), socket.AF_INET6: (3, 4)}
_PROTO_NUM, _PROTO_DST_PORT = 1, 3
_F_SRC, _F_DST, _F_PROTO, _F_DST_PORT = 1 << 0, 1 << 1, 1 << 3, 1 << 5
_ERROR: Final = 2


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
    family = socket.AF_INET6 if ":" in pattern.answerer else socket.AF_INET
    source, destination = _IP[family]
    flags = _F_PROTO | _F_DST_PORT | (_F_DST if pattern.target else 0)
    target = socket.inet_pton(family, pattern.target) if pattern.target else b""
    asked = _attribute(destination, target) if target else b""
    protocol = _attribute(_PROTO_NUM, bytes([pattern.protocol]))
    port = _attribute(_PROTO_DST_PORT, struct.pack("!H", pattern.port))
    answers = _attribute(source, socket.inet_pton(family, pattern.answerer))
    body = (
        struct.pack("=BBH", family, 0, 0)
        + _nest(_ORIG, _nest(_TUPLE_IP, asked), _nest(_TUPLE_PROTO, protocol, port))
        + _nest(_REPLY, _nest(_TUPLE_IP, answers))
        + _nest(
            _FILTER,
            _attribute(1, struct.pack("=I", flags)),
            _attribute(2, struct.pack("=I", _F_SRC)),
        )
    )
    return struct.pack("=IHHII", 16 + len(body), _DELETE, _REQUEST_ACK, sequence, 0) + body


def forget(patterns: list[Pattern]) -> None:
    """Drop every flow that fits a pattern, in this thread's namespace."""
    if not patterns:
        return
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER) as kernel:
        kernel.bind((0, 0))
        for sequence, pattern in enumerate(patterns, 1):
            kernel.send(to_message(pattern, sequence))
            _check(kernel.recv(4096))


def _check(answer: bytes) -> None:
    kind = struct.unpack_from("=H", answer, 4)[0]
    number = struct.unpack_from("=i", answer, 16)[0] if kind == _ERROR else 0
    # No flow at all fits: the kernel says so, and that is what was wanted.
    if number not in (0, -2):
        raise OSError(-number, os.strerror(-number), "conntrack")
