"""What the scheduler writes to the API: bindings, conditions of pods, and who has to go.

Requests run beside the decisions, a bounded number at once; namespaces take turns.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from enum import Enum, auto
from typing import Final

from winkube.aio.fair import FairQueue
from winkube.api.errors import ApiError, NotFoundError
from winkube.api.meta import find_condition
from winkube.base.clock import Clock, to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.resource import PODS
from winkube.client.rest import ApiClient, PatchType
from winkube.scheduler.recorder import Recorder
from winkube.scheduler.shape import PodInfo

UNSCHEDULABLE: Final = "Unschedulable"
ERROR: Final = "SchedulerError"
_FAILED: Final = ("Warning", "FailedScheduling", "Scheduling")
_BOUND: Final = ("Normal", "Scheduled", "Binding")
_PREEMPTED: Final = ("Normal", "Preempted", "Preempting")
_EVICTORS: Final = 16
# How many times what is under way may wait to be.
_AHEAD: Final = 8

Effect = Callable[[], Awaitable[None]]
log = logging.getLogger(__name__)


class Eviction(Enum):
    """What became of the wish to send a pod away."""

    DONE = auto()
    NEEDLESS = auto()
    FAILED = auto()


class Writer:
    def __init__(
        self,
        client: ApiClient,
        clock: Clock,
        find: Callable[[str], JsonObject | None],
        workers: int,
    ) -> None:
        """``find`` gives the cached pod of a key."""
        self._client = client
        self._clock = clock
        self._find = find
        self._workers = workers
        self._effects: FairQueue[str, Effect] = FairQueue()
        self._room = asyncio.Semaphore(workers * _AHEAD)
        self._recorder = Recorder(client, clock)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._recorder.run(), name="events")
            for number in range(self._workers):
                group.create_task(self._perform(), name=f"writer {number}")

    async def _perform(self) -> None:
        while True:
            effect = await self._effects.get()
            self._room.release()
            await effect()

    async def put(self, pod: PodInfo, effect: Effect) -> None:
        """Have this done about the pod soon; waits while too much is to be done."""
        await self._room.acquire()
        self._effects.put(pod.namespace, effect)

    # -- bindings

    async def bind(self, pod: PodInfo, node: str) -> None:
        """Raises what the server or the connection says."""
        body: JsonObject = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        await self._client.create(
            PODS, body, namespace=pod.namespace, name=pod.name, subresource="binding"
        )
        note = f"Successfully assigned {pod.key} to {node}"
        self._recorder.record(pod, _BOUND, note, controller=pod.scheduler)

    # -- pods that got no node

    def failed(self, pod: PodInfo, note: str) -> None:
        self._recorder.record(pod, _FAILED, note, controller=pod.scheduler)

    async def report(self, pod: PodInfo, message: str, reason: str, nominate: str | None) -> None:
        """Say in the pod's status why it waits, and for which node; None leaves the node alone."""
        cached = self._find(pod.key) or {}
        status = cached.get("status") or {}
        condition = self._condition(
            status, ("PodScheduled", "False", reason, message), pod.generation
        )
        patch: JsonObject = {} if condition is None else {"conditions": [condition]}
        if nominate is not None and (status.get("nominatedNodeName") or "") != nominate:
            patch["nominatedNodeName"] = nominate or None
        if patch:
            await self._patch(pod, patch)

    def _condition(
        self, status: JsonObject, wanted: tuple[str, str, str, str], generation: int
    ) -> JsonObject | None:
        """The condition to write; None when it stands already."""
        type_, value, reason, message = wanted
        old = find_condition(status.get("conditions") or [], type_) or {}
        if (old.get("status"), old.get("reason"), old.get("message") or "") == wanted[1:]:
            return None
        since = old.get("lastTransitionTime") if old.get("status") == value else None
        found = {
            "type": type_,
            "status": value,
            "reason": reason,
            "message": message,
            "lastProbeTime": None,
            "lastTransitionTime": since or to_rfc3339(self._clock.now()),
        }
        return {**found, "observedGeneration": generation} if generation else found

    async def _patch(self, pod: PodInfo, status: JsonObject) -> bool:
        try:
            await self._client.patch(
                PODS,
                pod.name,
                {"metadata": {"uid": pod.uid}, "status": status},
                namespace=pod.namespace,
                subresource="status",
                patch_type=PatchType.STRATEGIC,
            )
        except (ApiError, TransportError) as error:
            log.debug("pod status not written", extra={"pod": pod.key, "error": str(error)})
            return False
        return True

    async def forget_node(self, pod: PodInfo) -> None:
        await self._patch(pod, {"nominatedNodeName": None})

    # -- preemption

    async def evict(
        self, pod: PodInfo, node: str, victims: list[PodInfo], before_last: Callable[[], None]
    ) -> bool:
        """Send the victims away; say whether their going will tell when to try the pod again.

        ``before_last`` is called before the last goes: whoever waits for its going listens by then.
        Nothing tells when none had to go any more; and one that could not be sent away stays.
        """
        limit = asyncio.Semaphore(_EVICTORS)
        done: list[Eviction] = []

        async def one(victim: PodInfo) -> None:
            async with limit:
                done.append(await self._evict(pod, node, victim))

        async with asyncio.TaskGroup() as group:
            for victim in victims[:-1]:
                group.create_task(one(victim), name=f"evict {victim.key}")
        before_last()
        done.append(await self._evict(pod, node, victims[-1]))
        return Eviction.FAILED not in done and Eviction.DONE in done

    async def _evict(self, pod: PodInfo, node: str, victim: PodInfo) -> Eviction:
        message = f"{pod.scheduler}: preempting to accommodate a higher priority pod"
        wanted = ("DisruptionTarget", "True", "PreemptionByScheduler", message)
        status = (self._find(victim.key) or {}).get("status") or {}
        condition = self._condition(status, wanted, victim.generation)
        if condition is not None and not await self._patch(victim, {"conditions": [condition]}):
            return Eviction.FAILED
        try:
            await self._client.delete(PODS, victim.name, namespace=victim.namespace)
        except NotFoundError:
            return Eviction.NEEDLESS
        except (ApiError, TransportError) as error:
            log.warning("victim not deleted", extra={"pod": victim.key, "error": str(error)})
            return Eviction.FAILED
        note = f"Preempted by pod {pod.uid} on node {node}"
        self._recorder.record(victim, _PREEMPTED, note, controller=pod.scheduler, related=pod)
        return Eviction.DONE
