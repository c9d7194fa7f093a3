"""Checks of single fields: one that must not be, one that must be, a list that is too long."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from winkube.base.types import JsonObject
from winkube.rules.context import Context
from winkube.rules.model import Hit, Path
from winkube.rules.paths import Pattern, find, parse_pattern
from winkube.rules.predicate import WORDS, Predicate, parse_predicate


@dataclass(frozen=True, slots=True)
class Fields:
    patterns: tuple[Pattern, ...]
    predicate: Predicate
    show: bool


@dataclass(frozen=True, slots=True)
class Required:
    each: Pattern
    field: tuple[str, ...]
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class Count:
    pattern: Pattern
    over: int


def parse_fields(params: Mapping[str, Any]) -> Fields:
    words = {key: value for key, value in params.items() if key in WORDS}
    patterns = tuple(parse_pattern(text) for text in params["fields"])
    return Fields(patterns, parse_predicate(words), bool(params.get("show", False)))


def forbid_field(found: JsonObject, params: Fields, context: Context) -> Iterator[Hit]:
    for pattern in params.patterns:
        for path, value in find(found, pattern):
            if params.predicate.holds(value):
                yield Hit(path, str(value) if params.show else "")


def parse_required(params: Mapping[str, Any]) -> Required:
    words = {key: value for key, value in params.items() if key in WORDS}
    field = parse_pattern(params["field"])
    if not all(isinstance(step, str) for step in field):
        raise TypeError("field: must be a plain path; wildcards belong into each")
    return Required(
        parse_pattern(params.get("each", "")),
        tuple(str(step) for step in field),
        parse_predicate(words),
    )


def require_field(found: JsonObject, params: Required, context: Context) -> Iterator[Hit]:
    for base, value in find(found, params.each):
        path: Path = base
        for step in params.field:
            if not isinstance(value, dict) or step not in value:
                yield Hit(path)
                break
            value, path = value[step], (*path, step)
        else:
            if not params.predicate.holds(value):
                yield Hit(path)


def parse_count(params: Mapping[str, Any]) -> Count:
    return Count(parse_pattern(params["field"]), int(params["over"]))


def too_many(found: JsonObject, params: Count, context: Context) -> Iterator[Hit]:
    for path, value in find(found, params.pattern):
        if isinstance(value, list | dict) and len(value) > params.over:
            yield Hit(path, f"{len(value)}, the limit is {params.over}")


def nothing(found: JsonObject, params: None, context: Context) -> Iterator[Hit]:
    """A rule that no manifest shows: it is read by people and by other parts of winkube."""
    yield from ()
