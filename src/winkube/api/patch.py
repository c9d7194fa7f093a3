"""JSON patch (RFC 6902) and JSON merge patch (RFC 7386).

Every function returns a new document and leaves its arguments alone. Strategic merge, which needs
the schema, lives in ``strategic`` and is re-exported here.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from winkube.api.decode import MAX_DEPTH, clone, depth_of
from winkube.api.errors import ApiError, BadRequestError, RequestTooLargeError
from winkube.api.strategic import strategic_merge
from winkube.base.types import JsonObject

__all__ = ["PatchFailedError", "json_patch", "merge_into", "strategic_merge"]

MAX_OPERATIONS: Final = 10_000  # k8s.io/apiserver: pkg/endpoints/handlers/patch.go
# Values that all copies of one patch may make: each copy can double the document.
MAX_COPIED: Final = 200_000
_TOO_DEEP: Final = "the JSON patch makes too deep a document"


_JSON_NAMES: Final = {list: "array", dict: "object", str: "string", bool: "bool"}


def json_name(value: Any) -> str:
    return _JSON_NAMES.get(type(value), "number")


class PatchFailedError(ApiError):
    """The patch is well formed but does not fit the object."""

    code, reason = 422, "Invalid"

    def __init__(self, cause: str) -> None:
        super().__init__(
            "the server rejected our request due to an error in our request", details={}
        )
        self.cause = cause


def merge_into(doc: Any, patch: Any) -> Any:
    """A JSON merge patch (RFC 7386); the document may be changed, the patch is not."""
    if not isinstance(patch, dict):
        return clone(patch)
    if not isinstance(doc, dict):
        return _without_nulls(patch)
    for key, value in patch.items():
        have = doc.get(key)
        if value is None:
            doc.pop(key, None)
        elif isinstance(have, dict):
            doc[key] = merge_into(have, value)
        else:
            doc[key] = _without_nulls(value)
    return doc


def _without_nulls(value: Any) -> Any:
    """What is new in a document has no nulls, not even inside of lists."""
    if isinstance(value, dict):
        return {key: _without_nulls(child) for key, child in value.items() if child is not None}
    return [_without_nulls(child) for child in value] if isinstance(value, list) else value


def json_patch(doc: Any, ops: Any) -> Any:
    if not isinstance(ops, list):
        raise BadRequestError(
            f"error decoding patch: json: cannot unmarshal {json_name(ops)} into Go value of type "
            "[]handlers.jsonPatchOp"
        )
    if not all(isinstance(op, dict) for op in ops):
        wrong = next(op for op in ops if not isinstance(op, dict))
        raise BadRequestError(
            f"error decoding patch: json: cannot unmarshal {json_name(wrong)} into Go value of "
            "type handlers.jsonPatchOp"
        )
    if len(ops) > MAX_OPERATIONS:
        raise RequestTooLargeError(
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{MAX_OPERATIONS}, got {len(ops)}"
        )
    root = {"": clone(doc)}
    try:
        _apply_all(root, ops)
    except RecursionError:
        raise PatchFailedError(_TOO_DEEP) from None
    if "" not in root:
        raise PatchFailedError("the JSON patch leaves no document")
    # Moves nest what is there: no operation is deep, and still the outcome can be.
    if depth_of(root[""]) > MAX_DEPTH:
        raise PatchFailedError(_TOO_DEEP)
    return root[""]


def _apply_all(root: JsonObject, ops: Sequence[JsonObject]) -> None:
    copied = 0
    for op in ops:
        if op.get("op") == "copy":
            copied += _weight(_get(root, _pointer(op, "from"), "copy"))
            if copied > MAX_COPIED:
                raise PatchFailedError("the copies of the JSON patch make too large a document")
        _apply(root, op)


def _weight(value: Any) -> int:
    """About how much a value takes: its members, and a share for the length of its texts."""
    if isinstance(value, dict):
        return 1 + sum(_weight(key) + _weight(child) for key, child in value.items())
    if isinstance(value, list):
        return 1 + sum(map(_weight, value))
    return 1 + (len(value) // 16 if isinstance(value, str) else 0)


def _apply(root: JsonObject, op: JsonObject) -> None:
    name = op.get("op")
    operation = _OPERATIONS.get(name) if isinstance(name, str) else None
    if operation is None:
        raise PatchFailedError(f"unexpected kind: {name}")
    operation(root, op, _pointer(op, "path"))


def _pointer(op: JsonObject, field: str) -> list[str]:
    text = op.get(field)
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise PatchFailedError(f"{op.get('op')} operation does not have a valid {field}")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")]


def _value(op: JsonObject) -> Any:
    if "value" not in op:
        raise PatchFailedError(f"{op['op']} operation for path {op['path']!r} has no value")
    return clone(op["value"])


def _container(root: JsonObject, path: Sequence[str], op: str) -> Any:
    here: Any = root
    for step in path[:-1]:
        if isinstance(here, dict) and step in here:
            here = here[step]
        elif isinstance(here, list):
            here = here[_index(step, op, last=len(here) - 1)]
        else:
            raise _missing(op, path)
    if not isinstance(here, (dict, list)):
        raise _missing(op, path)
    return here


def _index(step: str, op: str, *, last: int) -> int:
    """Upstream's library counts negative indexes from the end."""
    digits = step.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(step) < 10):
        raise PatchFailedError(f"{op} operation has an invalid array index {step!r}")
    index = int(step) if digits == step else last + 1 + int(step)
    if not 0 <= index <= last:
        raise PatchFailedError(f"{op} operation's array index {step} is out of bounds")
    return index


