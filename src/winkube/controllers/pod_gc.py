"""Pods nobody looks after any more: of nodes that are gone, never scheduled, or ended long ago."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from winkube.aio.supervise import repeat
from winkube.api.errors import ConflictError, NotFoundError
from winkube.api.meta import is_deleting, key_of, set_condition
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.resource import NODES, PODS
from winkube.controllers.controller import Context, Controller
from winkube.controllers.pods import is_finished, node_of, observed

PERIOD: Final = 20.0
# A node may be away from our cache for a moment only.
QUARANTINE: Final = 40.0


@dataclass(frozen=True, slots=True)
class PodGcPlan:
    orphaned: tuple[JsonObject, ...] = ()
    unscheduled: tuple[JsonObject, ...] = ()
    ended: tuple[JsonObject, ...] = ()


def plan_pod_gc(
    pods: Iterable[JsonObject], nodes: Collection[str], lost: Mapping[str, float], threshold: int
) -> PodGcPlan:
    """``lost``: nodes missed for longer than the quarantine."""
    orphaned, unscheduled, ended = [], [], []
    for pod in pods:
        node = node_of(pod)
        if node and node not in nodes and node in lost:
            orphaned.append(pod)
        elif not node and is_deleting(pod):
            unscheduled.append(pod)
        elif is_finished(pod) and not is_deleting(pod):
            ended.append(pod)
    surplus = max(0, len(ended) - threshold) if threshold > 0 else 0
    ended.sort(key=lambda pod: (pod["metadata"].get("creationTimestamp") or "", key_of(pod)))
    return PodGcPlan(tuple(orphaned), tuple(unscheduled), tuple(ended[:surplus]))


class PodGarbageCollector(Controller):
    name = "pod-garbage-collector-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._pods = self.informer(PODS)
        self._nodes = self.informer(NODES)
        self._missed: dict[str, float] = {}

    async def reconcile(self, key: str) -> None:
        """Nothing is queued: the sweep looks at everything."""

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(repeat(PERIOD, self.sweep, name=self.name), name=self.name)

    async def sweep(self) -> None:
        now, nodes = self.clock.monotonic(), set(self._nodes.keys())
        used = {node_of(pod) for pod in self._pods.list()} - {""}
        self._missed = {name: self._missed.get(name, now) for name in used - nodes}
        lost = {name: at for name, at in self._missed.items() if now - at >= QUARANTINE}
        for name in list(lost):
            if await self._exists(name):
                del lost[name], self._missed[name]
        threshold = self.context.config.terminated_pod_threshold
        plan = plan_pod_gc(self._pods.list(), nodes, lost, threshold)
        for pod in plan.orphaned:
            await self._fail(pod)
        for pod in (*plan.orphaned, *plan.unscheduled, *plan.ended):
            await self.remove(PODS, pod, gracePeriodSeconds=0)

    async def _exists(self, node: str) -> bool:
        try:
            await self.client.get(NODES, node)
        except NotFoundError:
            return False
        return True

    async def _fail(self, pod: JsonObject) -> None:
        """Say what became of it before it goes: owners may count failures."""
        if is_finished(pod):
            return
        fresh: JsonObject = {**pod, "status": {**(pod.get("status") or {}), "phase": "Failed"}}
        fresh["status"]["conditions"] = list(fresh["status"].get("conditions") or ())
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByPodGC",
            "message": "PodGC: node no longer exists",
        }
        set_condition(fresh, observed(pod, condition), to_rfc3339(self.clock.now()))
        try:
            await self.client.update(PODS, fresh, subresource="status")
        except (NotFoundError, ConflictError):
            return
