"""The scheduler: take a pod, decide, assume, bind.

Decisions are made one after another on a picture of the cluster that already includes the ones
before; the requests that make them true run beside, a bounded number at once. A binding that fails
takes the pod back off the picture and into the queue. A pod that fits nowhere may push others out:
it is promised the node they leave, and tried again when they are gone.
"""

import asyncio
import itertools
import logging
import time
from typing import Final

from winkube.aio.backoff import Backoff
from winkube.api.errors import ApiError, NotFoundError
from winkube.api.meta import uid_of
from winkube.base.clock import Clock, SystemClock
from winkube.client.errors import TransportError
from winkube.client.leader import LeaderConfig, LeaderElector
from winkube.client.rest import ApiClient
from winkube.scheduler.config import SchedulerConfig
from winkube.scheduler.decision import Decider
from winkube.scheduler.diagnosis import Diagnosis
from winkube.scheduler.events import ClusterEvent
from winkube.scheduler.preemption import Outcome, Preemption
from winkube.scheduler.profile import Profiles, default_profile, load_profiles
from winkube.scheduler.queue import SchedulingQueue, Waiting
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.volume_binder import VolumeBindError
from winkube.scheduler.volumes import VolumeChoice
from winkube.scheduler.watcher import Watcher
from winkube.scheduler.world import World
from winkube.scheduler.writer import ERROR, UNSCHEDULABLE, Writer

log = logging.getLogger(__name__)

_IN_A_ROW: Final = 8
# Seconds of one decision after which everything else of the process has a moment, and how long.
_LONG: Final = 0.005
_PAUSE: Final = 0.05


