"""Exponential back-off, as plain numbers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    first: float = 0.05
    factor: float = 2.0
    ceiling: float = 30.0

    def delay(self, failures: int) -> float:
        """How long to wait after this many failures in a row (at least one)."""
        return min(self.ceiling, self.first * self.factor ** min(failures - 1, 64))
