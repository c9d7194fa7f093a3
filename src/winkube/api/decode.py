"""From bytes to JSON values, with limits that keep the recursive walkers safe."""

from collections.abc import Iterable
from typing import Any, Final

import orjson

from winkube.api.errors import BadRequestError
from winkube.api.go.json_syntax import syntax_fault
from winkube.api.go.written import read_loosely

# Far deeper than any real object (a CRD schema reaches about 60), far from Python's own limit.
MAX_DEPTH: Final = 200


class MalformedError(BadRequestError):
    """A text that cannot be read; who knows what it should have been says so."""

    def __init__(self, fault: str, message: str = "") -> None:
        self.fault = fault
        super().__init__(message or f"couldn't get version/kind; json parse error: {fault}")


def parse_json(data: bytes) -> Any:
    """Any JSON value; malformed or too deeply nested text is the caller's fault."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        value = _parse_loosely(data, error)
    # Counting brackets costs nothing beside parsing, and almost every body stops here.
    if data.count(b"{") + data.count(b"[") > MAX_DEPTH and depth_of(value) > MAX_DEPTH:
        raise BadRequestError(f"json: exceeded max depth of {MAX_DEPTH}")
    return value


def _parse_loosely(data: bytes, error: ValueError) -> Any:
    """What is JSON for Go's decoder though our own parser refuses it."""
    fault = syntax_fault(data.decode(errors="replace"))
    if fault:
        raise MalformedError(fault) from error
    try:
        return read_loosely(data)
    except (ValueError, RecursionError):
        raise MalformedError("exceeded max depth") from error


def depth_of(value: Any) -> int:
    """Iterative: the point is to answer where recursion could not."""
    depth, level = 0, [value]
    while level and depth <= MAX_DEPTH:
        level = [
            child for parent in level for child in _children(parent) if type(child) in (dict, list)
        ]
        depth += 1
    return depth


def _children(value: Any) -> Iterable[Any]:
    if type(value) is dict:
        return value.values()
    return value if type(value) is list else ()


def clone(value: Any) -> Any:
    """A deep copy of JSON data; several times faster than copy.deepcopy."""
    kind = type(value)
    if kind is dict:
        return {key: clone(child) for key, child in value.items()}
    if kind is list:
        return [clone(child) for child in value]
    return value


def in_order(value: Any) -> Any:
    """The same with all keys sorted."""
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    return [in_order(child) for child in value] if isinstance(value, list) else value
