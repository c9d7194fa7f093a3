"""Times in requests: RFC 3339, and what Go's parser says of a text that is none."""

import calendar
import datetime
import re
from typing import Final

from winkube.api.go.text import quoted

# RFC 3339; the ranges are those Go's time.Parse enforces, month lengths aside.
_TIME: Final = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
    r"T([01]\d|2[0-3]):[0-5]\d:[0-5]\d([.,]\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)",
    re.ASCII,
)
_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT: Final = "2006-01-02T15:04:05.000000Z07:00"
# What a text is made of, in order: the layout's piece, its pattern, and what is out of range.
_PIECES: Final = (
    ("2006", r"\d{4}", "", None),
    ("-", "-", "", None),
    ("01", r"\d{2}", "month", range(1, 13)),
    ("-", "-", "", None),
    ("02", r"\d{2}", "", None),
    ("T", "T", "", None),
    ("15", r"\d{2}", "hour", range(24)),
    (":", ":", "", None),
    ("04", r"\d{2}", "minute", range(60)),
    (":", ":", "", None),
    ("05", r"\d{2}", "second", range(60)),
)
_FRACTION: Final = re.compile(r"[.,]\d+", re.ASCII)
_MILLIONTHS: Final = re.compile(r"[.,]\d{6}(?!\d)", re.ASCII)
_SIX: Final = re.compile(r"[.,]\d{6}", re.ASCII)
_ZONE: Final = re.compile(r"Z|[+-]\d{2}:\d{2}", re.ASCII)


def is_time(text: str) -> bool:
    return _TIME.fullmatch(text) is not None and (text[8:10] < "29" or _is_day(text))


def _is_day(text: str) -> bool:
    return int(text[8:10]) <= _days(int(text[:4]), int(text[5:7]))


def _days(year: int, month: int) -> int:
    """Python's calendar begins with the year 1; the year 0 is as long as any fourth century's."""
    return calendar.monthrange(year or 400, month)[1]


def is_micro_time(text: str) -> bool:
    """Whether it also has its seconds to the millionth."""
    return is_time(text) and _MILLIONTHS.match(text, 19) is not None


def canonical_time(text: str, *, micro: bool = False) -> str:
    """In UTC, without or with millionths, as Go writes what it has read.

    What lies beyond the calendar's years is left as it is.
    """
    whole, zone = text[:19], text[19:].lstrip(".,0123456789")
    if not zone or (zone == "Z" and (micro or len(text) == 20) and "," not in text):
        return text
    try:
        moment = datetime.datetime.fromisoformat(f"{whole}{zone}").astimezone(datetime.UTC)
    except (OverflowError, ValueError):
        return text
    fraction = f".{text[20:26]}" if micro else ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}".zfill(19) + f"{fraction}Z"


def time_fault(text: str, *, micro: bool = False) -> str:
    """Why a text is no time, in the words of Go's parser."""
    layout = _MICRO_LAYOUT if micro else _LAYOUT
    start, rest = f"parsing time {quoted(text)}", text
    for piece, pattern, what, allowed in _PIECES:
        match = re.match(pattern, rest, re.ASCII)
        if match is None:
            return f'{start} as "{layout}": cannot parse {quoted(rest)} as "{piece}"'
        if allowed is not None and int(match[0]) not in allowed:
            return f"{start}: {what} out of range"
        rest = rest[match.end() :]
    fraction = (_SIX if micro else _FRACTION).match(rest)
    if micro and fraction is None:
        return f'{start} as "{layout}": cannot parse {quoted(rest)} as ".000000"'
    rest = rest[fraction.end() :] if fraction else rest
    zone = _ZONE.match(rest)
    if zone is None:
        return f'{start} as "{layout}": cannot parse {quoted(rest)} as "Z07:00"'
    if rest[zone.end() :]:
        return f"{start}: extra text: {quoted(rest[zone.end() :])}"
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:10])
    return (
        f"{start}: day out of range"
        if not 1 <= day <= _days(year, month)
        else f"{start}: out of range"
    )
