"""Numbers of a tree that becomes Go structs, as upstream's converter sets them.

It reads no text: a float without a fraction is taken where a whole number stands, and what does not
fit wraps around as Go's conversions do. Whatever else does not fit is left for ``check_fields``.
"""

import math
from typing import Any, Final

from winkube.api.kinds import Kind
from winkube.api.schema import Definition, Schema, Shape, Type
from winkube.base.types import JsonObject

_BITS: Final = {Type.INT32: 32, Type.INT64: 64}
# What the conversion of a float beyond all integers yields.
_LOWEST: Final = -(2**63)


def convert_numbers(schema: Schema, kind: Kind, obj: JsonObject) -> None:
    """In place."""
    definition = schema.for_kind(kind.gvk)
    if definition is not None:
        _convert_object(definition, obj)


def _convert_object(definition: Definition, obj: JsonObject) -> None:
    for key, value in obj.items():
        shape = definition.properties.get(key)
        if shape is not None:
            obj[key] = _converted(shape, value)


def _converted(shape: Shape, value: Any) -> Any:
    kind = type(value)
    if kind is dict and shape.definition is not None:
        _convert_object(shape.definition, value)
    elif kind is dict and shape.item is not None:
        for key, child in value.items():
            value[key] = _converted(shape.item, child)
    elif kind is list and shape.item is not None:
        value[:] = [_converted(shape.item, child) for child in value]
    elif kind is int or (kind is float and math.isfinite(value) and value == math.trunc(value)):
        return _whole(shape, value)
    return value


def _whole(shape: Shape, value: int | float) -> int | float:
    number = math.trunc(value)
    bits = _BITS.get(shape.type)
    if bits is None:
        # Through JSON, where such a float is written without a point.
        return number if shape.type is Type.INT_OR_STRING else value
    if not _LOWEST <= number < -_LOWEST:
        number = _LOWEST
    half = 1 << (bits - 1)
    return (number + half) % (1 << bits) - half
