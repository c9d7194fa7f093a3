"""Time that namespaces have taken of the scheduler beyond their share.

A decision about a usual pod takes microseconds and is not counted at all. Pods can be written that
take a thousand times as long each; their namespace comes into debt, which time alone pays off. Who
is in debt is not refused anything: it only lets others go first.
"""

from typing import Final

# Decisions that take less are free.
CHEAP: Final = 0.001
# What a namespace may take at once, what it is forgiven per second, and what is remembered at most.
ALLOWANCE: Final = 0.1
SHARE: Final = 0.5
MOST: Final = 2.0


class Debts:
    def __init__(self) -> None:
        # How much it was when it was last looked at, and when.
        self._owed: dict[str, tuple[float, float]] = {}

    def __len__(self) -> int:
        return len(self._owed)

    def charge(self, namespace: str, seconds: float, now: float) -> None:
        if seconds < CHEAP:
            return
        owed = min(MOST, self.of(namespace, now) + seconds)
        # The last charged stands last, so those that have paid meanwhile stand first.
        self._owed.pop(namespace, None)
        self._owed[namespace] = (owed, now)
        self._forget(now)

    def _forget(self, now: float) -> None:
        """Nobody may ask again after namespaces that are gone."""
        while now - self._owed[oldest := next(iter(self._owed))][1] > MOST / SHARE:
            del self._owed[oldest]

    def of(self, namespace: str, now: float) -> float:
        found = self._owed.get(namespace)
        if found is None:
            return 0.0
        left = found[0] - SHARE * (now - found[1])
        if left <= 0:
            del self._owed[namespace]
        return max(0.0, left)

    def is_indebted(self, namespace: str, now: float) -> bool:
        return bool(self._owed) and self.of(namespace, now) > ALLOWANCE
