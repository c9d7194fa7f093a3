"""One packet in, one packet out: ties parsing, answers, forwarding and error codes together."""

import struct
from typing import Final

from dnslib import DNSLabel, DNSQuestion, DNSRecord
from dnslib.dns import DNSError

from winkube.dns.answer import Answer, Answers
from winkube.dns.forward import Forwarder, fast_failure, is_truncated
from winkube.dns.message import (
    HEADER,
    MAX_MESSAGE,
    BadQueryError,
    Body,
    Query,
    Rcode,
    Unanswerable,
    encode,
    parse_query,
)

# What dnslib raises, by intent and by accident, on bytes that are no message.
_UNREADABLE: Final = (
    DNSError,
    BufferError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    struct.error,
)


class Responder:
    def __init__(self, answers: Answers, forwarder: Forwarder) -> None:
        self._answers, self._forwarder = answers, forwarder

    def answer(self, packet: bytes, *, tcp: bool) -> bytes | None:
        """The answer if it can be given now; None: ask ``answer_later``, or drop the packet."""
        try:
            query = parse_query(packet)
        except BadQueryError as error:
            body = Body(error.rcode, authoritative=False)
            return self._encode(error.query, body, tcp=tcp)
        except Unanswerable:
            return None
        answer = self._answers.find(query)
        if answer is not None and (answer.leaves_to is None or not self._forwarder):
            return self._encode(query, answer.next(), tcp=tcp)
        if answer is None and not self._forwarder:
            return self._encode(query, fast_failure(query), tcp=tcp)
        return None

    def wants(self, packet: bytes) -> bool:
        """Whether a packet ``answer`` gave nothing for can be answered by asking elsewhere."""
        try:
            parse_query(packet)
        except (BadQueryError, Unanswerable):
            return False
        return bool(self._forwarder)

    async def answer_later(self, packet: bytes, *, tcp: bool) -> bytes | None:
        if not self.wants(packet):
            return None
        query = parse_query(packet)
        answer = self._answers.find(query)
        if answer is None:
            return await self._forward(packet, query, tcp=tcp)
        body = await self._complete(query, answer)
        return self._encode(query, body, tcp=tcp)

    async def _forward(self, packet: bytes, query: Query, *, tcp: bool) -> bytes:
        found = await self._forwarder.ask(packet, query.question, tcp=tcp)
        if found is None:
            return self._encode(query, Body(Rcode.SERVFAIL, authoritative=False), tcp=tcp)
        return found

    async def _complete(self, query: Query, answer: Answer) -> Body:
        """Append what the alias' target has, asked elsewhere, to the alias itself."""
        question = DNSRecord(q=DNSQuestion(DNSLabel(answer.leaves_to), query.type))
        packet = bytes(question.pack())
        asked = packet[HEADER.size :]
        found = await self._forwarder.ask(packet, asked, tcp=False)
        if found is not None and is_truncated(found):
            found = await self._forwarder.ask(packet, asked, tcp=True)
        if found is None:
            return Body(Rcode.SERVFAIL, authoritative=False)
        try:
            target = DNSRecord.parse(found)
            return self._answers.complete(query, answer, target.rr, target.header.rcode)
        except _UNREADABLE:
            return Body(Rcode.SERVFAIL, authoritative=False)

    def _encode(self, query: Query, body: Body, *, tcp: bool) -> bytes:
        limit = MAX_MESSAGE if tcp else query.size
        return encode(query, body, recursion_available=bool(self._forwarder), limit=limit)
