"""What happened to pods, as events.k8s.io/v1 Events.

``record`` never waits and never fails. The same happening again (whatever its note) becomes a
series of the event written first: the second time says so, later ones are only counted, and the
count is written when nothing more has come for a while (client-go: tools/events).
"""

import asyncio
import logging
import socket
from collections import OrderedDict
from typing import Final, NamedTuple

from winkube.aio.fair import FairQueue
from winkube.api.errors import ApiError, NotFoundError
from winkube.base.clock import Clock, to_rfc3339_micro
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.resource import Resource
from winkube.client.rest import ApiClient, PatchType
from winkube.scheduler.shape import PodInfo

EVENTS: Final = Resource("events.k8s.io", "v1", "events", True)
QUEUE_LIMIT: Final = 10_000
# Of one namespace.
FLOW_LIMIT: Final = 5_000
REMEMBERED: Final = 8192
FINISH_SECONDS: Final = 360.0
NOTE_LIMIT: Final = 1024
# One: while many pods are placed, the server has better to do than to note it.
WRITERS: Final = 1

log = logging.getLogger(__name__)


class _Key(NamedTuple):
    controller: str
    type: str
    reason: str
    action: str
    regarding: str
    related: str


class _Written:
    __slots__ = ("count", "event", "seen")

    def __init__(self, event: JsonObject, seen: float) -> None:
        self.event = event
        self.count = 1
        self.seen = seen


def shortened(note: str) -> str:
    data = note.encode()
    return (
        note if len(data) <= NOTE_LIMIT else data[: NOTE_LIMIT - 4].decode(errors="ignore") + " ..."
    )


class Recorder:
    def __init__(self, client: ApiClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._host = socket.gethostname()
        self._queue: FairQueue[str, _Written] = FairQueue()
        self._written: OrderedDict[_Key, _Written] = OrderedDict()
        self._sequence = 0

    def record(
        self, pod: PodInfo, happened: tuple[str, str, str], note: str, *,
        controller: str, related: PodInfo | None = None,
    ) -> None:  # fmt: skip
        """``happened`` is type, reason and action of the event."""
        about = f"{pod.uid} {pod.version}"
        key = _Key(controller, *happened, about, related.uid if related else "")
        now = self._clock.now()
        self._forget(now)
        known = self._written.get(key)
        if known is not None:
            known.count += 1
            known.seen = now
            self._written.move_to_end(key)
            if known.count == 2:
                self._enqueue(known)
            return
        event = self._event(pod, happened, note, (controller, now))
        if related is not None:
            event["related"] = _reference(related)
        fresh = self._written[key] = _Written(event, now)
        self._enqueue(fresh)

    def _enqueue(self, written: _Written) -> None:
        namespace = written.event["metadata"]["namespace"]
        if self._queue.length(namespace) >= FLOW_LIMIT or len(self._queue) >= QUEUE_LIMIT:
            log.debug("event dropped", extra={"reason": written.event["reason"]})
        else:
            self._queue.put(namespace, written)

    def _forget(self, now: float) -> None:
        """Close series that nothing was added to for a while."""
        while self._written:
            oldest = next(iter(self._written.values()))
            if now - oldest.seen < FINISH_SECONDS and len(self._written) <= REMEMBERED:
                return
            self._written.popitem(last=False)
            if oldest.count > 2:
                self._enqueue(oldest)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(WRITERS):
                group.create_task(self._write_all(), name=f"events {number}")

    async def _write_all(self) -> None:
        while True:
            written = await self._queue.get()
            try:
                await self._write(written)
            except (ApiError, TransportError) as error:
                # Events are best effort: a namespace that ends refuses them, and that is fine.
                log.debug("event not written", extra={"error": str(error)})

    async def _write(self, written: _Written) -> None:
        event = written.event
        name, namespace = event["metadata"]["name"], event["metadata"]["namespace"]
        if written.count > 1:
            series = {"count": written.count, "lastObservedTime": to_rfc3339_micro(written.seen)}
            event = {**event, "series": series}
            try:
                await self._client.patch(
                    EVENTS,
                    name,
                    {"series": series},
                    namespace=namespace,
                    patch_type=PatchType.STRATEGIC,
                )
            except NotFoundError:
                # Its first writing was lost, or it has expired: write it anew.
                pass
            else:
                return
        await self._client.create(EVENTS, event, namespace=namespace)

    def _event(
        self, pod: PodInfo, happened: tuple[str, str, str], note: str, said: tuple[str, float]
    ) -> JsonObject:
        type_, reason, action = happened
        controller, now = said
        self._sequence += 1
        # Names as upstream: the object's, then the time in hexadecimal nanoseconds.
        suffix = f"{int(now * 1e9) + self._sequence:x}"
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": f"{pod.name}.{suffix}", "namespace": pod.namespace},
            "eventTime": to_rfc3339_micro(now),
            "reportingController": controller,
            "reportingInstance": f"{controller}-{self._host}",
            "action": action,
            "reason": reason,
            "regarding": _reference(pod),
            "note": shortened(note),
            "type": type_,
        }


def _reference(pod: PodInfo) -> JsonObject:
    found = {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
    }
    if pod.version:
        found["resourceVersion"] = pod.version
    return found
