"""The API server: opens the store, fills the cache, seeds, and serves until cancelled."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web

from winkube.api.kinds import served_kinds
from winkube.api.schema import load_schema
from winkube.apiserver.admission.windows_world import first_windows_node
from winkube.apiserver.assembly import Backend, Parts, assemble
from winkube.apiserver.cache import Cache
from winkube.apiserver.config import ApiServerConfig
from winkube.apiserver.encryption import Encryption
from winkube.apiserver.registry.core import Registry
from winkube.apiserver.served import storage_prefixes
from winkube.apiserver.services.records import ServiceRecords
from winkube.apiserver.tls import server_context
from winkube.apiserver.upkeep.compaction import Compaction
from winkube.apiserver.upkeep.flow_control import FlowControl
from winkube.apiserver.upkeep.seed import keep_seeds, seed
from winkube.base.clock import Clock, SystemClock
from winkube.base.collector import tune_collector
from winkube.rules.load import load_rules
from winkube.store.sqlite import SqliteStore
from winkube.store.types import Store
from winkube.wire.patience import Patience, ignore_client_faults

log = logging.getLogger(__name__)

_BACKLOG: Final = 1024
_SHUTDOWN_SECONDS: Final = 2.0
_RULES_SECONDS: Final = 1.0  # by then whoever starts with us has had its first answers


class ApiServer:
    def __init__(self, config: ApiServerConfig, *, clock: Clock | None = None) -> None:
        self.ready = asyncio.Event()
        self._config = config
        self._clock = clock or SystemClock()

    async def run(self) -> None:
        async with _open_store(self._config) as store, asyncio.TaskGroup() as group:
            parts = await self._assemble(store)
            tasks = [
                group.create_task(parts.cache.run(), name="watch-cache"),
                group.create_task(parts.expiry.run(), name="event-expiry"),
                group.create_task(Compaction(parts.cache).run(), name="compaction"),
                group.create_task(parts.aggregator.run(), name="aggregator"),
            ]
            # The cache's watch begins when its task first runs; nothing may be written before.
            await asyncio.sleep(0)
            try:
                await seed(parts.registry, self._config)
                keeping = keep_seeds(parts.registry, self._config)
                tasks.append(group.create_task(keeping, name="system-objects"))
                records = ServiceRecords(parts.registry)
                tasks.append(group.create_task(records.run(), name="service-records"))
                flow = FlowControl(parts.registry)
                tasks.append(group.create_task(flow.run(), name="flow-control"))
                tasks.append(group.create_task(parts.tracking.run(), name="token-tracking"))
                tasks.append(group.create_task(_read_rules(parts.registry), name="windows-rules"))
                await self._serve(parts)
            finally:
                for task in tasks:
                    task.cancel()

    async def _assemble(self, store: Store) -> Parts:
        schema = load_schema(self._config.kubernetes_version)
        kinds = served_kinds(schema)
        path = self._config.encryption_key
        encryption = Encryption.load(path) if path is not None else None
        decode = encryption.unseal if encryption is not None else None
        cache = Cache(store, storage_prefixes(kinds), decode=decode)
        await cache.load()
        backend = Backend(store, cache, encryption)
        return assemble(self._config, backend, schema, kinds, self._clock)

    async def _serve(self, parts: Parts) -> None:
        ignore_client_faults()
        patience = Patience()

        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            patience.heard(request)
            return await parts.edge.handle(request)

        server = web.Server(handle, access_log=None, keepalive_timeout=630)
        context = server_context(self._config)
        loop = asyncio.get_running_loop()
        listeners = [
            await loop.create_server(
                lambda: patience.accept(server()), sock=sock, ssl=context, backlog=_BACKLOG
            )
            for sock in self._config.sockets
        ]
        log.info("serving", extra={"addresses": [_name(s) for s in self._config.sockets]})
        tune_collector()
        self.ready.set()
        try:
            await asyncio.Event().wait()
        finally:
            for listener in listeners:
                listener.close()
            await _hang_up(server)
            await parts.close()


async def _read_rules(registry: Registry) -> None:
    """Before the first person writes a Windows pod: it would take longer than all other work."""
    await first_windows_node(registry.resources.core("nodes").cache)
    await asyncio.sleep(_RULES_SECONDS)
    await asyncio.to_thread(load_rules)


async def _hang_up(server: web.Server) -> None:
    """End every connection; an idle client never answers TLS's farewell, so none is awaited."""
    transports = [connection.transport for connection in server.connections]
    await server.shutdown(_SHUTDOWN_SECONDS)
    for transport in transports:
        if transport is not None:
            transport.abort()
    await asyncio.sleep(0)


@asynccontextmanager
async def _open_store(config: ApiServerConfig) -> AsyncIterator[Store]:
    store = await SqliteStore.open(config.store_path)
    try:
        yield store
    finally:
        await store.close()


def _name(sock: socket.socket) -> str:
    return ":".join(str(part) for part in sock.getsockname()[:2])
