"""Label and field selectors: the text forms of query parameters, and metav1.LabelSelector."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from winkube.api.errors import BadRequestError
from winkube.api.field_labels import has_own_fields, supported_fields
from winkube.api.kinds import Kind
from winkube.api.names import is_label_value, label_key_problems, label_value_problems
from winkube.base.types import JsonObject

_TOKEN: Final = re.compile(r"\s*(==|!=|=|!|>|<|\(|\)|,|[^\s=!<>(),]+)")
_MAX_LENGTH: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Requirement:
    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "in":
                return value is not None and value in self.values
            case "notin":
                return value is None or value not in self.values
            case "exists":
                return value is not None
            case "absent":
                return value is None
        return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        number, bound = _integer(value), _integer(next(iter(self.values)))
        if number is None or bound is None:
            return False
        return number > bound if self.operator == "gt" else number < bound


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """No requirement matches everything; ``nothing`` matches nothing (a null selector)."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        if self.nothing:
            return False
        have = labels or {}
        return all(requirement.matches(have) for requirement in self.requirements)

    @property
    def empty(self) -> bool:
        return not self.requirements and not self.nothing


EVERYTHING: Final = LabelSelector()
NOTHING: Final = LabelSelector(nothing=True)


def parse_label_selector(text: str) -> LabelSelector:
    if not text or text.isspace():
        return EVERYTHING
    if len(text) > _MAX_LENGTH:
        raise BadRequestError("unable to parse requirement: selector is too long")
    return LabelSelector(_Parser(text).parse())


def from_label_selector(selector: JsonObject | None) -> LabelSelector:
    """Read a metav1.LabelSelector: null selects nothing, an empty one everything."""
    if selector is None:
        return NOTHING
    labels = selector.get("matchLabels") or {}
    requirements = [Requirement(key, "in", frozenset((value,))) for key, value in labels.items()]
    expressions = selector.get("matchExpressions") or ()
    requirements += [_from_expression(expression) for expression in expressions]
    return LabelSelector(tuple(requirements))


def from_match_labels(labels: Mapping[str, str] | None) -> LabelSelector:
    """Read a plain map (Service, ReplicationController): empty selects nothing."""
    return from_label_selector({"matchLabels": labels}) if labels else NOTHING


def _from_expression(expression: JsonObject) -> Requirement:
    operators = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "absent"}
    operator = operators.get(expression.get("operator") or "")
    if operator is None:
        raise BadRequestError(
            f'"{expression.get("operator")}" is not a valid label selector operator'
        )
    return Requirement(expression["key"], operator, frozenset(expression.get("values") or ()))


