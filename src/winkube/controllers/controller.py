"""The shape of a controller: handlers put keys into a queue, workers reconcile one key at a time.

Handlers only decide *which* keys a change concerns. ``reconcile`` reads the shared caches, plans
with pure functions and applies the plan; it may be called at any time for any key, and a key whose
object is gone is nothing to do.
"""

import asyncio
import contextlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from winkube.aio.backoff import Backoff
from winkube.aio.queue import WorkQueue
from winkube.aio.rounds import Rounds
from winkube.aio.supervise import work
from winkube.api.errors import ConflictError, NotFoundError
from winkube.api.meta import name_of, namespace_of, uid_of
from winkube.base.clock import Clock, SystemClock
from winkube.base.types import JsonObject
from winkube.client.events import EventRecorder
from winkube.client.informer import Informer, InformerPool
from winkube.client.resource import Resource
from winkube.client.rest import ApiClient
from winkube.controllers.config import ControllerConfig
from winkube.controllers.node.patch import NodePatches

CONFLICT_SECONDS: Final = 0.02
_CONFLICTS: Final = Backoff(first=CONFLICT_SECONDS, ceiling=1.0)


@dataclass(frozen=True, slots=True)
class Context:
    """What every controller shares."""

    client: ApiClient
    informers: InformerPool
    recorder: EventRecorder
    config: ControllerConfig = field(default_factory=ControllerConfig)
    clock: Clock = field(default_factory=SystemClock)
    rounds: Rounds = field(default_factory=Rounds)
    node_patches: NodePatches = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "node_patches", NodePatches(self.client))


class Controller(ABC):
    name: ClassVar[str]
    workers: ClassVar[int | None] = None
    # Whom events name, where upstream's word is not the controller's own name.
    event_source: ClassVar[str] = ""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.client = context.client
        self.clock = context.clock
        self.queue: WorkQueue[str] = WorkQueue(flow=self.flow_of)
        self._reads: list[Informer] = []
        self._conflicts: dict[str, int] = {}

    @abstractmethod
    async def reconcile(self, key: str) -> None: ...

    def flow_of(self, key: str) -> str:
        """Whose work the key is: namespaces take turns."""
        return key.partition("/")[0]

    def informer(self, resource: Resource) -> Informer:
        informer = self.context.informers[resource]
        self._reads.append(informer)
        return informer

    async def synced(self) -> None:
        """Wait for the caches that this controller reads, and for no other."""
        for informer in self._reads:
            await informer.synced.wait()

    def follow(self, resource: Resource) -> Informer:
        """Queue the key of every object of this resource that changes."""
        informer = self.informer(resource)
        informer.on_change(lambda key, old, new: self.queue.add(key))
        return informer

    def event(self, obj: JsonObject, type: str, reason: str, message: str) -> None:
        said_by = self.event_source or self.name
        self.context.recorder.record(obj, type, reason, message, component=said_by)

    async def write_status(self, resource: Resource, obj: JsonObject, status: JsonObject) -> None:
        """Write a status unless the object has it; an object that is gone needs none."""
        if status == (obj.get("status") or {}):
            return
        with contextlib.suppress(NotFoundError):
            await self.client.update(resource, {**obj, "status": status}, subresource="status")

    async def remove(self, resource: Resource, obj: JsonObject, **options: Any) -> bool:
        """Delete this very object: False if it is gone, or another has its name by now."""
        try:
            await self.client.delete(
                resource,
                name_of(obj),
                namespace=namespace_of(obj) or None,
                options={**options, "preconditions": {"uid": uid_of(obj)}},
            )
        except (NotFoundError, ConflictError):
            return False
        return True

    def others_wait(self) -> bool:
        """Whether a reconcile that goes on keeps other keys from being looked at."""
        return len(self.queue) > 0

    async def run(self) -> None:
        """Reconcile until cancelled; the informers have synced when this is called."""
        async with asyncio.TaskGroup() as group:
            for number in range(self.workers or self.context.config.workers):
                group.create_task(
                    work(self.queue, self._attempt, self.context.rounds),
                    name=f"{self.name} {number}",
                )

    async def _attempt(self, key: str) -> None:
        try:
            await self.reconcile(key)
        except ConflictError:
            # Our cache was behind: what brings it up to date is on its way. A conflict that stays
            # is about something else, and nobody is helped by asking fifty times a second.
            conflicts = self._conflicts[key] = self._conflicts.get(key, 0) + 1
            self.queue.add_after(key, _CONFLICTS.delay(conflicts))
        else:
            self._conflicts.pop(key, None)
