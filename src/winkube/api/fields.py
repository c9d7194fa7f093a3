"""Fields against the schema: unknown fields and values of a wrong type, as strict decoding does."""

import base64
import binascii
import functools
import re
import string
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import orjson

from winkube.api.errors import UndecodableError
from winkube.api.go.time import is_micro_time, is_time, time_fault
from winkube.api.go.written import WrittenObject, written
from winkube.api.kinds import Kind
from winkube.api.quantity import QuantityError, canonical_quantity
from winkube.api.schema import Definition, Schema, Shape, Type
from winkube.base.types import JsonObject

_INT32: Final = 2**31
_INT64: Final = 2**63
_MAX_REMARKS: Final = 100  # upstream's decoder keeps no more
# Go's decoder skips them: base64 that was folded to lines is common in manifests.
NEWLINES: Final = re.compile(r"[\r\n]")


@dataclass(slots=True)
class FieldReport:
    # What strict reading minds, a sentence each, in the order of the text.
    remarks: list[str] = field(default_factory=list)
    type_errors: list[str] = field(default_factory=list)
    # The same, as somebody says who converts a tree instead of reading a text.
    conversion_errors: list[str] = field(default_factory=list)
    # Whether how a number is spelt matters, or a key that stands there twice.
    needs_text: bool = False
    # What ends the reading at once, whatever else was found before.
    fatal: int | None = None

    @property
    def clean(self) -> bool:
        return not (self.remarks or self.type_errors)

    def remark(self, text: str) -> None:
        if len(self.remarks) < _MAX_REMARKS and text not in self.remarks:
            self.remarks.append(text)

    def strict_error(self, kind: Kind, before: Iterable[str] = ()) -> UndecodableError | None:
        """``before`` is what was said about the text itself."""
        remarks = [*before, *self.remarks]
        if not remarks:
            return None
        fault = f"strict decoding error: {', '.join(remarks)}"
        return UndecodableError(kind.kind, kind.version, fault)

    def type_error(self, kind: Kind, *, converting: bool = False) -> UndecodableError | None:
        if not self.type_errors:
            return None
        fault = self.conversion_errors[0] if converting else self.type_errors[self.fatal or 0]
        return UndecodableError(kind.kind, kind.version, fault)


def check_fields(schema: Schema, kind: Kind, obj: Any) -> FieldReport:
    report = FieldReport()
    definition = schema.for_kind(kind.gvk)
    if definition is not None and not _fits(definition.shape, obj):
        _Reporter(report).visit(definition.shape, obj, _Place("", "", definition.go_name))
    return report


def _fits_time(shape: Shape, value: Any) -> bool:
    return type(value) is str and is_time(value)


def _fits_quantity(shape: Shape, value: Any) -> bool:
    # How a fraction was spelt decides how it is kept: that is looked at with care.
    return isinstance(value, (str, int)) and is_quantity(value)


