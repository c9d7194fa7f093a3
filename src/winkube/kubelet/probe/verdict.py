"""Counting probe outcomes into verdicts: pure."""

from dataclasses import dataclass
from enum import StrEnum

from winkube.base.types import JsonObject


class Kind(StrEnum):
    STARTUP = "startup"
    LIVENESS = "liveness"
    READINESS = "readiness"


FIELDS = {
    Kind.STARTUP: "startupProbe",
    Kind.LIVENESS: "livenessProbe",
    Kind.READINESS: "readinessProbe",
}


@dataclass(frozen=True, slots=True)
class Thresholds:
    initial_delay: float = 0.0
    period: float = 10.0
    timeout: float = 1.0
    success: int = 1
    failure: int = 3

    @classmethod
    def of(cls, probe: JsonObject) -> "Thresholds":
        return cls(
            initial_delay=float(probe.get("initialDelaySeconds") or 0),
            period=float(probe.get("periodSeconds") or 10),
            timeout=float(probe.get("timeoutSeconds") or 1),
            success=int(probe.get("successThreshold") or 1),
            failure=int(probe.get("failureThreshold") or 3),
        )


@dataclass(frozen=True, slots=True)
class Tally:
    """The last outcome and how often in a row it came; ``verdict`` is what counts so far."""

    verdict: bool | None = None
    last: bool | None = None
    run: int = 0


def count(tally: Tally, *, ok: bool, limits: Thresholds) -> Tally:
    """The verdict turns only when an outcome has come often enough in a row."""
    run = tally.run + 1 if tally.last is ok else 1
    enough = limits.success if ok else limits.failure
    return Tally(verdict=ok if run >= enough else tally.verdict, last=ok, run=run)