def _missing(op: str, path: Sequence[str]) -> PatchFailedError:
    pointer = "/".join(path)
    return PatchFailedError(f"{op} operation does not apply: doc is missing path: {pointer!r}")


def _get(root: JsonObject, path: Sequence[str], op: str) -> Any:
    parent = _container(root, path, op)
    if isinstance(parent, list):
        return parent[_index(path[-1], op, last=len(parent) - 1)]
    if path[-1] not in parent:
        raise _missing(op, path)
    return parent[path[-1]]


def _put(root: JsonObject, path: Sequence[str], value: Any) -> None:
    parent = _container(root, path, "add")
    if isinstance(parent, dict):
        parent[path[-1]] = value
    elif path[-1] == "-":
        parent.append(value)
    else:
        parent.insert(_index(path[-1], "add", last=len(parent)), value)


def _drop(root: JsonObject, path: Sequence[str], op: str) -> Any:
    value = _get(root, path, op)
    parent = _container(root, path, op)
    del parent[_place(parent, path[-1], op)]
    return value


def _place(parent: Any, step: str, op: str) -> Any:
    return _index(step, op, last=len(parent) - 1) if isinstance(parent, list) else step


def _op_add(root: JsonObject, op: JsonObject, path: list[str]) -> None:
    _put(root, path, _value(op))


def _op_remove(root: JsonObject, op: JsonObject, path: list[str]) -> None:
    _drop(root, path, "remove")


def _op_replace(root: JsonObject, op: JsonObject, path: list[str]) -> None:
    # Upstream's library takes a member that is missing for one that is null.
    parent = _container(root, path, "replace")
    parent[_place(parent, path[-1], "replace")] = _value(op)


def _op_move(root: JsonObject, op: JsonObject, path: list[str]) -> None:
    source = _pointer(op, "from")
    if path[: len(source)] == source and path != source:
        raise PatchFailedError("move operation cannot move a value into itself")
    _put(root, path, _drop(root, source, "move"))


def _op_copy(root: JsonObject, op: JsonObject, path: list[str]) -> None:
    _put(root, path, clone(_get(root, _pointer(op, "from"), "copy")))


def _op_test(root: JsonObject, op: JsonObject, path: list[str]) -> None:
    try:
        found = _get(root, path, "test")
    except PatchFailedError:
        # A null is what upstream's library finds where nothing is.
        if op.get("value", ...) is not None:
            raise
        return
    if not _same(found, _value(op)):
        raise PatchFailedError(f"testing value {op['path']} failed")


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON: true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


_OPERATIONS: Final[dict[str, Callable[[JsonObject, JsonObject, list[str]], None]]] = {
    "add": _op_add,
    "remove": _op_remove,
    "replace": _op_replace,
    "move": _op_move,
    "copy": _op_copy,
    "test": _op_test,
}
