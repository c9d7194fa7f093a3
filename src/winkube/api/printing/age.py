"""Durations as kubectl shows them (apimachinery: util/duration)."""

from winkube.base.clock import parse_rfc3339

UNKNOWN = "<unknown>"
_HOUR = 3600


def age_of(timestamp: object, now: float) -> str:
    if not isinstance(timestamp, str) or not timestamp:
        return UNKNOWN
    try:
        return human_duration(now - parse_rfc3339(timestamp))
    except ValueError:
        return UNKNOWN


def human_duration(duration: float) -> str:
    """Two units at most, the second only while it matters."""
    seconds = int(duration)
    if seconds < 0:
        # A clock that is a little behind is no reason to shout.
        return "0s" if seconds >= -1 else "<invalid>"
    return _short(seconds) if seconds < 8 * _HOUR else _long(seconds // _HOUR)


def _short(seconds: int) -> str:
    minutes = seconds // 60
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _pair(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    return _pair(minutes // 60, "h", minutes % 60, "m")


def _long(hours: int) -> str:
    days = hours // 24
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _pair(days, "d", hours % 24, "h")
    if days < 365 * 2:
        return f"{days}d"
    if days < 365 * 8:
        return _pair(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _pair(major: int, unit: str, minor: int, sub: str) -> str:
    return f"{major}{unit}{minor}{sub}" if minor else f"{major}{unit}"
