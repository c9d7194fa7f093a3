"""Durations as kubectl shows them (apimachinery: util/duration)."""

from winkube.base.clock import parse_rfc3339

UNKNOWN = "<unknown>"


def age_of(timestamp: object, now: float) -> str:
    if not isinstance(timestamp, str) or not timestamp:
        return UNKNOWN
    try:
        return human_duration(now - parse_rfc3339(timestamp))
    except ValueError:
        return UNKNOWN


def human_duration(duration: float) -> str:
    seconds = int(duration)
    if seconds < -1:
        return "<invalid>"
    if seconds < 0:
        return "0s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _pair(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _pair(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    return _long(hours, days)


def _long(hours: int, days: int) -> str:
    if hours < 24 * 8:
        return _pair(days, "d", hours % 24, "h")
    if hours < 24 * 365 * 2:
        return f"{days}d"
    if hours < 24 * 365 * 8:
        return _pair(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _pair(major: int, unit: str, minor: int, sub: str) -> str:
    return f"{major}{unit}{minor}{sub}" if minor else f"{major}{unit}"
