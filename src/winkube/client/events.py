"""Record what happened to objects as core/v1 Events.

``record`` never waits and never fails: events go to a bounded queue and are written by ``run``.
The same event about the same object raises the count of the one written before; more than a few
events that differ in their message only are combined into one; a source that floods one object is
cut to a trickle (client-go: tools/record event correlation).
"""

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

from winkube.aio.fair import FairQueue
from winkube.api.errors import ApiError, NotFoundError
from winkube.base.clock import Clock, SystemClock, to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.resource import EVENTS
from winkube.client.rest import ApiClient

QUEUE_LIMIT: Final = 10_000
# Of these, how many may be about one namespace.
FLOW_LIMIT: Final = 5_000
REMEMBERED: Final = 4096
BURST: Final = 25.0
REFILL_PER_SECOND: Final = 1 / 300
MESSAGE_LIMIT: Final = 1024
# From this many different messages on, within this time, similar events are combined.
SIMILAR_LIMIT: Final = 10
SIMILAR_SECONDS: Final = 600.0
COMBINED: Final = "(combined from similar events): "

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Seen:
    name: str
    count: int
    first: str


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


@dataclass(frozen=True, slots=True)
class _Occurrence:
    involved: tuple[tuple[str, str], ...]
    type: str
    reason: str
    message: str
    component: str


@dataclass(slots=True)
class _Similar:
    messages: set[str]
    at: float


class EventRecorder:
    def __init__(
        self, client: ApiClient, component: str, host: str = "", *, clock: Clock | None = None
    ) -> None:
        self._client = client
        self._component = component
        self._host = host
        self._clock: Clock = clock or SystemClock()
        # Namespaces take turns: what happens to thousands of objects hides nobody else's.
        self._queue: FairQueue[str, tuple[_Occurrence, float]] = FairQueue()
        self._unwritten = 0
        self._all_written = asyncio.Event()
        self._all_written.set()
        self._seen: OrderedDict[_Occurrence, _Seen] = OrderedDict()
        self._buckets: OrderedDict[tuple[tuple[str, str], ...], _Bucket] = OrderedDict()
        self._similar: OrderedDict[_Occurrence, _Similar] = OrderedDict()
        self._sequence = 0

    def record(
        self,
        obj: JsonObject,
        type: str,
        reason: str,
        message: str,
        *,
        component: str | None = None,
    ) -> None:
        """Note that something happened; ``component`` speaks for a part of this process."""
        said_by = component or self._component
        occurrence = _Occurrence(_reference(obj), type, reason, message[:MESSAGE_LIMIT], said_by)
        if not self._admit(occurrence.involved):
            return
        namespace = dict(occurrence.involved).get("namespace", "")
        if self._queue.length(namespace) >= FLOW_LIMIT or len(self._queue) >= QUEUE_LIMIT:
            log.debug("event dropped", extra={"reason": reason})
            return
        self._queue.put(namespace, (occurrence, self._clock.now()))
        self._unwritten += 1
        self._all_written.clear()

    async def run(self) -> None:
        while True:
            occurrence, at = await self._queue.get()
            try:
                await self._write(occurrence, at)
            except (ApiError, TransportError) as error:
                # Events are best effort: a namespace that ends refuses them, and that is fine.
                log.debug("event not written", extra={"error": str(error)})
            finally:
                self._unwritten -= 1
                if not self._unwritten:
                    self._all_written.set()

    async def flush(self) -> None:
        """Wait until everything recorded so far was handed to the server."""
        await self._all_written.wait()

    def _admit(self, involved: tuple[tuple[str, str], ...]) -> bool:
        now = self._clock.monotonic()
        bucket = self._buckets.setdefault(involved, _Bucket(BURST, now))
        self._buckets.move_to_end(involved)
        if len(self._buckets) > REMEMBERED:
            self._buckets.popitem(last=False)
        bucket.tokens = min(BURST, bucket.tokens + (now - bucket.at) * REFILL_PER_SECOND)
        bucket.at = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    async def _write(self, occurrence: _Occurrence, at: float) -> None:
        namespace = dict(occurrence.involved).get("namespace") or "default"
        message, occurrence = self._combine(occurrence)
        seen = self._seen.get(occurrence)
        if seen is not None:
            seen.count += 1
            self._seen.move_to_end(occurrence)
            body = {"count": seen.count, "lastTimestamp": to_rfc3339(at), "message": message}
            try:
                await self._client.patch(EVENTS, seen.name, body, namespace=namespace)
            except NotFoundError:
                # It has expired: write it anew.
                del self._seen[occurrence]
            else:
                return
        event = {**self._event(occurrence, at, namespace), "message": message}
        await self._client.create(EVENTS, event, namespace=namespace)
        name, first = event["metadata"]["name"], event["firstTimestamp"]
        self._seen[occurrence] = _Seen(name, 1, first)
        if len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)

    def _combine(self, occurrence: _Occurrence) -> tuple[str, _Occurrence]:
        """The message to write, and under what to count it."""
        kind = replace(occurrence, message="")
        now = self._clock.monotonic()
        similar = self._similar.get(kind)
        if similar is None or now - similar.at > SIMILAR_SECONDS:
            similar = self._similar[kind] = _Similar(set(), now)
        similar.at = now
        self._similar.move_to_end(kind)
        if len(self._similar) > REMEMBERED:
            self._similar.popitem(last=False)
        similar.messages.add(occurrence.message)
        if len(similar.messages) < SIMILAR_LIMIT:
            return occurrence.message, occurrence
        similar.messages.pop()
        return f"{COMBINED}{occurrence.message}", kind

    def _event(self, occurrence: _Occurrence, at: float, namespace: str) -> JsonObject:
        involved = dict(occurrence.involved)
        self._sequence += 1
        # Names as upstream: the object's, then the time in hexadecimal nanoseconds.
        suffix = f"{int(at * 1e9) + self._sequence:x}"
        source = {"component": occurrence.component}
        if self._host:
            source["host"] = self._host
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{involved['name']}.{suffix}", "namespace": namespace},
            "involvedObject": involved,
            "type": occurrence.type,
            "reason": occurrence.reason,
            "message": occurrence.message,
            "source": source,
            "firstTimestamp": to_rfc3339(at),
            "lastTimestamp": to_rfc3339(at),
            "count": 1,
            "reportingComponent": occurrence.component,
            "reportingInstance": self._host,
        }


def _reference(obj: JsonObject) -> tuple[tuple[str, str], ...]:
    """The ObjectReference of an object; one that is a reference already passes through."""
    metadata = obj.get("metadata") or obj
    found = {
        "kind": obj.get("kind"),
        "namespace": metadata.get("namespace"),
        "name": metadata.get("name"),
        "uid": metadata.get("uid"),
        "apiVersion": obj.get("apiVersion"),
        "fieldPath": obj.get("fieldPath"),
    }
    return tuple((key, str(value)) for key, value in found.items() if value)