class Scheduler:
    def __init__(
        self,
        client: ApiClient,
        config: SchedulerConfig | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        self.ready = asyncio.Event()
        self._client = client
        self._config = config or SchedulerConfig()
        self._clock: Clock = clock or SystemClock()

    async def run(self) -> None:
        if not self._config.leader_elect:
            await self._schedule()
            return
        config = LeaderConfig(
            "kube-scheduler", self._config.identity, component=self._config.scheduler_name
        )
        await LeaderElector(self._client, config, clock=self._clock).run(self._schedule)

    async def _schedule(self) -> None:
        profiles = _profiles(self._config)
        session = _Session(self._client, self._config, profiles, self._clock)
        await session.run(self.ready)


def _profiles(config: SchedulerConfig) -> Profiles:
    if config.config_file is not None:
        return load_profiles(config.config_file)
    return Profiles({config.scheduler_name: default_profile(config.scheduler_name)})


class _Session:
    """The caches of one term of leadership."""

    def __init__(
        self, client: ApiClient, config: SchedulerConfig, profiles: Profiles, clock: Clock
    ) -> None:
        self._world = world = World()
        known = profiles.by_name
        self._deciders = {name: Decider(profile, world) for name, profile in known.items()}
        self._preemptions = {name: Preemption(profile, world) for name, profile in known.items()}
        self._plugins = {
            name: {plugin.name: plugin for plugin in profile.plugins}
            for name, profile in known.items()
        }
        first, most = profiles.initial_backoff, profiles.max_backoff
        backoff = Backoff(
            first=config.initial_backoff if first is None else first,
            ceiling=config.max_backoff if most is None else most,
        )
        self._queue = SchedulingQueue(clock, backoff, config.unschedulable_seconds, self._helps)
        self._watcher = Watcher(client, world, self._queue, known)
        self._writer = Writer(client, clock, self._watcher.pods.get, config.binders)
        self._tasks: asyncio.TaskGroup | None = None

    async def run(self, ready: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as group:
            self._tasks = group
            for informer in self._watcher.informers:
                group.create_task(informer.run(), name=f"informer {informer.resource.plural}")
            for informer in self._watcher.informers:
                await informer.synced.wait()
            group.create_task(self._writer.run(), name="writer")
            group.create_task(self._decide(), name="decisions")
            ready.set()

    def _helps(self, event: ClusterEvent, waiting: Waiting) -> bool:
        """Say whether an event could let in a pod, by asking the rules that kept it out."""
        pod = waiting.pod
        if event.at_most is not None and pod.priority > event.at_most:
            return False
        plugins = self._plugins[pod.scheduler]
        known = (plugins[name] for name in waiting.plugins if name in plugins)
        return any(plugin.hint(event, pod, self._world) for plugin in known)

    # -- decisions

    async def _decide(self) -> None:
        for number in itertools.count():
            if not number % _IN_A_ROW:
                # Decisions must not keep the others of this process waiting.
                await asyncio.sleep(0)
            entry = await self._queue.pop()
            pod = entry.pod
            if pod.terminating:
                self._queue.remove(pod.key)
                self._writer.failed(pod, f"skip schedule deleting pod: {pod.key}")
                continue
            # Processor time: who shares the machine with others has not spent what they took.
            began = time.thread_time()
            node = self._place(pod)
            refused = None if node else self._explain(pod)
            took = time.thread_time() - began
            self._queue.spent(pod, took)
            if node:
                await self._accept(entry, node)
            elif refused is not None:
                await self._refuse(entry, *refused)
            if took > _LONG:
                # More than one round of the loop: whoever wants to be decided about next, or was
                # decided about just now, has several steps to do until the server knows.
                await asyncio.sleep(min(took / 4, _PAUSE))

    def _place(self, pod: PodInfo) -> str | None:
        node = self._deciders[pod.scheduler].choose(pod)
        if node is not None:
            self._queue.remove(pod.key)
            self._world.nominate(pod, "")
            self._world.place(pod, node)
        return node

    async def _accept(self, entry: Waiting, node: str) -> None:
        pod = entry.pod
        if not pod.claims or self._tasks is None:
            await self._writer.put(pod, lambda: self._bind(entry, node))
            return
        labels = self._world.nodes[node].labels
        choice = self._world.volumes.choose(pod.claims, (node, labels))
        self._world.volumes.assume(choice)
        # Volumes may take long to be made: such a pod waits beside the others, not before them.
        self._tasks.create_task(self._bind_volumes(entry, node, choice), name=f"bind {pod.key}")

    def _explain(self, pod: PodInfo) -> tuple[Diagnosis, Outcome]:
        """Why no node takes the pod, and what can be done for it."""
        decider = self._deciders[pod.scheduler]
        why = decider.diagnose(pod)
        return why, self._preemptions[pod.scheduler].run(lambda: decider.cycle(pod), pod, why)

    async def _refuse(self, entry: Waiting, why: Diagnosis, outcome: Outcome) -> None:
        pod = entry.pod
        message = why.message(outcome.message)
        self._queue.park(entry, why.plugins)
        if outcome.victims:
            self._preempt(pod, outcome)
        elif outcome.nominate is not None and self._world.nomination_of(pod.uid):
            self._world.nominate(pod, outcome.nominate)
        self._writer.failed(pod, message)
        if message != entry.message or outcome.nominate is not None:
            entry.message = message
            nominate = outcome.nominate
            await self._writer.put(
                pod, lambda: self._writer.report(pod, message, UNSCHEDULABLE, nominate)
            )

    # -- preemption

    def _preempt(self, pod: PodInfo, outcome: Outcome) -> None:
        node = outcome.nominate or ""
        promised = self._world.nominated.get(node, {})
        lower = [each for each in promised.values() if each.priority < pod.priority]
        self._world.nominate(pod, node)
        victims = [victim for victim in outcome.victims if not victim.terminating]
        if not victims or self._tasks is None:
            return
        self._queue.hold(pod.uid)
        self._tasks.create_task(
            self._evict(pod, node, victims, lower), name=f"preempt for {pod.key}"
        )

    async def _evict(
        self, pod: PodInfo, node: str, victims: list[PodInfo], lower: list[PodInfo]
    ) -> None:
        for each in lower:
            # They have to yield to this one now, so their promise is worth nothing.
            self._world.nominate(each, "")
            await self._writer.forget_node(each)
        told = await self._writer.evict(
            pod, node, victims, lambda: self._queue.release(pod.key, pod.uid)
        )
        if not told:
            self._queue.release(pod.key, pod.uid, try_now=True)

    # -- bindings

    async def _bind_volumes(self, entry: Waiting, node: str, choice: VolumeChoice) -> None:
        pod = entry.pod
        try:
            await self._watcher.volumes.bind(pod, node, choice, lambda: self._is_there(pod))
        except VolumeBindError as error:
            await self._binding_failed(
                entry, node, f'running PreBind plugin "VolumeBinding": {error}'
            )
            return
        await self._writer.put(pod, lambda: self._bind(entry, node))

    async def _bind(self, entry: Waiting, node: str) -> None:
        pod = entry.pod
        try:
            await self._writer.bind(pod, node)
        except NotFoundError:
            # Gone: the informer tells.
            self._take_back(pod, node)
        except (ApiError, TransportError) as error:
            await self._binding_failed(entry, node, f'running Bind plugin "DefaultBinder": {error}')

    async def _binding_failed(self, entry: Waiting, node: str, message: str) -> None:
        pod = entry.pod
        self._take_back(pod, node)
        cached = self._watcher.pods.get(pod.key) or {}
        if not self._is_there(pod) or cached["spec"].get("nodeName"):
            return
        log.warning("binding failed", extra={"pod": pod.key, "error": message})
        self._queue.retry(entry)
        self._writer.failed(pod, message)
        await self._writer.report(pod, message, ERROR, "")

    def _is_there(self, pod: PodInfo) -> bool:
        return uid_of(self._watcher.pods.get(pod.key) or {}) == pod.uid

    def _take_back(self, pod: PodInfo, node: str) -> None:
        cached = self._watcher.pods.get(pod.key)
        if cached is not None and cached["spec"].get("nodeName"):
            return
        known = self._world.pod(pod.key)
        if known is pod and known.node == node:
            gone = self._world.displace(pod.key)
            pod.node = ""
            self._queue.happened(ClusterEvent(old_pod=gone))
