"""How long a job waits before it replaces failed pods: longer with every failure in a row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from winkube.api.meta import get_condition
from winkube.base.clock import parse_rfc3339
from winkube.base.types import JsonObject

FIRST_SECONDS: Final = 10.0
LONGEST_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True)
class Failures:
    """Those since the last success, and when the latest was."""

    count: int = 0
    last: float = 0.0

    def remaining(self, now: float) -> float:
        if not self.count:
            return 0.0
        pause = min(LONGEST_SECONDS, FIRST_SECONDS * 2.0 ** min(self.count - 1, 10))
        return max(0.0, self.last + pause - now)

    def after(self, succeeded: Sequence[JsonObject], failed: Sequence[JsonObject]) -> "Failures":
        """The record once these pods have ended too."""
        if not succeeded and not failed:
            return self
        ends = [finished_at(pod) for pod in failed]
        if not succeeded:
            return Failures(self.count + len(ends), max(ends))
        success = max(finished_at(pod) for pod in succeeded)
        later = [end for end in ends if end > success]
        return Failures(len(later), max(later, default=0.0))


def finished_at(pod: JsonObject) -> float:
    """When a pod ended, by what tells it best."""
    metadata = pod["metadata"]
    by_containers = _containers_finished(pod)
    if by_containers is not None:
        return by_containers
    ready = get_condition(pod, "Ready")
    if ready is not None and ready.get("status") == "False" and ready.get("lastTransitionTime"):
        return parse_rfc3339(ready["lastTransitionTime"])
    if metadata.get("deletionTimestamp"):
        grace = metadata.get("deletionGracePeriodSeconds") or 0
        return parse_rfc3339(metadata["deletionTimestamp"]) - grace
    return parse_rfc3339(metadata.get("creationTimestamp") or "1970-01-01T00:00:00Z")


def _containers_finished(pod: JsonObject) -> float | None:
    status = pod.get("status") or {}
    # Sidecars end after the others.
    sidecars = {
        container.get("name")
        for container in (pod.get("spec") or {}).get("initContainers") or ()
        if container.get("restartPolicy") == "Always"
    }
    counted = [
        *(status.get("containerStatuses") or ()),
        *(
            each
            for each in status.get("initContainerStatuses") or ()
            if each.get("name") in sidecars
        ),
    ]
    ends = [
        ((each.get("state") or {}).get("terminated") or {}).get("finishedAt") for each in counted
    ]
    known = [parse_rfc3339(end) for end in ends if end]
    return max(known) if known and len(known) == len(ends) else None
