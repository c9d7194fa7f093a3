"""Cron schedules as CronJobs mean them: five fields or a descriptor, in one time zone.

The dialect, its messages and its treatment of clock changes are those of upstream's parser
(robfig/cron v3, ParseStandard): an hour that is skipped runs nothing, one that is repeated runs
twice, and day of month and day of week are alternatives unless one of them is ``*`` or ``?``.
"""

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from winkube.api.go.number import NumberError, parse_int
from winkube.base.errors import WinkubeError

YEARS_AHEAD: Final = 5
_MONTHS: Final = [
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
]
_DAYS: Final = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_UNITS: Final = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0,
}  # fmt: skip
_DURATION_PART: Final = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")


class CronError(WinkubeError):
    """The text is no schedule, or names no time zone."""


class Schedule(Protocol):
    def next(self, after: float) -> float | None:
        """The first time after this one, in seconds; None when there is none for years."""
        ...


@dataclass(frozen=True, slots=True)
class _Field:
    low: int
    high: int
    names: dict[str, int]

    def number(self, text: str) -> int:
        named = self.names.get(text.lower())
        if named is not None:
            return named
        try:
            number = parse_int(text)
        except NumberError as error:
            raise CronError(f"failed to parse int from {text}: strconv.Atoi: {error}") from error
        if number < 0:
            raise CronError(f"negative number ({number}) not allowed: {text}")
        return number


_MINUTE: Final = _Field(0, 59, {})
_HOUR: Final = _Field(0, 23, {})
_DAY: Final = _Field(1, 31, {})
_MONTH: Final = _Field(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)})
_WEEKDAY: Final = _Field(0, 6, {name: number for number, name in enumerate(_DAYS)})


@dataclass(frozen=True, slots=True)
class _Values:
    allowed: frozenset[int]
    star: bool


@dataclass(frozen=True, slots=True)
class Calendar:
    """Times given by the five fields."""

    minute: _Values
    hour: _Values
    day: _Values
    month: _Values
    weekday: _Values
    zone: tzinfo = UTC

    def next(self, after: float) -> float | None:
        moment = datetime.fromtimestamp((math.floor(after / 60) + 1) * 60, UTC)
        last = moment.astimezone(self.zone).year + YEARS_AHEAD
        while True:
            local = moment.astimezone(self.zone)
            if local.year > last:
                return None
            if local.month not in self.month.allowed:
                moment = self._midnight(_next_month(local))
            elif not self._day_matches(local):
                moment = self._midnight(local + timedelta(days=1))
            elif local.hour not in self.hour.allowed:
                moment += timedelta(minutes=60 - local.minute)
            elif local.minute not in self.minute.allowed:
                moment += timedelta(minutes=1)
            else:
                return moment.timestamp()

    def _midnight(self, day: datetime) -> datetime:
        """When this day begins here, as a moment: not always at 00:00."""
        local = datetime(day.year, day.month, day.day, tzinfo=self.zone)
        return local.astimezone(UTC)

    def _day_matches(self, local: datetime) -> bool:
        by_month = local.day in self.day.allowed
        by_week = local.isoweekday() % 7 in self.weekday.allowed
        if self.day.star or self.weekday.star:
            return by_month and by_week
        return by_month or by_week


@dataclass(frozen=True, slots=True)
class Interval:
    """``@every``: whole seconds from one time to the next."""

    seconds: int

    def next(self, after: float) -> float | None:
        return math.floor(after) + self.seconds


def _next_month(local: datetime) -> datetime:
    return (local.replace(day=1) + timedelta(days=31)).replace(day=1)


def load_zone(name: str) -> tzinfo:
    """A time zone of the IANA database; the empty name is UTC."""
    if name in ("", "UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise CronError(f"unknown time zone {name}") from error


def parse_schedule(text: str, zone: str | None = None) -> Schedule:
    if not text:
        raise CronError("empty spec string")
    place = load_zone(zone or "")
    if text.startswith(("TZ=", "CRON_TZ=")):
        prefix, _, text = text.partition(" ")
        named = prefix.partition("=")[2]
        try:
            place = load_zone(named)
        except CronError as error:
            raise CronError(f"provided bad location {named}: {error}") from error
        text = text.strip()
    if text.startswith("@every "):
        return _interval(text)
    if text.startswith("@"):
        if text not in _DESCRIPTORS:
            raise CronError(f"unrecognized descriptor: {text}")
        text = _DESCRIPTORS[text]
    return _calendar(text, place)


def _calendar(text: str, zone: tzinfo) -> Calendar:
    fields = text.split()
    if len(fields) != 5:
        shown = " ".join(fields)
        raise CronError(f"expected exactly 5 fields, found {len(fields)}: [{shown}]")
    kinds = (_MINUTE, _HOUR, _DAY, _MONTH, _WEEKDAY)
    minute, hour, day, month, weekday = (
        _values(field, kind) for field, kind in zip(fields, kinds, strict=True)
    )
    return Calendar(minute, hour, day, month, weekday, zone)


def _values(text: str, field: _Field) -> _Values:
    allowed: set[int] = set()
    star = False
    for part in filter(None, text.split(",")):
        numbers, any_ = _range(part, field)
        allowed.update(numbers)
        star = star or any_
    return _Values(frozenset(allowed), star)


def _range(text: str, field: _Field) -> tuple[range, bool]:
    """The numbers of ``a``, ``a-b``, ``*``, each with ``/step`` or not; and whether it is any."""
    span, *steps = text.split("/")
    low_text, *rest = span.split("-")
    any_ = low_text in ("*", "?")
    low, high = field.low, field.high
    if not any_:
        low = field.number(low_text)
        if len(rest) > 1:
            raise CronError(f"too many hyphens: {text}")
        high = field.number(rest[0]) if rest else low
    step = 1
    if len(steps) > 1:
        raise CronError(f"too many slashes: {text}")
    if steps:
        step = field.number(steps[0])
        if not rest and not any_:
            high = field.high
        any_ = any_ and step == 1
    _check_range(low, high, step, field, text)
    return range(low, high + 1, step), any_


def _check_range(low: int, high: int, step: int, field: _Field, text: str) -> None:
    if low < field.low:
        raise CronError(f"beginning of range ({low}) below minimum ({field.low}): {text}")
    if high > field.high:
        raise CronError(f"end of range ({high}) above maximum ({field.high}): {text}")
    if low > high:
        raise CronError(f"beginning of range ({low}) beyond end of range ({high}): {text}")
    if step == 0:
        raise CronError(f"step of range should be a positive number: {text}")


def _interval(text: str) -> Interval:
    duration = text.removeprefix("@every ")
    parts = _DURATION_PART.findall(duration)
    if not parts or "".join(number + unit for number, unit in parts) != duration:
        problem = f'time: invalid duration "{duration}"'
        raise CronError(f"failed to parse duration {text}: {problem}")
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    return Interval(max(1, int(seconds)))
