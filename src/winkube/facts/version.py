"""Kubernetes versions and ranges of them.

A target without a patch ("1.24") is its newest patch, because that is what people run and what
backports reach; a bound without a patch is its first one.
"""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from winkube.facts.errors import VersionError

_NEWEST_PATCH: Final = 10_000
_VERSION: Final = re.compile(r"v?(\d{1,3})\.(\d{1,3})(?:\.(\d{1,5}))?(?:[-+].*)?")
_BOUND: Final = re.compile(r"(>=|<=|>|<|=)\s*(\S+)")
Number = tuple[int, int, int]


@dataclass(frozen=True, slots=True, order=True)
class Version:
    major: int
    minor: int
    patch: int | None = None

    @property
    def number(self) -> Number:
        return self.major, self.minor, _NEWEST_PATCH if self.patch is None else self.patch

    def __str__(self) -> str:
        patch = "" if self.patch is None else f".{self.patch}"
        return f"{self.major}.{self.minor}{patch}"


# What the tables speak of: the first that had Windows nodes, and the last that is known.
OLDEST: Final = Version(1, 5)
LATEST: Final = Version(1, 37)
SERVED: Final = "1.34"  # what a cluster of winkube is unless told otherwise


def parse_version(text: str) -> Version:
    """Read "1.24", "v1.29.3" or "v1.29.3+k3s1"."""
    found = _VERSION.fullmatch(text.strip())
    if found is None:
        raise VersionError(text)
    major, minor, patch = found.groups()
    return Version(int(major), int(minor), None if patch is None else int(patch))


@dataclass(frozen=True, slots=True)
class Bound:
    sign: str
    version: Version

    def holds(self, number: Number) -> bool:
        first = self.version.major, self.version.minor, self.version.patch or 0
        if self.version.patch is None and self.sign in ("=", "<=", ">"):
            return COMPARE[self.sign]((number[0], number[1], 0), first)
        return COMPARE[self.sign](number, first)


COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Alternatives of bounds that hold together; no alternative means every version."""

    alternatives: tuple[tuple[Bound, ...], ...] = ()
    text: str = ""

    def __contains__(self, version: Version) -> bool:
        if not self.alternatives:
            return True
        number = version.number
        return any(all(bound.holds(number) for bound in bounds) for bounds in self.alternatives)

    def __str__(self) -> str:
        return self.text or "all"


def parse_range(text: str) -> VersionRange:
    """Read ">=1.5 <1.25", "1.19", or alternatives of these joined by "||"."""
    if not text.strip():
        return VersionRange()
    alternatives = tuple(_parse_bounds(part.strip()) for part in text.split("||"))
    return VersionRange(alternatives, text.strip())


def _parse_bounds(text: str) -> tuple[Bound, ...]:
    if text and text[0].isdigit():
        return (Bound("=", parse_version(text)),)
    bounds = tuple(Bound(sign, parse_version(word)) for sign, word in _BOUND.findall(text))
    if not bounds or _BOUND.sub("", text).strip():
        raise VersionError(text)
    return bounds
