"""The CRI server of a Windows node: one Unix socket, both services, and what runs behind them."""

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

import grpc
import grpc.aio

from winkube.base.clock import Clock, SystemClock
from winkube.base.errors import WinkubeError
from winkube.machines.wine.base import open_base
from winkube.machines.wine.layer import ensure_layer
from winkube.runtime.backend import RuntimeStreams
from winkube.runtime.config import RuntimeConfig
from winkube.runtime.container import ContainerService
from winkube.runtime.errors import RuntimeServiceError
from winkube.runtime.exec import Executor
from winkube.runtime.handlers import Handlers, Services
from winkube.runtime.lifecycle import Lifecycle
from winkube.runtime.network import make_network
from winkube.runtime.oci.images import ImageService
from winkube.runtime.rootfs import RootfsMaker
from winkube.runtime.runc import Runc
from winkube.runtime.sandbox import SandboxService
from winkube.runtime.state import Container, Records, Sandbox
from winkube.runtime.stats import Stats
from winkube.runtime.streaming import StreamingServer
from winkube.runtime.toolchain import ensure_iis, ensure_tools
from winkube.wire.cri_server import add_cri_services

log = logging.getLogger(__name__)

_MAX_MESSAGE: Final = 16 << 20
Handler = Callable[[Any], Awaitable[Any]]


class CriServer:
    """Lives until cancelled; containers live on without it and are found again by the next one."""

    def __init__(self, config: RuntimeConfig, *, clock: Clock | None = None) -> None:
        self.ready = asyncio.Event()
        self._config = config
        self._clock = clock or SystemClock()

    async def run(self) -> None:
        config = self._config
        for folder in (config.root, config.run, config.socket.parent):
            folder.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(warm_up, config)
        services = build_services(config, self._clock)
        streaming = StreamingServer(
            RuntimeStreams(config, services.containers, services.sandboxes, services.executor)
        )
        handlers = Handlers(services, streaming)
        services.sandboxes.adopt()
        await services.containers.adopt()
        await services.images.tidy()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(services.lifecycle.run(), name="container-exits")
                group.create_task(streaming.run(), name="streaming-server")
                await streaming.ready.wait()
                group.create_task(self._serve(handlers), name="cri-server")
        finally:
            await services.network.close()

    async def _serve(self, handlers: Handlers) -> None:
        server = grpc.aio.server(
            options=[
                ("grpc.max_send_message_length", _MAX_MESSAGE),
                ("grpc.max_receive_message_length", _MAX_MESSAGE),
            ]
        )
        add_cri_services(
            server, {name: _edge(name, handler) for name, handler in handlers.table().items()}
        )
        self._config.socket.unlink(missing_ok=True)
        server.add_insecure_port(f"unix://{self._config.socket}")
        await server.start()
        self._config.socket.chmod(0o600)
        self.ready.set()
        log.info("CRI server ready", extra={"socket": str(self._config.socket)})
        try:
            await server.wait_for_termination()
        finally:
            self.ready.clear()
            await server.stop(0.5)


def warm_up(config: RuntimeConfig) -> None:
    """Make what every container needs now, so that the first one does not wait for it."""
    base = open_base(config.cache)
    ensure_tools(config.cache)
    ensure_iis(config.cache)
    ensure_layer(base, config.personality, config.cache)


def build_services(config: RuntimeConfig, clock: Clock) -> Services:
    """The parts of the runtime over what is on disk; nothing runs yet."""
    rootfs = RootfsMaker(config, open_base(config.cache), ensure_tools(config.cache))
    containers: Records[Container] = Records(config.containers, Container)
    sandboxes: Records[Sandbox] = Records(config.sandboxes, Sandbox)
    images = ImageService(config, clock)
    for store in (containers, sandboxes, images):
        store.load()
    lifecycle = Lifecycle(config, containers, rootfs, clock)
    network = make_network(config)
    pods = SandboxService(config, sandboxes, network, clock)
    return Services(
        sandboxes=pods,
        containers=ContainerService(config.personality, containers, pods, images, lifecycle, clock),
        images=images,
        lifecycle=lifecycle,
        executor=Executor(rootfs, Runc(config.runc_root)),
        network=network,
        stats=Stats(config, lifecycle, clock),
    )


def _edge(name: str, handler: Handler) -> Callable[[Any, Any], Awaitable[Any]]:
    """Turn our errors into gRPC's, once, here."""

    @functools.wraps(handler)
    async def call(request: Any, context: Any) -> Any:
        try:
            return await handler(request)
        except WinkubeError as error:
            code = error.code if isinstance(error, RuntimeServiceError) else "UNKNOWN"
            log.debug("call refused", extra={"method": name, "error": str(error)})
            await context.abort(grpc.StatusCode[code], str(error))

    return call
