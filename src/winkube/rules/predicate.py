"""What may be asked of one value, written as data.

``equals``, ``in``, ``not_in``, ``matches``, ``not_matches`` (regular expressions that search),
``over``, ``under`` (numbers and quantities), ``filled`` (neither null, "", [] nor {}),
``present``. A question without any of them asks only that the field is there.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from winkube.api.quantity import QuantityError, parse_quantity
from winkube.rules.errors import RulesError
from winkube.rules.paths import Pattern, find, parse_pattern

WORDS: Final = frozenset(
    {
        "equals", "in", "not_in", "matches", "not_matches", "over", "under", "filled", "present",
    }
)  # fmt: skip


class PredicateError(RulesError):
    pass


@dataclass(frozen=True, slots=True)
class Predicate:
    """All the questions must be answered with yes."""

    equals: tuple[Any, ...] | None = None
    excluded: tuple[Any, ...] | None = None
    matches: re.Pattern[str] | None = None
    not_matches: re.Pattern[str] | None = None
    over: Fraction | None = None
    under: Fraction | None = None
    filled: bool | None = None

    def holds(self, value: Any) -> bool:
        return (
            (self.equals is None or _among(value, self.equals))
            and (self.excluded is None or not _among(value, self.excluded))
            and (self.matches is None or _search(self.matches, value))
            and (self.not_matches is None or not _search(self.not_matches, value))
            and (self.filled is None or (value not in (None, "", [], {})) is self.filled)
            and self._within(value)
        )

    def _within(self, value: Any) -> bool:
        if self.over is None and self.under is None:
            return True
        number = _number(value)
        if number is None:
            return False
        return (self.over is None or number > self.over) and (
            self.under is None or number < self.under
        )


@dataclass(frozen=True, slots=True)
class Condition:
    """A predicate about a field: some value of it must pass, or it must be absent."""

    field: Pattern
    predicate: Predicate
    present: bool = True

    def holds(self, value: Any) -> bool:
        found = any(self.predicate.holds(below) for _, below in find(value, self.field))
        return found is self.present


def parse_predicate(words: Mapping[str, Any]) -> Predicate:
    unknown = set(words) - WORDS
    if unknown:
        raise PredicateError(f"unknown question {', '.join(sorted(unknown))}")
    equals = (words["equals"],) if "equals" in words else None
    return Predicate(
        equals=tuple(words["in"]) if "in" in words else equals,
        excluded=tuple(words["not_in"]) if "not_in" in words else None,
        matches=_pattern(words, "matches"),
        not_matches=_pattern(words, "not_matches"),
        over=_bound(words, "over"),
        under=_bound(words, "under"),
        filled=words.get("filled"),
    )


def parse_condition(words: Mapping[str, Any]) -> Condition:
    rest = {key: value for key, value in words.items() if key != "field"}
    if "field" not in words:
        raise PredicateError("a condition needs a field")
    present = bool(rest.pop("present", True))
    return Condition(parse_pattern(words["field"]), parse_predicate(rest), present)


def parse_conditions(entries: Any) -> tuple[Condition, ...]:
    if isinstance(entries, Mapping):
        entries = [entries]
    return tuple(parse_condition(entry) for entry in entries or ())


def _pattern(words: Mapping[str, Any], key: str) -> re.Pattern[str] | None:
    try:
        return re.compile(words[key]) if key in words else None
    except re.error as error:
        raise PredicateError(f"{key}: {error}") from error


def _bound(words: Mapping[str, Any], key: str) -> Fraction | None:
    if key not in words:
        return None
    number = _number(words[key])
    if number is None:
        raise PredicateError(f"{key}: not a number: {words[key]!r}")
    return number


def _among(value: Any, wanted: tuple[Any, ...]) -> bool:
    # True == 1 in Python, not in YAML.
    return any(value == other and type(value) is type(other) for other in wanted)


def _search(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.search(value) is not None


def _number(value: Any) -> Fraction | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return Fraction(parse_quantity(value))
    except QuantityError:
        return None
