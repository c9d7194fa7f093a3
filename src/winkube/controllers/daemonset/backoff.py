"""How long a failed daemon pod is left on its node before it is replaced.

A kubelet that rejects a pod does so at once and for ever; without a growing pause the two would
chase each other.
"""

from dataclasses import dataclass
from typing import Final

from winkube.base.clock import Clock

FIRST_SECONDS: Final = 1.0
LONGEST_SECONDS: Final = 900.0


@dataclass(frozen=True, slots=True)
class _Pause:
    seconds: float
    since: float


class FailedPodBackoff:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pauses: dict[str, dict[str, _Pause]] = {}

    def waiting(self, scope: str) -> dict[str, float]:
        """The nodes that have to wait, with how long still."""
        now = self._clock.monotonic()
        found = {
            node: pause.since + pause.seconds - now
            for node, pause in self._pauses.get(scope, {}).items()
        }
        return {node: left for node, left in found.items() if left > 0}

    def failed(self, scope: str, node: str) -> None:
        now = self._clock.monotonic()
        self._forget_old(now)
        pauses = self._pauses.setdefault(scope, {})
        last = pauses.get(node)
        seconds = FIRST_SECONDS if last is None else min(LONGEST_SECONDS, last.seconds * 2)
        pauses[node] = _Pause(seconds, now)

    def _forget_old(self, now: float) -> None:
        for scope, pauses in [*self._pauses.items()]:
            for node, pause in [*pauses.items()]:
                if now - pause.since > 2 * LONGEST_SECONDS:
                    del pauses[node]
            if not pauses:
                del self._pauses[scope]
