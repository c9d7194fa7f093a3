"""Field selectors: their text, and what of an object they look at.

A text is read before anybody knows which kind it is about; ``resolve`` refuses fields that the kind
does not offer (k8s.io/apimachinery: pkg/fields/selector.go).
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from winkube.api.errors import BadRequestError
from winkube.api.go.text import quoted
from winkube.api.kinds import Kind
from winkube.api.selector.field_labels import has_own_fields, supported_fields
from winkube.base.types import JsonObject

_OPERATOR: Final = re.compile(r"!=|==|=")
_SPECIAL: Final = re.compile(r"[\\,=]")


@dataclass(frozen=True, slots=True)
class FieldText:
    """One term as it was written."""

    field: str
    value: str
    negated: bool


@dataclass(frozen=True, slots=True)
class FieldTerm:
    field: str
    value: str
    negated: bool
    read: Callable[[JsonObject], str]

    def matches(self, obj: JsonObject) -> bool:
        return (self.read(obj) == self.value) != self.negated


@dataclass(frozen=True, slots=True)
class FieldSelector:
    terms: tuple[FieldTerm, ...] = ()

    def matches(self, obj: JsonObject) -> bool:
        return all(term.matches(obj) for term in self.terms)

    def exact(self, field: str) -> str | None:
        """The value this field has to have, if the selector fixes one."""
        return next(
            (term.value for term in self.terms if term.field == field and not term.negated), None
        )

    @property
    def empty(self) -> bool:
        return not self.terms


def parse_field_selector(text: str, kind: Kind | None = None) -> FieldSelector:
    """Without a kind only metadata.name and metadata.namespace are known."""
    return resolve(read_terms(text), kind) if text else FieldSelector()


def resolve(terms: tuple[FieldText, ...], kind: Kind | None) -> FieldSelector:
    known = supported_fields(kind)
    found = []
    for term in terms:
        reader = known.get(term.field)
        if reader is None:
            raise BadRequestError(_unsupported(term.field, kind))
        found.append(FieldTerm(term.field, term.value, term.negated, reader))
    return FieldSelector(tuple(found))


def read_terms(text: str) -> tuple[FieldText, ...]:
    """In their order by text; a term that says nothing at all selects everything."""
    terms = []
    for part in sorted(_split(text), key=str.encode):
        operator = _OPERATOR.search(part)
        if operator is None:
            raise BadRequestError(f"invalid selector: '{text}'; can't understand '{part}'")
        field, value = part[: operator.start()], _unescaped(part[operator.end() :])
        if field or value:
            terms.append(FieldText(field, value, operator[0] == "!="))
    return tuple(terms)


def _split(text: str) -> Iterator[str]:
    """At commas that no backslash stands before."""
    start = position = 0
    while position < len(text):
        if text[position] == "\\":
            position += 1
        elif text[position] == ",":
            yield from filter(None, [text[start:position]])
            start = position + 1
        position += 1
    yield from filter(None, [text[start:]])


def _unescaped(value: str) -> str:
    made, position = "", 0
    while special := _SPECIAL.search(value, position):
        if special[0] != "\\":
            char = ord(special[0])
            raise BadRequestError(f"invalid field selector: unescaped character in value: {char}")
        escaped = value[special.end() : special.end() + 1]
        if not _SPECIAL.match(escaped):
            raise BadRequestError(f"invalid field selector: invalid escape sequence: \\{escaped}")
        made += value[position : special.start()] + escaped
        position = special.end() + 1
    return made + value[position:]


def _unsupported(field: str, kind: Kind | None) -> str:
    if kind is None or not has_own_fields(kind):
        known = '"metadata.name", "metadata.namespace"'
        return f"{quoted(field)} is not a known field selector: only {known}"
    if kind.kind == "Job":
        return f"field label {quoted(field)} not supported for Job"
    if kind.kind == "ResourceSlice":
        return f"field label not supported for {kind.api_version}, Kind={kind.kind}: {field}"
    return f"field label not supported: {field}"
