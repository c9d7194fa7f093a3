"""Request bodies in YAML: the first document, as upstream turns it into JSON.

Keys become strings, dates stay text, whole floats are whole numbers. A text that grows beyond
measure when its aliases are written out, or that nests too deep, is refused before it is built.
"""

import re
from collections.abc import Hashable
from typing import Any, Final

import yaml

from winkube.api.decode import MAX_DEPTH, MalformedError
from winkube.api.errors import BadRequestError
from winkube.api.go.text import json_number, quoted
from winkube.base.types import JsonObject

_MAX_NUMBER: Final = 64
_INT64: Final = 2**63
_MERGE: Final = "tag:yaml.org,2002:merge"
# Aliases may make this much of a text that is written out (go-yaml: decode.go).
_ALIASED_SHARE: Final = 0.99
_MAX_NODES: Final = 400_000
_MAX_TEXT: Final = 16 * 1024 * 1024


class YamlObject(dict[str, Any]):
    """An object that was read from YAML; ``repeated`` says where keys stand twice."""

    __slots__ = ("repeated",)

    def __init__(self, value: JsonObject, repeated: tuple[str, ...]) -> None:
        super().__init__(value)
        self.repeated = repeated


class _Loader(yaml.CSafeLoader):
    """Plain data only: no timestamps, they stay text."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        self.flatten_mapping(node)
        return {
            _key(self.construct_object(key, deep=True), key): self.construct_object(
                value, deep=True
            )
            for key, value in node.value
        }


def _key(value: Any, node: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return json_number(value)
    raise yaml.constructor.ConstructorError(
        None, None, f"unsupported map key: {node.value!r}", node.start_mark
    )


_INT: Final = "tag:yaml.org,2002:int"
_FLOAT: Final = "tag:yaml.org,2002:float"
_OTHERWISE: Final = ("tag:yaml.org,2002:timestamp", _INT, _FLOAT)
_Loader.yaml_implicit_resolvers = {
    first: [entry for entry in resolvers if entry[0] not in _OTHERWISE]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
# Numbers as Go's reader knows them: exponents need no point, and 12:30 is no number.
_Loader.add_implicit_resolver(
    _INT,
    re.compile(r"^[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]*|[1-9][0-9_]*)$"),
    list("-+0123456789"),
)
_Loader.add_implicit_resolver(
    _FLOAT,
    re.compile(
        r"^([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
        r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$"
    ),
    list("-+.0123456789"),
)


def _construct_number(loader: _Loader, node: Any) -> Any:
    """A long number takes time by the square of its length, and JSON could not carry it."""
    if len(node.value) > _MAX_NUMBER:
        raise yaml.constructor.ConstructorError(None, None, "a number is too long", node.start_mark)
    if node.tag == _INT and "0o" in node.value:
        return int(node.value.replace("_", ""), 8)
    plain = yaml.CSafeLoader.yaml_constructors[node.tag]
    return plain(loader, node)


# The shortest words for yes and no are words of YAML 1.1 that the Python reader does not know.
for _letter in "yYnN":
    _Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^[yYnN]$"), [_letter])
_Loader.bool_values = {**yaml.CSafeLoader.bool_values, "y": True, "n": False}

for _tag in (_INT, _FLOAT):
    _Loader.add_constructor(_tag, _construct_number)


def parse_yaml(data: bytes) -> Any:
    """The first document; objects are YamlObjects."""
    try:
        _check_depth(data)
        return _first_document(data)
    except yaml.MarkedYAMLError as error:
        fault = _yaml_fault(error)
        raise MalformedError(fault, fault) from error
    except (yaml.YAMLError, ValueError, TypeError, OverflowError) as error:
        raise BadRequestError(f"error converting YAML to JSON: yaml: {error}") from error


def _check_depth(data: bytes) -> None:
    """By events: what builds nodes would already recurse."""
    depth = 0
    for event in yaml.parse(data, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise BadRequestError(f"yaml: nests deeper than {MAX_DEPTH} levels")
        if isinstance(event, yaml.DocumentEndEvent):
            return


def _first_document(data: bytes) -> Any:
    loader = _Loader(data)
    try:
        if not loader.check_node():
            return None
        node = loader.get_node()
        survey = _Survey()
        survey.visit(node, 0)
        survey.check()
        value = _jsonable(loader.construct_document(node))
    finally:
        loader.dispose()
    return YamlObject(value, tuple(survey.repeated)) if isinstance(value, dict) else value


class _Survey:
    """How large a document is with its aliases written out, and which keys stand twice."""

    def __init__(self) -> None:
        self.repeated: list[str] = []
        self._weights: dict[int, tuple[int, int, int]] = {}  # nodes, text, depth
        self._open: set[int] = set()
        self._aliased = 0
        self._total = (0, 0, 0)

    def visit(self, node: Any, depth: int) -> tuple[int, int, int]:
        known = self._weights.get(id(node))
        if known is not None:
            self._aliased += known[0]
            return known
        if id(node) in self._open:
            raise yaml.YAMLError("anchor value contains itself")
        self._open.add(id(node))
        weight = self._weigh(node, depth)
        self._open.discard(id(node))
        self._weights[id(node)] = self._total = weight
        return weight

    def _weigh(self, node: Any, depth: int) -> tuple[int, int, int]:
        if isinstance(node, yaml.ScalarNode):
            return 1, len(node.value), 1
        if isinstance(node, yaml.MappingNode):
            parts = self._pairs(node, depth)
        else:
            parts = [self.visit(child, depth + 1) for child in node.value]
        nodes = 1 + sum(part[0] for part in parts)
        text = sum(part[1] for part in parts)
        return nodes, text, 1 + max((part[2] for part in parts), default=0)

    def _pairs(self, node: Any, depth: int) -> list[tuple[int, int, int]]:
        parts: list[tuple[int, int, int]] = []
        seen: set[tuple[str, str]] = set()
        for key, value in node.value:
            parts += (self.visit(key, depth + 1), self.visit(value, depth + 1))
            if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
                continue
            name = (key.tag, key.value)
            if name in seen:
                plain = key.tag != "tag:yaml.org,2002:str"
                shown = key.value if plain else quoted(key.value)
                line = value.start_mark.line + 1
                self.repeated.append(f"line {line}: key {shown} already set in map")
            seen.add(name)
        return parts

    def check(self) -> None:
        nodes, text, depth = self._total
        if depth > MAX_DEPTH:
            raise BadRequestError(f"yaml: nests deeper than {MAX_DEPTH} levels")
        many = self._aliased > 100 and nodes > 1000 and self._aliased / nodes > _ALIASED_SHARE
        if many or (self._aliased and (nodes > _MAX_NODES or text > _MAX_TEXT)):
            raise yaml.YAMLError("document contains excessive aliasing")


def _jsonable(value: Any) -> Any:
    """YAML has values that JSON has not: bytes, sets, numbers of any length."""
    if isinstance(value, dict):
        return {key: _jsonable(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_jsonable(child) for child in value]
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value if -_INT64 <= value < 2 * _INT64 else _number(float(value))
    if value is None or isinstance(value, (str, bool)):
        return value
    raise TypeError(f"a {type(value).__name__} is no JSON value")


def _number(value: float) -> int | float:
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(f"json: unsupported value: {value}")
    whole = value == int(value) and -_INT64 <= value < _INT64
    return int(value) if whole else value


def _yaml_fault(error: yaml.MarkedYAMLError) -> str:
    """As Go's reader says it: where what it was reading began, unless that is the first line."""
    lines = [mark.line for mark in (error.context_mark, error.problem_mark) if mark is not None]
    line = next((line for line in lines if line), 0)
    line += bool(line) and isinstance(error, yaml.scanner.ScannerError)
    return f"yaml: {f'line {line}: ' * bool(line)}{error.problem}"
