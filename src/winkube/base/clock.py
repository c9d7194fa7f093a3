"""Time as a dependency: components take a Clock, tests hand them a fake one."""

import functools
import math
import time
from datetime import UTC, datetime
from typing import Final, Protocol

_FOUR_CENTURIES: Final = 146_097 * 86_400.0


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...


class SystemClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


def to_rfc3339(seconds: float) -> str:
    """Render as metav1.Time: whole seconds, UTC."""
    return _second(math.floor(seconds))


@functools.lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def to_rfc3339_micro(seconds: float) -> str:
    """Render as metav1.MicroTime (leases and events)."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_rfc3339(text: str) -> float:
    if text.startswith("0000"):
        # The API has a year 0 and Python none; 400 years always have the same number of days.
        return datetime.fromisoformat(f"0400{text[4:]}").timestamp() - _FOUR_CENTURIES
    return datetime.fromisoformat(text).timestamp()
