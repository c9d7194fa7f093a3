"""Time that namespaces have taken of the scheduler beyond their share.

A decision about a usual pod takes microseconds and makes no debt. Pods can be written that take a
thousand times as long each; their namespace comes into debt. Who is in debt is not refused
anything: it only lets others go first.

All times are processor time. A debt is paid off by what others have decided about them, and slowly
by time itself. Not by time alone: on a busy machine much of it passes while little is decided, and
nobody would ever be in debt.
"""

from typing import Final

# Decisions that take less are free.
CHEAP: Final = 0.001
# What a namespace may take at once, what it is forgiven per second of the others, how many of those
# a second without any is worth, and what is remembered at most.
ALLOWANCE: Final = 0.1
SHARE: Final = 0.5
IDLE: Final = 0.05
MOST: Final = 1.0


class Debts:
    def __init__(self) -> None:
        # How much it was when it was last charged, when, and what was decided by then.
        self._owed: dict[str, tuple[float, float, float]] = {}
        self._decided = 0.0

    def __len__(self) -> int:
        return len(self._owed)

    def charge(self, namespace: str, seconds: float, now: float) -> None:
        if seconds < CHEAP:
            self._decided += seconds
            return
        owed = min(MOST, self.of(namespace, now) + seconds)
        # The last charged stands last, so those that have paid meanwhile stand first.
        self._owed.pop(namespace, None)
        self._decided += seconds
        self._owed[namespace] = (owed, now, self._decided)
        self._forget(now)

    def _forget(self, now: float) -> None:
        """Nobody may ask again after namespaces that are gone."""
        while now - self._owed[oldest := next(iter(self._owed))][1] > MOST / SHARE / IDLE:
            del self._owed[oldest]

    def of(self, namespace: str, now: float) -> float:
        found = self._owed.get(namespace)
        if found is None:
            return 0.0
        owed, since, decided = found
        left = owed - SHARE * (self._decided - decided + IDLE * (now - since))
        if left <= 0:
            del self._owed[namespace]
        return max(0.0, left)

    def is_indebted(self, namespace: str, now: float) -> bool:
        return bool(self._owed) and self.of(namespace, now) > ALLOWANCE