def selector_query(selector: JsonObject | None) -> str:
    """A label selector in its query form; a plain map (replication controllers) as well."""
    if not selector:
        return ""
    if not ({"matchLabels", "matchExpressions"} & set(selector)):
        return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))
    labels = selector.get("matchLabels") or {}
    parts = [(key, f"{key}={value}") for key, value in labels.items()]
    for entry in selector.get("matchExpressions") or ():
        key, values = entry["key"], ",".join(sorted(entry.get("values") or ()))
        match entry["operator"]:
            case "Exists":
                parts.append((key, key))
            case "DoesNotExist":
                parts.append((key, f"!{key}"))
            case "In":
                parts.append((key, f"{key} in ({values})"))
            case _:
                parts.append((key, f"{key} notin ({values})"))
    return ",".join(text for _, text in sorted(parts, key=itemgetter(0)))


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = []
        position = 0
        stripped = text.rstrip()
        while position < len(stripped):
            match = _TOKEN.match(stripped, position)
            if match is None:
                raise _problem(f"found '{stripped[position:]}', expected: identifier")
            self._tokens.append(match[1])
            position = match.end()
        self._next = 0

    def parse(self) -> tuple[Requirement, ...]:
        self._expect_start("!, identifier, or 'end of string'")
        requirements = [self._requirement()]
        while self._peek():
            token = self._take()
            if token != ",":
                raise BadRequestError(f"found '{token}', expected: ',' or 'end of string'")
            self._expect_start("identifier after ','")
            requirements.append(self._requirement())
        return tuple(sorted(requirements, key=lambda requirement: requirement.key))

    def _expect_start(self, expected: str) -> None:
        token = self._peek()
        if token in ("", ",", "(", ")", "=", "==", "!=", "<", ">"):
            raise BadRequestError(f"found '{token}', expected: {expected}")

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._next += 1
        return token

    def _requirement(self) -> Requirement:
        if self._peek() == "!":
            self._take()
            return Requirement(self._key("identifier"), "absent")
        key = self._key()
        operator = self._peek()
        if operator in ("", ","):
            return Requirement(key, "exists")
        self._take()
        if operator in ("=", "==", "!="):
            negated = operator == "!="
            value = _checked_value(key, self._exact())
            return Requirement(key, "notin" if negated else "in", frozenset((value,)))
        if operator in (">", "<"):
            return Requirement(key, "gt" if operator == ">" else "lt", self._bound())
        if operator in ("in", "notin"):
            return Requirement(key, operator, self._values(key))
        raise _problem(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")

    def _key(self, expected: str = "!, identifier, or 'end of string'") -> str:
        token = self._take()
        if token in ("", ",", "(", ")", "=", "==", "!=", "!", "<", ">"):
            raise _problem(f"found '{token}', expected: {expected}")
        problems = label_key_problems(token)
        if problems:
            raise _problem(f'<nil>: Invalid value: "{token}": {"; ".join(problems)}')
        return token

    def _exact(self) -> str:
        if self._peek() in ("", ","):
            return ""
        token = self._take()
        if token in ("(", ")", "=", "==", "!=", "!", "<", ">"):
            raise _problem(f"found '{token}', expected: identifier")
        return token

    def _bound(self) -> frozenset[str]:
        token = self._take()
        if _integer(token) is None:
            raise _problem(
                f"values[0]: Invalid value: \"{token}\": for 'Gt', 'Lt' operators, "
                "the value must be an integer"
            )
        return frozenset((token,))

    def _values(self, key: str) -> frozenset[str]:
        token = self._take()
        if token != "(":
            raise _problem(f"found '{token}' expected: '('")
        values: set[str] = set()
        current = ""
        while True:
            token = self._take()
            if token in (",", ")"):
                values.add(_checked_value(key, current))
                current = ""
                if token == ")":
                    return frozenset(values)
            elif token and token not in ("(", "=", "==", "!=", "!", "<", ">") and not current:
                current = token
            else:
                raise _problem(f"found '{token}', expected: ',', ')' or identifier")


def _checked_value(key: str, value: str) -> str:
    if not is_label_value(value):
        problems = "; ".join(label_value_problems(value))
        raise _problem(f'values[0][{key}]: Invalid value: "{value}": {problems}')
    return value


def _problem(message: str) -> BadRequestError:
    return BadRequestError(f"unable to parse requirement: {message}")


def _integer(text: str) -> int | None:
    digits = text.removeprefix("-").removeprefix("+")
    valid = digits.isascii() and digits.isdigit() and len(text) - len(digits) <= 1
    return int(text) if valid and len(digits) <= 19 else None


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
    known = supported_fields(kind)
    terms = []
    for part in _split_terms(text):
        field, operator, value = _split_term(part)
        reader = known.get(field)
        if reader is None:
            raise BadRequestError(_unsupported(field, kind))
        terms.append(FieldTerm(field, value, operator == "!=", reader))
    return FieldSelector(tuple(terms))


_KNOWN: Final = (
    '"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"'
)
_REFUSALS: Final = {
    ("apps", "ReplicaSet"): _KNOWN,
    ("networking.k8s.io", "IPAddress"): _KNOWN,
    ("batch", "Job"): 'field label "{field}" not supported for Job',
    ("resource.k8s.io", "ResourceSlice"): (
        "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {field}"
    ),
}


def _unsupported(field: str, kind: Kind | None) -> str:
    special = _REFUSALS.get((kind.group, kind.kind)) if kind is not None else None
    if special is not None:
        return special.format(field=field)
    if has_own_fields(kind):
        return f"field label not supported: {field}"
    known = '"metadata.name", "metadata.namespace"'
    return f'"{field}" is not a known field selector: only {known}'


def _split_terms(text: str) -> Sequence[str]:
    parts = re.findall(r"(?:\\.|[^,\\])+", text, re.DOTALL)
    return [part for part in parts if part.strip()]


def _split_term(part: str) -> tuple[str, str, str]:
    match = re.match(r"([^=!]*)(==|!=|=)(.*)", part, re.DOTALL)
    if match is None:
        raise BadRequestError(f"invalid selector: '{part}'; can't understand '{part}'")
    value = re.sub(r"\\([\\,=])", r"\1", match[3])
    return match[1].strip(), match[2], value
