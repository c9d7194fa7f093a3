"""Names that are not the cluster's: ask the configured servers, or say at once that nobody knows.

Each forwarded query has a socket of its own, so its answer can be matched by port as well as by
number and question, which is what makes forging one hard.
"""

import asyncio
import logging
import random
import struct
from typing import Final

from winkube.dns.message import HEADER, QR, TC, Body, Query, Rcode, split_name

TRY_SECONDS: Final = 2.0
MAX_PENDING: Final = 1000
# Never delegated (RFC 6761, RFC 6762, RFC 8375): no server in the world would find these.
_RESERVED: Final = frozenset({b"local", b"localhost", b"test", b"invalid", b"internal", b"lan"})
_LENGTH: Final = struct.Struct("!H")
log = logging.getLogger(__name__)


def fast_failure(query: Query) -> Body:
    """The answer when there is nobody to ask: final where that is certain, else "try elsewhere"."""
    labels = split_name(query.name)
    certain = len(labels) < 2 or labels[-1] in _RESERVED or labels[-2:] == (b"in-addr", b"arpa")
    return Body(Rcode.NXDOMAIN if certain else Rcode.SERVFAIL, authoritative=False)


class Forwarder:
    def __init__(self, servers: tuple[tuple[str, int], ...]) -> None:
        self._servers = servers
        self._pending = 0
        # Query numbers must not be guessable.
        self._random = random.SystemRandom()

    def __bool__(self) -> bool:
        return bool(self._servers)

    async def ask(self, packet: bytes, question: bytes, *, tcp: bool) -> bytes | None:
        """The first server's answer, with the client's own number; None when all are silent."""
        if self._pending >= MAX_PENDING:
            return None
        self._pending += 1
        try:
            for server in self._servers:
                answer = await self._ask_one(server, packet, question, tcp=tcp)
                if answer is not None:
                    return packet[:2] + answer[2:]
            return None
        finally:
            self._pending -= 1

    async def _ask_one(
        self, server: tuple[str, int], packet: bytes, question: bytes, *, tcp: bool
    ) -> bytes | None:
        number = self._random.randrange(0x10000)
        wanted = number.to_bytes(2, "big") + packet[2:]
        try:
            async with asyncio.timeout(TRY_SECONDS):
                answer = await (_over_tcp if tcp else _over_udp)(server, wanted, question)
        except (TimeoutError, OSError, EOFError) as error:
            log.debug("upstream failed", extra={"server": server, "error": repr(error)})
            return None
        return answer


def is_answer(packet: bytes, number: bytes, question: bytes) -> bool:
    if len(packet) < HEADER.size or packet[:2] != number:
        return False
    _, flags, questions, *_ = HEADER.unpack_from(packet)
    echoed = packet[HEADER.size : HEADER.size + len(question)]
    return bool(flags & QR) and questions == 1 and echoed.lower() == question.lower()


def is_truncated(packet: bytes) -> bool:
    return bool(HEADER.unpack_from(packet)[1] & TC)


class _OneAnswer(asyncio.DatagramProtocol):
    def __init__(self, number: bytes, question: bytes) -> None:
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._number, self._question = number, question

    def datagram_received(self, data: bytes, addr: object) -> None:
        if not self.answer.done() and is_answer(data, self._number, self._question):
            self.answer.set_result(data)

    def error_received(self, exc: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(exc)


async def _over_udp(server: tuple[str, int], packet: bytes, question: bytes) -> bytes:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_datagram_endpoint(
        lambda: _OneAnswer(packet[:2], question), remote_addr=server
    )
    try:
        transport.sendto(packet)
        return await protocol.answer
    finally:
        transport.close()


async def _over_tcp(server: tuple[str, int], packet: bytes, question: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*server)
    try:
        writer.write(_LENGTH.pack(len(packet)) + packet)
        await writer.drain()
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        answer = await reader.readexactly(length)
    finally:
        writer.close()
    if not is_answer(answer, packet[:2], question):
        raise EOFError("not an answer to this question")
    return answer
