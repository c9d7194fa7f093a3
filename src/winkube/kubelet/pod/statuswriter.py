"""Send pod statuses to the API server: the newest only, at once, again until it is taken.

Conditions belong to many: ours are merged into those that others have written meanwhile.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Final

from winkube.aio.backoff import Backoff
from winkube.aio.queue import WorkQueue
from winkube.aio.supervise import work
from winkube.api.errors import ConflictError, InvalidError, NotFoundError
from winkube.base.types import JsonObject
from winkube.client.resource import PODS
from winkube.client.rest import ApiClient, PatchType
from winkube.kubelet.pod import identity
from winkube.kubelet.pod.presence import is_there
from winkube.kubelet.pod.status import OWN_CONDITIONS

_WORKERS: Final = 8
# Sent as null when absent, or the patch would leave the old value standing. No kubelet keeps what a
# scheduler had in mind: upstream's says nothing of it, which takes it away.
_OPTIONAL: Final = ("reason", "message", "podIP", "podIPs", "nominatedNodeName")
_OPTIONAL_OF_CONDITION: Final = ("reason", "message", "observedGeneration")
_MERGED: Final = ("hostIPs", "podIPs")
_REPLACE: Final[JsonObject] = {"$patch": "replace"}


def to_patch(uid: str, status: JsonObject) -> JsonObject:
    """A strategic merge patch that makes ``status`` of what is ours."""
    body: JsonObject = {key: None for key in _OPTIONAL if key not in status} | status
    for key in _MERGED:
        if body.get(key):
            body[key] = [_REPLACE, *body[key]]
    if "conditions" in status:
        nothing = dict.fromkeys(_OPTIONAL_OF_CONDITION)
        own = [each for each in status["conditions"] if each["type"] in OWN_CONDITIONS]
        body["conditions"] = [{**nothing, **each} for each in own]
        body["$setElementOrder/conditions"] = [{"type": each["type"]} for each in own]
    return {"metadata": {"uid": uid}, "status": body}


@dataclass(slots=True)
class _Entry:
    pod: JsonObject
    wanted: JsonObject
    sent: JsonObject | None = None
    gone: bool = False
    settled: asyncio.Event = field(default_factory=asyncio.Event)


class StatusWriter:
    def __init__(self, client: ApiClient) -> None:
        self._client = client
        self._entries: dict[str, _Entry] = {}
        self._queue: WorkQueue[str] = WorkQueue(Backoff(first=0.1, ceiling=10.0))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(_WORKERS):
                group.create_task(work(self._queue, self._write), name=f"pod-status-{number}")

    def set(self, pod: JsonObject, status: JsonObject) -> None:
        uid = identity.uid_of(pod)
        entry = self._entries.get(uid)
        if entry is None:
            entry = _Entry(pod, status)
            self._entries[uid] = entry
            known = pod.get("status") or {}
            if all(known.get(key) == value for key, value in status.items()):
                entry.sent = status
                entry.settled.set()
                return
        entry.wanted = status
        if entry.sent != status:
            entry.settled.clear()
            self._queue.add(uid)

    async def settle(self, uid: str) -> None:
        """Wait until the newest status was taken, or the pod is gone from the API."""
        entry = self._entries.get(uid)
        if entry is not None:
            await entry.settled.wait()

    def forget(self, uid: str) -> None:
        """The pod is gone; whoever waits for its status has nothing left to wait for."""
        entry = self._entries.pop(uid, None)
        if entry is not None:
            entry.settled.set()

    async def _write(self, uid: str) -> None:
        entry = self._entries.get(uid)
        if entry is None:
            return
        if entry.gone or entry.sent == entry.wanted:
            entry.settled.set()
            return
        status = entry.wanted
        try:
            await self._client.patch(
                PODS,
                identity.name_of(entry.pod),
                to_patch(uid, status),
                namespace=identity.namespace_of(entry.pod),
                subresource="status",
                patch_type=PatchType.STRATEGIC,
            )
        except NotFoundError:
            entry.gone = True
        except (ConflictError, InvalidError):
            if await is_there(self._client, entry.pod):
                raise
            # Another pod has this name now: what we know is nobody's business any more.
            entry.gone = True
        entry.sent = status
        if entry.wanted == status or entry.gone:
            entry.settled.set()
        else:
            self._queue.add(uid)
