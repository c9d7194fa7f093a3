"""The kubelet: one node's pods, kept as the API wants them, over CRI; Linux and Windows alike.

This module joins the engine with the kubelet's HTTP server and answers the server's questions
(``kubelet.server.view.NodeView``).
"""

import asyncio
import logging
from pathlib import Path

from winkube.base.clock import Clock, SystemClock
from winkube.base.types import JsonObject
from winkube.client.rest import ApiClient
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.engine import Engine
from winkube.kubelet.pod import identity
from winkube.kubelet.pod.state import Phase
from winkube.kubelet.pod.worker import PodWorker
from winkube.kubelet.server.app import KubeletServer
from winkube.kubelet.server.view import ContainerState, NodeUsage
from winkube.kubelet.stats import StatsReader
from winkube.wire.cri_client import CriClient

CLOSE_SECONDS = 5.0

log = logging.getLogger(__name__)


class Kubelet:
    """Lives until cancelled; ``client`` is open and stays the caller's."""

    def __init__(
        self, config: KubeletConfig, client: ApiClient, *, clock: Clock | None = None
    ) -> None:
        self.ready = asyncio.Event()
        self.config = config
        self.cri = CriClient(config.cri_socket)
        clock = clock or SystemClock()
        self._engine = Engine(config, client, self.cri, clock)
        self._workers = self._engine.workers
        self._stats = StatsReader(config, self.cri, clock)
        self._server = KubeletServer(config, self)

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._engine.run(), name="engine")
                group.create_task(self._server.run(), name="server")
                group.create_task(self._become_ready(), name="ready")
        finally:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.cri.close()

    async def _become_ready(self) -> None:
        await self._engine.ready.wait()
        await self._server.ready.wait()
        log.info("kubelet ready", extra={"node": self.config.node_name})
        self.ready.set()

    def sandbox_id(self, namespace: str, pod: str) -> str | None:
        worker = self._workers.get(namespace, pod)
        sandbox = None if worker is None else worker.state.ready_sandbox
        return None if sandbox is None else sandbox.id

    def container_id(self, namespace: str, pod: str, container: str) -> str | None:
        worker = self._workers.get(namespace, pod)
        found = None if worker is None else worker.state.latest(container)
        return None if found is None else found.id

    def container_state(self, namespace: str, pod: str, container: str) -> ContainerState | None:
        worker = self._workers.get(namespace, pod)
        return None if worker is None else _state_of(worker, container)

    def log_path(self, namespace: str, pod: str, container: str, previous: bool) -> Path | None:
        worker = self._workers.get(namespace, pod)
        found = [] if worker is None else worker.state.instances(container)
        index = 1 if previous else 0
        if worker is None or len(found) <= index:
            return None
        folder = self.config.log_dir(namespace, pod, worker.uid)
        return folder / container / f"{found[index].attempt}.log"

    def pods(self) -> JsonObject:
        items = [{**worker.pod, "status": worker.status} for worker in self._workers.all()]
        return {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}

    async def stats_summary(self) -> JsonObject:
        return await self._stats.summary(self._workers.all())

    async def resource_usage(self) -> NodeUsage:
        return await self._stats.usage(self._workers.all())

    def healthy(self) -> bool:
        return self._engine.relister.healthy


def _state_of(worker: PodWorker, container: str) -> ContainerState | None:
    found = worker.state.latest(container)
    if found is None:
        known = identity.find_container(worker.pod, container) is not None
        return ContainerState.WAITING if known else None
    if found.is_running:
        return ContainerState.RUNNING
    return ContainerState.TERMINATED if found.phase is Phase.EXITED else ContainerState.WAITING
