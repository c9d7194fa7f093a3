"""Pods nobody looks after any more.

Those of nodes that are gone or declared out of service, those that go and were never scheduled, and
those that ended long ago.
"""

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from winkube.aio.supervise import repeat
from winkube.api.errors import ApiError, NotFoundError
from winkube.api.meta import get_condition, is_deleting, key_of, name_of, set_condition
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.resource import NODES, PODS
from winkube.controllers.controller import Context, Controller
from winkube.controllers.pods import is_finished, node_of, observed

PERIOD: Final = 20.0
# A node may be away from our cache for a moment only.
QUARANTINE: Final = 40.0
OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
_NODE_GONE: Final = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByPodGC",
    "message": "PodGC: node no longer exists",
}
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PodGcPlan:
    orphaned: tuple[JsonObject, ...] = ()
    going: tuple[JsonObject, ...] = ()
    ended: tuple[JsonObject, ...] = ()


def plan_pod_gc(
    pods: Iterable[JsonObject],
    nodes: Mapping[str, JsonObject],
    lost: Mapping[str, float],
    threshold: int,
) -> PodGcPlan:
    """``lost``: nodes missed for longer than the quarantine."""
    orphaned, going, ended = [], [], []
    for pod in pods:
        node = node_of(pod)
        if node and node not in nodes and node in lost:
            orphaned.append(pod)
        elif is_deleting(pod) and (not node or is_out_of_service(nodes.get(node))):
            going.append(pod)
        elif is_finished(pod) and not is_deleting(pod):
            ended.append(pod)
    surplus = max(0, len(ended) - threshold) if threshold > 0 else 0
    ended.sort(key=lambda pod: (pod["metadata"].get("creationTimestamp") or "", key_of(pod)))
    return PodGcPlan(tuple(orphaned), tuple(going), tuple(ended[:surplus]))


def is_out_of_service(node: JsonObject | None) -> bool:
    """Whether somebody says that nothing runs there any more, and nothing speaks against it."""
    if node is None:
        return False
    ready = get_condition(node, "Ready")
    taints = (node.get("spec") or {}).get("taints") or ()
    declared = any(taint.get("key") == OUT_OF_SERVICE for taint in taints)
    return declared and (ready is None or ready.get("status") != "True")


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
        now, nodes = self.clock.monotonic(), {name_of(each): each for each in self._nodes.list()}
        used = {node_of(pod) for pod in self._pods.list()} - {""}
        self._missed = {name: self._missed.get(name, now) for name in used - nodes.keys()}
        lost = {name: at for name, at in self._missed.items() if now - at >= QUARANTINE}
        for name in list(lost):
            if await self._exists(name):
                del lost[name], self._missed[name]
        threshold = self.context.config.terminated_pod_threshold
        plan = plan_pod_gc(self._pods.list(), nodes, lost, threshold)
        for pod in plan.orphaned:
            await self._collect(pod, _NODE_GONE)
        for pod in (*plan.going, *plan.ended):
            await self._collect(pod)

    async def _collect(self, pod: JsonObject, condition: JsonObject | None = None) -> None:
        """One pod that cannot be removed does not keep the others."""
        try:
            await self._fail(pod, condition)
            await self.remove(PODS, pod, gracePeriodSeconds=0)
        except (ApiError, TransportError) as error:
            log.warning("pod not collected", extra={"pod": key_of(pod), "error": str(error)})

    async def _exists(self, node: str) -> bool:
        try:
            await self.client.get(NODES, node)
        except NotFoundError:
            return False
        return True

    async def _fail(self, pod: JsonObject, condition: JsonObject | None) -> None:
        """Say what became of it before it goes: owners may count failures, or wait for one."""
        if is_finished(pod):
            return
        status = {**(pod.get("status") or {}), "phase": "Failed"}
        fresh: JsonObject = {**pod, "status": observed(pod, status)}
        if condition is not None:
            fresh["status"]["conditions"] = list(fresh["status"].get("conditions") or ())
            set_condition(fresh, observed(pod, condition), to_rfc3339(self.clock.now()))
        with contextlib.suppress(NotFoundError):
            await self.client.update(PODS, fresh, subresource="status")
