"""Durations as Go writes and reads them: ``1m30s``, ``15.004s``, ``250ms``."""

import re
from fractions import Fraction
from typing import Final

from winkube.api.errors import BadRequestError

_NANO: Final = 1_000_000_000
_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": _NANO,
    "m": 60 * _NANO,
    "h": 3600 * _NANO,
}
_PART: Final = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)


def parse_duration(text: str) -> float:
    """Seconds."""
    body = text.removeprefix("-").removeprefix("+")
    if body == "0":
        return 0.0
    parts = list(_PART.finditer(body))
    if not parts or "".join(part[0] for part in parts) != body:
        raise BadRequestError(f'time: invalid duration "{text}"')
    nanoseconds = sum(Fraction(part[1]) * _UNITS[part[2]] for part in parts)
    return float(nanoseconds) / _NANO * (-1 if text.startswith("-") else 1)


def format_duration(nanoseconds: int) -> str:
    """The shortest exact text, as Go's Duration.String."""
    if nanoseconds < 0:
        return "-" + format_duration(-nanoseconds)
    if nanoseconds == 0:
        return "0s"
    if nanoseconds < _NANO:
        unit = next(unit for unit in ("ms", "µs", "ns") if nanoseconds >= _UNITS[unit])
        return _decimal(nanoseconds, _UNITS[unit]) + unit
    minutes, rest = divmod(nanoseconds, 60 * _NANO)
    text = _decimal(rest, _NANO) + "s"
    if not minutes:
        return text
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}"


def _decimal(number: int, unit: int) -> str:
    whole, rest = divmod(number, unit)
    digits = len(str(unit)) - 1
    fraction = str(rest).zfill(digits).rstrip("0") if rest else ""
    return f"{whole}.{fraction}" if fraction else str(whole)
