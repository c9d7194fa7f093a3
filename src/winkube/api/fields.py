"""Fields against the schema: unknown fields and values of a wrong type, as strict decoding does."""

import base64
import binascii
import json
import re
import string
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, cast

from winkube.api.errors import UndecodableError
from winkube.api.go_text import printed, quoted
from winkube.api.kinds import Kind
from winkube.api.quantity import QuantityError, canonical_quantity
from winkube.api.schema import Definition, Schema, Shape, Type
from winkube.base.types import JsonObject

_INT32: Final = 2**31
_INT64: Final = 2**63
# RFC 3339; the ranges are those Go's time.Parse enforces, month lengths aside.
_TIME: Final = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
    r"T([01]\d|2[0-3]):[0-5]\d:[0-5]\d([.,]\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)",
    re.ASCII,
)
# Go's decoder skips them: base64 that was folded to lines is common in manifests.
NEWLINES: Final = re.compile(r"[\r\n]")


@dataclass(slots=True)
class FieldReport:
    unknown: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    type_errors: list[str] = field(default_factory=list)
    # The same, as somebody says who converts a tree instead of reading a text.
    conversion_errors: list[str] = field(default_factory=list)
    # And as a server-side apply, which holds a tree against a schema.
    schema_errors: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return not (self.unknown or self.duplicates or self.type_errors)

    def strict_messages(self) -> list[str]:
        """One sentence each, as a Warning header or joined into an error carries them."""
        return [f'unknown field "{path}"' for path in self.unknown] + [
            f'duplicate field "{path}"' for path in self.duplicates
        ]

    def strict_error(self, kind: Kind) -> UndecodableError | None:
        messages = self.strict_messages()
        if not messages:
            return None
        fault = f"strict decoding error: {', '.join(messages)}"
        return UndecodableError(kind.kind, kind.version, fault)

    def type_error(self, kind: Kind, *, converting: bool = False) -> UndecodableError | None:
        if not self.type_errors:
            return None
        fault = (self.conversion_errors if converting else self.type_errors)[0]
        return UndecodableError(kind.kind, kind.version, fault)


def check_fields(schema: Schema, kind: Kind, obj: Any, *, raw: bytes | None = None) -> FieldReport:
    """With ``raw``, the JSON text it was parsed from, duplicate keys are found as well."""
    report = FieldReport()
    definition = schema.for_kind(kind.gvk)
    if definition is not None and not _fits(definition.shape, obj):
        _Reporter(report).visit(definition.shape, obj, _Place("", "", definition.go_name))
    if raw is not None:
        report.duplicates += repeated_keys(raw)
    return report


def is_time(text: str) -> bool:
    return _TIME.fullmatch(text) is not None


def _fits_time(shape: Shape, value: Any) -> bool:
    return type(value) is str and _TIME.fullmatch(value) is not None


