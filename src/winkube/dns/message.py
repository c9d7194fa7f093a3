"""Reading queries and writing answers, byte by byte, for packets anybody may have sent.

A query is read without building objects: what is asked, in which case, and how large an answer may
be. Compression pointers do not occur in a question, so the one thing that can loop is refused.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from winkube.base.errors import WinkubeError

HEADER: Final = struct.Struct("!6H")
_FIXED: Final = struct.Struct("!2H")
_OPT: Final = struct.Struct("!BHHBBHH")
QR, AA, TC, RD, RA = 0x8000, 0x0400, 0x0200, 0x0100, 0x0080
_OPCODE: Final = 0x7800
MAX_NAME: Final = 255
MAX_LABEL: Final = 63
PLAIN_UDP_SIZE: Final = 512
MAX_MESSAGE: Final = 0xFFFF  # over TCP, where two bytes say the length
# What fits an Ethernet frame whatever tunnels lie between (DNS flag day 2020).
OUR_UDP_SIZE: Final = 1232
_TYPE_OPT: Final = 41
CLASS_IN: Final = 1
CLASS_ANY: Final = 255


class Rcode(IntEnum):
    NOERROR = 0
    FORMERR = 1
    SERVFAIL = 2
    NXDOMAIN = 3
    NOTIMP = 4
    REFUSED = 5
    BADVERS = 16


class Unanswerable(WinkubeError):  # noqa: N818 - not a failure of ours
    """Not a query at all: answering could only help an attacker."""


@dataclass(frozen=True, slots=True)
class Query:
    id: int
    recursion: bool
    # The question section as it came: answers echo the client's spelling.
    question: bytes
    name: bytes
    type: int
    class_: int
    edns: bool = False
    size: int = PLAIN_UDP_SIZE
    opcode: int = 0


class BadQueryError(WinkubeError):
    """A query we can only answer with an error code."""

    def __init__(self, rcode: Rcode, query: Query) -> None:
        super().__init__(f"query refused with {rcode.name}")
        self.rcode, self.query = rcode, query


def parse_query(packet: bytes) -> Query:
    if len(packet) < HEADER.size:
        raise Unanswerable("shorter than a header")
    number, flags, questions, _, _, additional = HEADER.unpack_from(packet)
    if flags & QR:
        raise Unanswerable("an answer")
    bare = Query(number, bool(flags & RD), b"", b"", 0, 0, opcode=flags & _OPCODE)
    if bare.opcode:
        raise BadQueryError(Rcode.NOTIMP, bare)
    end = _name_end(packet, HEADER.size) if questions == 1 else None
    if end is None or end + _FIXED.size > len(packet):
        raise BadQueryError(Rcode.FORMERR, bare)
    type_, class_ = _FIXED.unpack_from(packet, end)
    after = end + _FIXED.size
    query = Query(
        id=number,
        recursion=bare.recursion,
        question=packet[HEADER.size : after],
        name=packet[HEADER.size : end].lower(),
        type=type_,
        class_=class_,
    )
    return _with_edns(query, packet, after) if additional else query


def _name_end(packet: bytes, start: int) -> int | None:
    position = start
    while position < len(packet):
        length = packet[position]
        if length == 0:
            return position + 1 if position + 1 - start <= MAX_NAME else None
        if length > MAX_LABEL:
            return None
        position += length + 1
    return None


def _with_edns(query: Query, packet: bytes, offset: int) -> Query:
    """Look at the first additional record only: EDNS is there or the client can do without."""
    if offset + _OPT.size > len(packet):
        return query
    root, kind, size, _, version, _, _ = _OPT.unpack_from(packet, offset)
    if root != 0 or kind != _TYPE_OPT:
        return query
    found = Query(
        query.id,
        query.recursion,
        query.question,
        query.name,
        query.type,
        query.class_,
        edns=True,
        size=min(max(size, PLAIN_UDP_SIZE), OUR_UDP_SIZE),
    )
    if version != 0:
        raise BadQueryError(Rcode.BADVERS, found)
    return found


@dataclass(frozen=True, slots=True)
class Body:
    """An answer without what differs from client to client: everything after the question."""

    rcode: Rcode
    counts: tuple[int, int, int] = (0, 0, 0)
    records: bytes = b""
    authoritative: bool = True


def encode(query: Query, body: Body, *, recursion_available: bool, limit: int) -> bytes:
    """The whole packet; what does not fit ``limit`` is left out and marked as truncated."""
    flags = QR | query.opcode | (AA if body.authoritative else 0) | (RD if query.recursion else 0)
    flags |= (RA if recursion_available else 0) | (body.rcode & 0xF)
    questions = 1 if query.question else 0
    answer, authority, additional = body.counts
    records = body.records
    size = HEADER.size + len(query.question) + len(records) + (_OPT.size if query.edns else 0)
    if size > limit:
        flags |= TC
        answer = authority = additional = 0
        records = b""
    opt = b""
    if query.edns:
        opt = _OPT.pack(0, _TYPE_OPT, OUR_UDP_SIZE, body.rcode >> 4, 0, 0, 0)
        additional += 1
    head = HEADER.pack(query.id, flags, questions, answer, authority, additional)
    return b"".join((head, query.question, records, opt))


def split_name(name: bytes) -> tuple[bytes, ...]:
    """Labels of a name in wire form that ``parse_query`` has accepted."""
    labels = []
    position = 0
    while name[position]:
        end = position + 1 + name[position]
        labels.append(name[position + 1 : end])
        position = end
    return tuple(labels)
