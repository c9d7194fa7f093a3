"""Indexes of a job's pods as its status tells them: "0,3-5" (upstream: apis/batch/validation)."""

import re
from collections import deque
from typing import Final

from winkube.api.go.text import quoted

_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
Interval = tuple[int, int]


def indexes_fault(text: str, completions: int) -> str:
    """What is wrong with a list of intervals, if anything."""
    last: int | None = None
    for part in text.split(",") if text else ():
        interval = _parse_interval(part, completions)
        if isinstance(interval, str):
            return interval
        if last is not None and last >= interval[0]:
            return _disorder(last, interval[0])
        last = interval[1]
    return ""


def overlap_fault(completed: str, failed: str, completions: int) -> str:
    """Whether an index is in both; intervals that are no such thing are not looked at."""
    one, other = _intervals(completed, completions), _intervals(failed, completions)
    while one and other:
        (first, last), (start, end) = one[0], other[0]
        if first <= end and start <= last:
            return f"failedIndexes and completedIndexes overlap at index: {max(first, start)}"
        (one if first <= start else other).popleft()
    return ""


def _intervals(text: str, completions: int) -> deque[Interval]:
    parsed = [_parse_interval(part, completions) for part in text.split(",")] if text else []
    return deque(interval for interval in parsed if not isinstance(interval, str))


def _parse_interval(text: str, completions: int) -> Interval | str:
    """Its ends, or what is wrong with it."""
    limits = text.split("-")
    if len(limits) > 2:
        return (
            f"the fragment {quoted(text)} violates the requirement that an index interval can have "
            "at most two parts separated by '-'"
        )
    for limit in limits:
        if not _NUMBER.fullmatch(limit):
            return f"cannot convert string to integer for index: {quoted(limit)}"
        if int(limit) >= completions:
            return f"too large index: {quoted(limit)}"
    first, last = int(limits[0]), int(limits[-1])
    return _disorder(first, last) if len(limits) > 1 and first >= last else (first, last)


def _disorder(previous: int, current: int) -> str:
    return f"non-increasing order, previous: {previous}, current: {current}"
