"""A clock that moves only when told."""


class FakeClock:
    def __init__(self, now: float = 1_600_000_000.0) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += seconds
