"""The cluster DNS server: UDP and TCP listeners over the answers.

Packets that can be answered from memory are answered in the callback that brought them; only
forwarded ones become tasks.
"""

import asyncio
import logging
import struct
from contextlib import AsyncExitStack
from typing import Final

from winkube.client.informer import Informer
from winkube.client.resource import ENDPOINTSLICES, NAMESPACES, SERVICES
from winkube.client.rest import ApiClient
from winkube.dns.answer import Answers
from winkube.dns.config import DnsConfig, parse_upstream
from winkube.dns.directory import InformerDirectory
from winkube.dns.forward import Forwarder
from winkube.dns.responder import Responder
from winkube.dns.zone import Zone

TCP_IDLE_SECONDS: Final = 10.0
MAX_CONNECTIONS: Final = 256
_LENGTH: Final = struct.Struct("!H")
log = logging.getLogger(__name__)
__all__ = ["DnsConfig", "DnsServer"]


class DnsServer:
    def __init__(self, client: ApiClient, config: DnsConfig) -> None:
        self.ready = asyncio.Event()
        # What was bound, which differs from the configuration where that says port 0.
        self.bound: list[tuple[str, int]] = []
        self._config = config
        self._informers = tuple(
            Informer(client, resource) for resource in (SERVICES, ENDPOINTSLICES, NAMESPACES)
        )
        directory = InformerDirectory(*self._informers)
        zone = Zone(directory, config.domain, config.service_ip or config.listen[0][0])
        self._responder = Responder(
            Answers(zone, directory, config.ttl),
            Forwarder(tuple(parse_upstream(upstream) for upstream in config.upstreams)),
        )
        self._connections = 0

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group, AsyncExitStack() as stack:
            for informer in self._informers:
                group.create_task(informer.run(), name=f"dns {informer.resource.plural}")
            for informer in self._informers:
                # An answer from half a cache would be a wrong "no such name".
                await informer.synced.wait()
            for host, port in self._config.listen:
                await self._listen(host, port, group, stack)
            log.info("dns ready", extra={"listen": self.bound})
            self.ready.set()
            await asyncio.Event().wait()

    async def _listen(
        self, host: str, port: int, group: asyncio.TaskGroup, stack: AsyncExitStack
    ) -> None:
        loop = asyncio.get_running_loop()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            group.create_task(self._serve(reader, writer), name="dns connection")

        server = await asyncio.start_server(accept, host, port, backlog=MAX_CONNECTIONS)
        stack.callback(server.close)
        bound: tuple[str, int] = server.sockets[0].getsockname()
        transport, _ = await loop.create_datagram_endpoint(
            lambda: _Datagrams(self._responder, group), local_addr=bound
        )
        stack.callback(transport.close)
        self.bound.append(bound)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            while self._connections <= MAX_CONNECTIONS:
                async with asyncio.timeout(TCP_IDLE_SECONDS):
                    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
                    packet = await reader.readexactly(length)
                answer = self._responder.answer(packet, tcp=True)
                if answer is None:
                    answer = await self._responder.answer_later(packet, tcp=True)
                if answer is None:
                    break
                writer.write(_LENGTH.pack(len(answer)) + answer)
                async with asyncio.timeout(TCP_IDLE_SECONDS):
                    await writer.drain()
        except (OSError, EOFError, TimeoutError):
            pass  # the client went away or keeps us waiting
        finally:
            self._connections -= 1
            writer.close()


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, responder: Responder, group: asyncio.TaskGroup) -> None:
        self._responder, self._group = responder, group
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        answer = self._responder.answer(data, tcp=False)
        if answer is None:
            if self._responder.wants(data):
                self._group.create_task(self._later(data, addr), name="dns forward")
        elif self._transport is not None:
            self._transport.sendto(answer, addr)

    async def _later(self, data: bytes, addr: tuple[str, int]) -> None:
        answer = await self._responder.answer_later(data, tcp=False)
        if answer is not None and self._transport is not None:
            self._transport.sendto(answer, addr)
