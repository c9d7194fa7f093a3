"""The text of a label selector, read as upstream's lexer and parser read it, in their words.

They work on bytes (k8s.io/apimachinery: pkg/labels/selector.go): only ASCII spaces part tokens, and
a NUL ends the text, or parts it when it stands right behind a token.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from winkube.api.errors import BadRequestError
from winkube.api.go.number import NumberError, parse_int
from winkube.api.go.text import quoted
from winkube.api.names import label_key_problems, label_value_problems

_TOKEN: Final = re.compile(r"[ \t\r\n]*(==|!=|[=!><(),]|[^ \t\r\n=!<>(),\0]+)\0?")
_SYMBOLS: Final = frozenset({"==", "!=", "=", "!", ">", "<", "(", ")", ","})
_OPERATORS: Final = {
    "in": "in", "notin": "notin", "=": "in", "==": "in", "!=": "notin", ">": "gt", "<": "lt",
}  # fmt: skip
_START: Final = "!, identifier, or 'end of string'"


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


def parse_requirements(text: str) -> tuple[Requirement, ...]:
    found = _Parser(text).parse()
    return tuple(sorted(found, key=lambda requirement: requirement.key))


def _integer(text: str) -> int | None:
    try:
        return parse_int(text)
    except NumberError:
        return None


def _is_word(token: str) -> bool:
    return bool(token) and token not in _SYMBOLS


class _Parser:
    """An empty token is the end of the text."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        position = 0
        while match := _TOKEN.match(text, position):
            self._tokens.append(match[1])
            position = match.end()
        self._next = 0

    def parse(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        while token := self._peek():
            if not _is_word(token) and token != "!":
                raise BadRequestError(f"found '{token}', expected: {_START}")
            requirements.append(self._requirement())
            self._separator()
        return requirements

    def _separator(self) -> None:
        token = self._take()
        if token not in ("", ","):
            raise BadRequestError(f"found '{token}', expected: ',' or 'end of string'")
        after = self._peek()
        if token and not _is_word(after) and after != "!":
            raise BadRequestError(f"found '{after}', expected: identifier after ','")

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._next += 1
        return token

    def _requirement(self) -> Requirement:
        absent = self._peek() == "!"
        if absent:
            self._take()
        key = self._key()
        if absent:
            return Requirement(key, "absent")
        if self._peek() in ("", ","):
            return Requirement(key, "exists")
        token = self._take()
        operator = _OPERATORS.get(token)
        if operator is None:
            raise _problem(f"found '{token}', expected: in, notin, =, ==, !=, gt, lt")
        values = self._values() if token in ("in", "notin") else {self._exact()}
        return _checked(Requirement(key, operator, frozenset(values)))

    def _key(self) -> str:
        token = self._take()
        if not _is_word(token):
            raise _problem(f"found '{token}', expected: identifier")
        problems = label_key_problems(token)
        if problems:
            raise _problem(f"<nil>: Invalid value: {quoted(token)}: {'; '.join(problems)}")
        return token

    def _exact(self) -> str:
        if self._peek() in ("", ","):
            return ""
        token = self._take()
        if not _is_word(token):
            raise _problem(f"found '{token}', expected: identifier")
        return token

    def _values(self) -> set[str]:
        opening = self._take()
        if opening != "(":
            raise _problem(f"found '{opening}' expected: '('")
        first = self._peek()
        if first == ")":
            self._take()
            return {""}
        if not _is_word(first) and first != ",":
            raise _problem(f"found '{first}', expected: ',', ')' or identifier")
        values = self._words()
        self._take()
        return values

    def _words(self) -> set[str]:
        """Up to the parenthesis; what is missing between commas is an empty word."""
        values: set[str] = set()
        while True:
            token = self._take()
            after = self._peek()
            if _is_word(token):
                values.add(token)
                if after not in (",", ")"):
                    raise _problem(f"found '{after}', expected: ',' or ')'")
            elif token == ",":
                if not values or after in (",", ")"):
                    values.add("")
                if after == ",":
                    self._take()
                    continue
            else:
                raise _problem(f"found '{token}', expected: ',', or identifier")
            if after == ")":
                return values


def _checked(requirement: Requirement) -> Requirement:
    problems = list(_value_problems(requirement))
    if problems:
        raise _problem(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    return requirement


def _value_problems(requirement: Requirement) -> Iterable[str]:
    values = sorted(requirement.values)
    if requirement.operator in ("gt", "lt") and _integer(values[0]) is None:
        text = "for 'Gt', 'Lt' operators, the value must be an integer"
        yield f"values[0]: Invalid value: {quoted(values[0])}: {text}"
    for index, value in enumerate(values):
        faults = label_value_problems(value)
        if faults:
            place = f"values[{index}][{requirement.key}]"
            yield f"{place}: Invalid value: {quoted(value)}: {'; '.join(faults)}"


def _problem(message: str) -> BadRequestError:
    return BadRequestError(f"unable to parse requirement: {message}")
