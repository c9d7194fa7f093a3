"""The scheduler: take a pod, decide, assume, bind.

Decisions are made one after another on a picture of the cluster that already includes the ones
before; the requests that make them true run beside, a bounded number at once. A binding that fails
takes the pod back off the picture and into the queue.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from winkube.aio.backoff import Backoff
from winkube.api.errors import ApiError, ConflictError, NotFoundError
from winkube.api.meta import find_condition, is_deleting, labels_of, uid_of
from winkube.base.clock import Clock, SystemClock, to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.events import EventRecorder
from winkube.client.informer import Informer
from winkube.client.leader import LeaderConfig, LeaderElector
from winkube.client.resource import NODES, PODS
from winkube.client.rest import ApiClient, PatchType
from winkube.scheduler.config import SchedulerConfig
from winkube.scheduler.decision import Decider
from winkube.scheduler.plugins.order import default_plugins
from winkube.scheduler.queue import SchedulingQueue, Waiting
from winkube.scheduler.shape import PodInfo, ShapeCache
from winkube.scheduler.volume_binder import VolumeBinder, VolumeBindError
from winkube.scheduler.volumes import VolumeChoice
from winkube.scheduler.world import World

LIVE_PODS = "status.phase!=Succeeded,status.phase!=Failed"

Effect = Callable[[], Awaitable[None]]
log = logging.getLogger(__name__)


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
        config = LeaderConfig(name="kube-scheduler", identity=self._config.identity)
        await LeaderElector(self._client, config, clock=self._clock).run(self._schedule)

    async def _schedule(self) -> None:
        session = _Session(self._client, self._config, self._clock)
        await session.run(self.ready)


class _Session:
    """The caches of one term of leadership."""

    def __init__(self, client: ApiClient, config: SchedulerConfig, clock: Clock) -> None:
        self._client = client
        self._config = config
        self._clock = clock
        self._world = World()
        self._shapes = ShapeCache()
        self._decider = Decider(self._world, default_plugins())
        backoff = Backoff(first=config.initial_backoff, ceiling=config.max_backoff)
        self._queue = SchedulingQueue(clock, backoff, config.unschedulable_seconds)
        self._recorder = EventRecorder(client, config.scheduler_name, clock=clock)
        self._effects: asyncio.Queue[Effect] = asyncio.Queue(config.binders)
        self._nodes = Informer(client, NODES)
        self._pods = Informer(client, PODS, field_selector=LIVE_PODS)
        self._volumes = VolumeBinder(client, self._world.volumes)
        for informer in self._volumes.informers:
            informer.on_change(self._volume_changed)
        self._tasks: asyncio.TaskGroup | None = None
        self._nodes.on_change(self._node_changed)
        self._pods.on_change(self._pod_changed)

    async def run(self, ready: asyncio.Event) -> None:
        informers = (self._nodes, *self._volumes.informers, self._pods)
        async with asyncio.TaskGroup() as group:
            self._tasks = group
            for informer in informers:
                group.create_task(informer.run(), name=f"informer {informer.resource.plural}")
            group.create_task(self._recorder.run(), name="events")
            for informer in informers:
                await informer.synced.wait()
            for number in range(self._config.binders):
                group.create_task(self._perform(), name=f"binder {number}")
            group.create_task(self._decide(), name="decisions")
            ready.set()

    # -- what the informers say

    def _node_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is None:
            self._world.remove_node(key)
        elif self._world.set_node(new):
            self._queue.move_all()

    def _volume_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        self._world.volumes.changed()
        self._queue.move_all()

    def _pod_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is None:
            self._queue.remove(key)
            self._world.volumes.changed()
            if self._world.displace(key) is not None:
                self._queue.move_all()
        elif new["spec"].get("nodeName"):
            self._placed(key, old, new)
        elif self._is_ours(new):
            self._offered(key, old, new)
        else:
            self._queue.remove(key)

    def _placed(self, key: str, old: JsonObject | None, new: JsonObject) -> None:
        self._queue.remove(key)
        known, node = self._world.pod(key), new["spec"]["nodeName"]
        if (
            known is not None
            and (known.uid, known.node) == (uid_of(new), node)
            and old is not None
            and _needs(old) == _needs(new)
        ):
            return
        self._world.place(self._shapes.pod(new), node)

    def _offered(self, key: str, old: JsonObject | None, new: JsonObject) -> None:
        waiting = self._queue.knows(key)
        same = old is not None and waiting is not None and waiting.pod.uid == uid_of(new)
        if same and old is not None and _needs(old) == _needs(new):
            # Only its status changed, and that is our own writing.
            return
        known = self._world.pod(key)
        if known is not None and known.uid == uid_of(new):
            # Assumed: its binding is under way.
            return
        self._queue.add(self._shapes.pod(new))

    def _is_ours(self, pod: JsonObject) -> bool:
        spec = pod["spec"]
        name = spec.get("schedulerName") or "default-scheduler"
        return (
            name == self._config.scheduler_name
            and not spec.get("schedulingGates")
            and not is_deleting(pod)
        )

    # -- decisions

    async def _decide(self) -> None:
        while True:
            entry = await self._queue.pop()
            node = self._decider.choose(entry.pod)
            if node is None:
                await self._refuse(entry)
            else:
                self._queue.remove(entry.pod.key)
                self._world.place(entry.pod, node)
                await self._accept(entry, node)

    async def _accept(self, entry: Waiting, node: str) -> None:
        pod = entry.pod
        if not pod.claims or self._tasks is None:
            await self._effects.put(self._binding(entry, node))
            return
        labels = self._world.nodes[node].labels
        choice = self._world.volumes.choose(pod.claims, (node, labels))
        self._world.volumes.assume(choice)
        # Volumes may take long to be made: such a pod waits beside the others, not before them.
        self._tasks.create_task(self._bind_volumes(entry, node, choice), name=f"bind {pod.key}")

    async def _refuse(self, entry: Waiting) -> None:
        message = self._decider.diagnose(entry.pod).message()
        self._queue.park(entry)
        pod = _reference(entry.pod)
        self._recorder.record(pod, "Warning", "FailedScheduling", message)
        if message != entry.message:
            entry.message = message
            await self._effects.put(self._report(entry.pod, message))

    # -- effects

    async def _perform(self) -> None:
        while True:
            effect = await self._effects.get()
            await effect()

    async def _bind_volumes(self, entry: Waiting, node: str, choice: VolumeChoice) -> None:
        pod = entry.pod
        try:
            await self._volumes.bind(pod, node, choice, lambda: self._is_there(pod))
        except VolumeBindError as error:
            self._take_back(pod, node)
            if self._is_there(pod):
                message = f'running PreBind plugin "VolumeBinding": {error}'
                self._recorder.record(_reference(pod), "Warning", "FailedScheduling", message)
                self._queue.retry(entry)
            return
        await self._effects.put(self._binding(entry, node))

    def _is_there(self, pod: PodInfo) -> bool:
        return uid_of(self._pods.get(pod.key) or {}) == pod.uid

    def _binding(self, entry: Waiting, node: str) -> Effect:
        pod = entry.pod
        name = pod.key.partition("/")[2]
        body: JsonObject = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }

        async def bind() -> None:
            try:
                await self._client.create(
                    PODS, body, namespace=pod.namespace, name=name, subresource="binding"
                )
            except (NotFoundError, ConflictError) as error:
                # Gone, or bound by somebody else: the informer tells which.
                self._take_back(pod, node)
                log.info("binding refused", extra={"pod": pod.key, "error": str(error)})
            except (ApiError, TransportError) as error:
                self._take_back(pod, node)
                self._queue.retry(entry)
                log.warning("binding failed", extra={"pod": pod.key, "error": str(error)})
            else:
                message = f"Successfully assigned {pod.key} to {node}"
                self._recorder.record(_reference(pod), "Normal", "Scheduled", message)

        return bind

    def _take_back(self, pod: PodInfo, node: str) -> None:
        cached = self._pods.get(pod.key)
        if cached is not None and cached["spec"].get("nodeName"):
            return
        known = self._world.pod(pod.key)
        if known is pod and known.node == node:
            self._world.displace(pod.key)
            pod.node = ""
            self._queue.move_all()

    def _report(self, pod: PodInfo, message: str) -> Effect:
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastTransitionTime": to_rfc3339(self._clock.now()),
        }

        async def report() -> None:
            cached = self._pods.get(pod.key) or {}
            listed = (cached.get("status") or {}).get("conditions") or []
            old = find_condition(listed, "PodScheduled")
            if old is not None and old["status"] == "False" and old.get("lastTransitionTime"):
                condition["lastTransitionTime"] = old["lastTransitionTime"]
            try:
                await self._client.patch(
                    PODS,
                    pod.key.partition("/")[2],
                    {"status": {"conditions": [condition]}},
                    namespace=pod.namespace,
                    subresource="status",
                    patch_type=PatchType.STRATEGIC,
                )
            except (ApiError, TransportError) as error:
                log.debug("condition not written", extra={"pod": pod.key, "error": str(error)})

        return report


def _needs(pod: JsonObject) -> tuple[object, object]:
    return pod["spec"], labels_of(pod)


def _reference(pod: PodInfo) -> JsonObject:
    namespace, _, name = pod.key.partition("/")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name, "uid": pod.uid},
    }
