"""A node without its HTTP server: the parts that register it, run its pods and report on them."""

import asyncio

from winkube.base.clock import Clock
from winkube.client.events import EventRecorder
from winkube.client.informer import Informer
from winkube.client.resource import PODS, SERVICES
from winkube.client.rest import ApiClient
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.image import ImagePuller
from winkube.kubelet.logs import LogRotator
from winkube.kubelet.node.machine import read_machine
from winkube.kubelet.node.own import OwnNode
from winkube.kubelet.node.reporter import NodeReporter
from winkube.kubelet.node.status import allocatable
from winkube.kubelet.objects import ObjectCache
from winkube.kubelet.pleg import Relister
from winkube.kubelet.pod.backoff import Backoffs
from winkube.kubelet.pod.dispatch import PodWorkers
from winkube.kubelet.pod.state import CriCaller, StateReader
from winkube.kubelet.pod.statuswriter import StatusWriter
from winkube.kubelet.pod.tools import Machine, Tools
from winkube.kubelet.spec.fields import NodeFacts
from winkube.kubelet.volume.local_path import VolumeReclaimer
from winkube.kubelet.volume.token import TokenCache
from winkube.kubelet.volume.volumes import VolumeSetup


class Engine:
    """Lives until cancelled; ``ready`` when the node is registered and its pods are known."""

    def __init__(
        self,
        config: KubeletConfig,
        client: ApiClient,
        cri: CriCaller,
        clock: Clock,
        *,
        backoffs: Backoffs | None = None,
    ) -> None:
        self.ready = asyncio.Event()
        self.config = config
        self._cri = cri
        self._clock = clock
        self._recorder = EventRecorder(client, "kubelet", config.node_name)
        self._node = NodeReporter(config, client, cri, self._recorder, clock)
        self._services = Informer(client, SERVICES)
        self._pods = Informer(client, PODS, field_selector=f"spec.nodeName={config.node_name}")
        self._tools = self._make_tools(client, backoffs or Backoffs())
        self._own = OwnNode(config, client, lambda: self._node.labels)
        self.workers = PodWorkers(self._tools, self._own)
        self.relister = Relister(cri, clock, self.workers.wake)
        self._reclaimer = VolumeReclaimer(config, client)
        self._rotator = LogRotator(cri, clock, self.workers.running_containers)

    async def run(self) -> None:
        machine = await asyncio.to_thread(read_machine, self.config.root_dir)
        self._node.machine = machine
        self._node.on_ready = self._open_gate
        self._pods.on_change(self.workers.on_change)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._recorder.run(), name="events")
            group.create_task(self._node.run(machine), name="node")
            group.create_task(self._own.run(), name="own-node")
            group.create_task(self._services.run(), name="services")
            group.create_task(self._pods.run(), name="pods")
            group.create_task(self._tools.statuses.run(), name="statuses")
            group.create_task(self.workers.run(), name="pod-workers")
            group.create_task(self.relister.run(), name="relist")
            group.create_task(self._rotator.run(), name="logs")
            group.create_task(self._reclaimer.run(), name="volumes")
            group.create_task(self._become_ready(), name="ready")

    async def _become_ready(self) -> None:
        await self._node.registered.wait()
        await self._services.synced.wait()
        await self._pods.synced.wait()
        self._open_gate()
        self.ready.set()

    def _open_gate(self) -> None:
        """Pods start only while the runtime is up and we know what should run."""
        known = self._services.synced.is_set() and self._pods.synced.is_set()
        if known and self._node.runtime_ready.is_set():
            self._tools.may_start.set()
        elif not self._node.runtime_ready.is_set():
            self._tools.may_start.clear()

    def _make_tools(self, client: ApiClient, backoffs: Backoffs) -> Tools:
        clock, config = self._clock, self.config
        return Tools(
            config=config,
            clock=clock,
            client=client,
            cri=self._cri,
            recorder=self._recorder,
            reader=StateReader(self._cri),
            images=ImagePuller(self._cri, clock, Backoffs(backoffs.first, backoffs.longest)),
            volumes=VolumeSetup(config),
            objects=ObjectCache(client, clock),
            tokens=TokenCache(client, clock),
            statuses=StatusWriter(client),
            facts=self._facts,
            machine=self._machine,
            services=self._services.list,
            heat=lambda: self.relister.heat(),
            backoffs=backoffs,
        )

    def _facts(self) -> NodeFacts:
        machine = self._node.machine
        amounts = {} if machine is None else allocatable(self.config, machine)
        return NodeFacts(self.config.node_name, self.config.node_ips, amounts)

    def _machine(self) -> Machine:
        machine = self._node.machine
        runtime = self._node.health.version.partition("://")[0] or "containerd"
        if machine is None:
            return Machine(cpus=1, memory_bytes=0, runtime=runtime)
        return Machine(
            cpus=self.config.cpus or machine.cpus,
            memory_bytes=self.config.memory_bytes or machine.memory_bytes,
            runtime=runtime,
        )