def _fits_quantity(shape: Shape, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return False
    try:
        canonical_quantity(value)
    except QuantityError:
        return False
    return True


def _fits_bytes(shape: Shape, value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        base64.b64decode(NEWLINES.sub("", value), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _fits_object(shape: Shape, value: Any) -> bool:
    if type(value) is not dict or shape.definition is None:
        return False
    properties = shape.definition.properties
    for key, child in value.items():
        inner = properties.get(key)
        if inner is None or (child is not None and not _FITS[inner.type](inner, child)):
            return False
    return True


def _fits_items(item: Shape, children: Iterable[Any]) -> bool:
    fits = _FITS[item.type]
    return all(child is None or fits(item, child) for child in children)


# Indexed by Type: this runs for every field of every request.
_FITS: Final[tuple[Callable[[Shape, Any], bool], ...]] = (
    lambda shape, value: True,  # ANY
    _fits_object,
    lambda shape, value: type(value) is list and _fits_items(cast("Shape", shape.item), value),
    lambda shape, value: (
        type(value) is dict and _fits_items(cast("Shape", shape.item), value.values())
    ),
    lambda shape, value: type(value) is str,  # STRING
    lambda shape, value: type(value) is int and -_INT32 <= value < _INT32,
    lambda shape, value: type(value) is int and -_INT64 <= value < _INT64,
    lambda shape, value: type(value) is int or type(value) is float,  # NUMBER
    lambda shape, value: type(value) is bool,
    _fits_bytes,
    _fits_time,
    _fits_quantity,
    lambda shape, value: type(value) is int or type(value) is str,  # INT_OR_STRING
    lambda shape, value: type(value) is dict,  # FREE_OBJECT
)


def _fits(shape: Shape, value: Any) -> bool:
    """The quick answer for the usual case, in which nothing is wrong."""
    return value is None or _FITS[shape.type](shape, value)


@dataclass(frozen=True, slots=True)
class _Place:
    """``path`` has list indexes (strict errors); ``go_path`` has none (Go's decoder)."""

    path: str
    go_path: str
    struct: str

    def field(self, key: str, struct: str) -> "_Place":
        dot = "." if self.path else ""
        return _Place(f"{self.path}{dot}{key}", f"{self.go_path}{dot}{key}", struct)

    def element(self, label: str) -> "_Place":
        return _Place(f"{self.path}{label}", self.go_path, self.struct)


class _Reporter:
    def __init__(self, report: FieldReport) -> None:
        self._report = report

    def visit(self, shape: Shape, value: Any, place: _Place) -> None:
        if value is None:
            return
        if shape.type is Type.OBJECT and isinstance(value, dict) and shape.definition:
            self._visit_object(shape.definition, value, place)
        elif shape.type is Type.LIST and isinstance(value, list) and shape.item:
            for index, child in enumerate(value):
                self.visit(shape.item, child, place.element(f"[{index}]"))
        elif shape.type is Type.MAP and isinstance(value, dict) and shape.item:
            for key, child in value.items():
                self.visit(shape.item, child, place.element(f".{key}"))
        elif not _fits(shape, value):
            message = _type_message(shape, value, place)
            self._report.type_errors.append(message)
            self._report.conversion_errors.append(_conversion_message(shape, value, message))
            self._report.schema_errors.append(_schema_message(shape, value, place.path))

    def _visit_object(self, definition: Definition, value: JsonObject, place: _Place) -> None:
        properties = definition.properties
        for key, child in value.items():
            shape = properties.get(key)
            inner = place.field(key, definition.go_name)
            if shape is None:
                self._report.unknown.append(inner.path)
            else:
                self.visit(shape, child, inner)


def _type_message(shape: Shape, value: Any, place: _Place) -> str:
    if shape.type is Type.QUANTITY and isinstance(value, (str, int, float)):
        return _quantity_message(value)
    if shape.type is Type.TIME and isinstance(value, str):
        layout = "2006-01-02T15:04:05Z07:00"
        return f'parsing time "{value}" as "{layout}": cannot parse "{value}" as "2006"'
    if shape.type is Type.BYTES and isinstance(value, str):
        return f"illegal base64 data at input byte {_base64_fault(value)}"
    target = f" into Go struct field {place.struct}.{place.go_path}" if place.path else ""
    into = target or " into Go value"
    return f"json: cannot unmarshal {_json_name(value, shape)}{into} of type {_go_type(shape)}"


_TREES: Final = {
    Type.OBJECT: "cannot restore struct from: ",
    Type.LIST: "cannot restore slice from ",
    Type.MAP: "cannot restore map from ",
}
_GO_KINDS: Final = {str: "string", int: "int64", float: "float64", bool: "bool", list: "slice"}


def _conversion_message(shape: Shape, value: Any, message: str) -> str:
    found = _GO_KINDS.get(type(value), "map")
    if shape.type in _TREES:
        return _TREES[shape.type] + found
    if shape.type not in (Type.STRING, Type.INT32, Type.INT64, Type.NUMBER, Type.BOOL):
        return message
    wanted = _GO_TYPES[shape.type]
    number = type(value) in (int, float) and shape.type is not Type.BOOL
    if number and not (type(value) is float and wanted == "string"):
        return f"cannot convert {found} to {wanted}"
    return f"unrecognized type: {wanted}"


_BASE64: Final = frozenset(string.ascii_letters + string.digits + "+/")


def _base64_fault(text: str) -> int:
    """Where Go's decoder stops: at a wrong character, or where an incomplete group begins."""
    taken = 0
    for at, char in enumerate(text):
        if char in "\r\n":
            continue
        if char not in _BASE64:
            return at if char != "=" or taken % 4 < 2 else len(text)
        taken += 1
    return len(text) - taken % 4


_SCHEMA_TYPES: Final = {
    Type.OBJECT: "map",
    Type.MAP: "map",
    Type.LIST: "list",
    Type.INT32: "numeric (int or float)",
    Type.INT64: "numeric (int or float)",
    Type.NUMBER: "numeric (int or float)",
    Type.BOOL: "boolean",
}


def _schema_message(shape: Shape, value: Any, path: str) -> str:
    wanted = _SCHEMA_TYPES.get(shape.type, "string")
    if wanted in ("map", "list"):
        return f".{path}: expected {wanted}, got &{{{printed(value)}}}"
    shown = quoted(value) if isinstance(value, str) else printed(value)
    return f".{path}: expected {wanted}, got &value.valueUnstructured{{Value:{shown}}}"


def _quantity_message(value: Any) -> str:
    try:
        canonical_quantity(value)
    except QuantityError as error:
        return error.message
    return QuantityError(value).message


def _json_name(value: Any, shape: Shape) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        numeric = shape.type in (Type.INT32, Type.INT64)
        return f"number {value}" if numeric else "number"
    names: dict[type, str] = {str: "string", list: "array", dict: "object"}
    return names[type(value)]


_GO_TYPES: Final = {
    Type.STRING: "string",
    Type.INT32: "int32",
    Type.INT64: "int64",
    Type.NUMBER: "float64",
    Type.BOOL: "bool",
    Type.BYTES: "[]uint8",
    Type.TIME: "string",
    Type.QUANTITY: "string",
    Type.INT_OR_STRING: "int32",
    Type.FREE_OBJECT: "map[string]interface {}",
    Type.ANY: "interface {}",
}


def _go_type(shape: Shape) -> str:
    if shape.type is Type.OBJECT and shape.definition is not None:
        package, _, name = shape.definition.name.rpartition(".")
        return f"{package.rpartition('.')[2]}.{name}"
    if shape.type is Type.LIST and shape.item is not None:
        return f"[]{_go_type(shape.item)}"
    if shape.type is Type.MAP and shape.item is not None:
        return f"map[string]{_go_type(shape.item)}"
    return _GO_TYPES[shape.type]


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with the keys that occur twice."""


def repeated_keys(raw: bytes) -> list[str]:
    """Paths of keys written again, in the order of the text."""
    try:
        tree = json.loads(raw, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return []
    return list(_repeated_paths(tree, ""))


def _repeated_paths(value: Any, path: str) -> Iterable[str]:
    if isinstance(value, _Pairs):
        dot, seen = f"{path}." if path else "", set()
        for key, child in value:
            if key in seen:
                yield f"{dot}{key}"
            seen.add(key)
            yield from _repeated_paths(child, f"{dot}{key}")
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _repeated_paths(child, f"{path}[{index}]")
