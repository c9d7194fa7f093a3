"""When the change happened that a write of endpoints is about: what latency is measured from.

(endpointslice: util/trigger_time_tracker.go.) The annotation is the earliest change since the last
look: a pod that became ready or stopped being it, or the service's own creation.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from winkube.api.meta import annotations_of, find_condition, key_of, name_of
from winkube.base.types import JsonObject

TRIGGER_TIME: Final = "endpoints.kubernetes.io/last-change-trigger-time"


@dataclass(slots=True)
class TriggerTimes:
    _pods: dict[str, dict[str, str]] = field(default_factory=dict)

    def look(self, service: JsonObject, pods: Iterable[JsonObject]) -> str:
        """The time to write, empty when nothing with a time has changed since the last look."""
        key = key_of(service)
        before = self._pods.get(key)
        now = {name_of(pod): when for pod in pods if (when := _ready_since(pod))}
        self._pods[key] = now
        if before is None:
            return str(service["metadata"].get("creationTimestamp") or "")
        fresh = [when for name, when in now.items() if when > before.get(name, "")]
        return min(fresh, default="")

    def forget(self, key: str) -> None:
        self._pods.pop(key, None)


def stamp(obj: JsonObject, when: str) -> JsonObject:
    """The object as it is written now, with the time or without."""
    notes = {key: text for key, text in annotations_of(obj).items() if key != TRIGGER_TIME}
    if when:
        notes[TRIGGER_TIME] = when
    metadata = {key: value for key, value in obj["metadata"].items() if key != "annotations"}
    return {**obj, "metadata": {**metadata, "annotations": notes} if notes else metadata}


def _ready_since(pod: JsonObject) -> str:
    ready = find_condition((pod.get("status") or {}).get("conditions") or [], "Ready")
    return str((ready or {}).get("lastTransitionTime") or "")