def is_quantity(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return False
    try:
        canonical_quantity(written(value))
    except QuantityError:
        return False
    return True


def _fits_bytes(shape: Shape, value: Any) -> bool:
    if isinstance(value, list):
        return _bad_byte(value) is ...
    if not isinstance(value, str):
        return False
    try:
        base64.b64decode(NEWLINES.sub("", value), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _bad_byte(values: list[Any]) -> Any:
    """Bytes may be told one by one; what is none of them, ``...`` if all are."""
    for value in values:
        if value is not None and not (type(value) is int and 0 <= value < 256):
            return value
    return ...


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
    lambda shape, value: type(value) is int or isinstance(value, float),  # NUMBER
    lambda shape, value: type(value) is bool,
    _fits_bytes,
    _fits_time,
    _fits_quantity,
    lambda shape, value: (  # INT_OR_STRING
        type(value) is str or (type(value) is int and -_INT32 <= value < _INT32)
    ),
    lambda shape, value: isinstance(value, dict),  # FREE_OBJECT
    lambda shape, value: type(value) is str and is_micro_time(value),
)


# Types with readers of their own: Go's decoder stops at what these cannot read.
_OWN_READERS: Final = (Type.QUANTITY, Type.TIME, Type.MICRO_TIME, Type.INT_OR_STRING)


def _fits(shape: Shape, value: Any) -> bool:
    """The quick answer for the usual case, in which nothing is wrong."""
    return value is None or _FITS[shape.type](shape, value)


@dataclass(frozen=True, slots=True)
class _Place:
    """``path`` has list indexes (strict errors); ``go_path`` has none (Go's decoder)."""

    path: str
    go_path: str
    struct: str
    go_type: str = ""  # its name, where the type has one

    def field(self, key: str, definition: Definition) -> "_Place":
        dot = "." if self.path else ""
        named = _go_types().get(definition.name, {}).get(key, "")
        path, go_path = f"{self.path}{dot}{key}", f"{self.go_path}{dot}{key}"
        return _Place(path, go_path, definition.go_name, named)

    def element(self, label: str) -> "_Place":
        listed, mapped = self.go_type.startswith("[]"), self.go_type.startswith("map[")
        inner = self.go_type.partition("]")[2] if listed or mapped else ""
        return _Place(f"{self.path}{label}", self.go_path, self.struct, inner)


@functools.cache
def _go_types() -> dict[str, dict[str, str]]:
    """By definition and field; tools/go_types.py wrote it."""
    path = Path(__file__).with_name("go_types.json")
    types: dict[str, dict[str, str]] = orjson.loads(path.read_bytes())
    return types


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
            for key, child in self._pairs(value, place):
                self.visit(shape.item, child, place.element(f".{key}"))
        elif shape.type is Type.QUANTITY and isinstance(value, float) and is_quantity(value):
            self._report.needs_text = True
        elif not _fits(shape, value):
            message = _type_message(shape, value, place)
            if self._report.fatal is None and shape.type in _OWN_READERS:
                self._report.fatal = len(self._report.type_errors)
            self._report.type_errors.append(message)
            self._report.conversion_errors.append(_conversion_message(shape, value, message, place))

    def _visit_object(self, definition: Definition, value: JsonObject, place: _Place) -> None:
        properties = definition.properties
        for key, child in self._pairs(value, place, properties):
            shape = properties.get(key)
            inner = place.field(key, definition)
            if shape is None:
                self._report.remark(f'unknown field "{inner.path}"')
            else:
                self.visit(shape, child, inner)

    def _pairs(
        self, value: JsonObject, place: _Place, known: Mapping[str, Shape] | None = None
    ) -> Iterable[tuple[str, Any]]:
        """All that was written, remarking on keys written again."""
        if not isinstance(value, WrittenObject):
            yield from value.items()
            return
        seen: set[str] = set()
        for key, child in value.pairs:
            if key in seen and (known is None or key in known):
                dot = "." if place.path else ""
                self._report.remark(f'duplicate field "{place.path}{dot}{key}"')
                self._report.needs_text = True
            seen.add(key)
            yield key, child


def _type_message(shape: Shape, value: Any, place: _Place) -> str:
    if shape.type is Type.QUANTITY:
        return _quantity_message(value)
    if shape.type in (Type.TIME, Type.MICRO_TIME) and isinstance(value, str):
        return time_fault(value, micro=shape.type is Type.MICRO_TIME)
    if shape.type is Type.BYTES and isinstance(value, str):
        return f"illegal base64 data at input byte {_base64_fault(value)}"
    wanted, spelt = place.go_type or _go_type(shape), shape.type in _SPELT
    if shape.type is Type.BYTES and isinstance(value, list):
        value, wanted, spelt = _bad_byte(value), "uint8", True
    target = f" into Go struct field {place.struct}.{place.go_path}" if place.path else ""
    into = target or " into Go value"
    return f"json: cannot unmarshal {_json_name(value, spelt=spelt)}{into} of type {wanted}"


_TREES: Final = {
    Type.OBJECT: "cannot restore struct from: ",
    Type.LIST: "cannot restore slice from ",
    Type.MAP: "cannot restore map from ",
}
_GO_KINDS: Final = {str: "string", int: "int64", float: "float64", bool: "bool", list: "slice"}


def _conversion_message(shape: Shape, value: Any, message: str, place: _Place) -> str:
    found = _GO_KINDS.get(type(value), "map")
    if shape.type in _TREES:
        return _TREES[shape.type] + found
    if shape.type is Type.BYTES:
        return _bytes_message(value, message, found)
    timed = shape.type in (Type.TIME, Type.MICRO_TIME) and not isinstance(value, str)
    if timed or shape.type is Type.INT_OR_STRING:
        found, wanted = _json_name(value, spelt=not timed), "string" if timed else "int32"
        return f"json: cannot unmarshal {found} into Go value of type {wanted}"
    if shape.type not in (Type.STRING, Type.INT32, Type.INT64, Type.NUMBER, Type.BOOL):
        return message
    wanted = _GO_TYPES[shape.type]
    number = type(value) in (int, float) and shape.type is not Type.BOOL
    if number and not (type(value) is float and wanted == "string"):
        return f"cannot convert {found} to {place.go_type or wanted}"
    return f"unrecognized type: {wanted}"


def _bytes_message(value: Any, message: str, found: str) -> str:
    if isinstance(value, str):
        return f"error decoding from json: {message}"
    if not isinstance(value, list):
        return f"cannot restore slice from {found}"
    whole = isinstance(_bad_byte(value), float)
    return "cannot convert float64 to uint8" if whole else "unrecognized type: uint8"


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


# Where a number that does not fit is shown.
_SPELT: Final = (Type.INT32, Type.INT64, Type.INT_OR_STRING)


def _quantity_message(value: Any) -> str:
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        try:
            canonical_quantity(written(value))
        except QuantityError as error:
            return error.message
    return QuantityError(value).message


def _json_name(value: Any, *, spelt: bool) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return f"number {written(value)}" if spelt else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


_GO_TYPES: Final = {
    Type.STRING: "string",
    Type.INT32: "int32",
    Type.INT64: "int64",
    Type.NUMBER: "float64",
    Type.BOOL: "bool",
    Type.BYTES: "[]uint8",
    Type.TIME: "string",
    Type.MICRO_TIME: "string",
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


def repeated_keys(value: Any, path: str = "") -> Iterable[str]:
    """Paths of keys written again in a text read with care, in its order."""
    if isinstance(value, WrittenObject):
        dot, seen = f"{path}." if path else "", set()
        for key, child in value.pairs:
            if key in seen:
                yield f"{dot}{key}"
            seen.add(key)
            yield from repeated_keys(child, f"{dot}{key}")
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from repeated_keys(child, f"{path}[{index}]")
