"""What a trip through upstream's Go structs does to an object beyond reading it.

Unknown fields, nulls, empty optional lists and maps go, and so do zeros, except where they are
always written; quantities get their canonical form.
"""

import base64
from typing import Any, Final

from winkube.api.fields import NEWLINES
from winkube.api.kinds import Kind
from winkube.api.quantity import canonical_quantity
from winkube.api.schema import Definition, Schema, Shape, Type
from winkube.api.written import written
from winkube.base.types import JsonObject


def round_trip(schema: Schema, kind: Kind, obj: JsonObject) -> None:
    """In place; values of a wrong type are left alone, ``check_fields`` has refused them."""
    definition = schema.for_kind(kind.gvk)
    if definition is not None:
        _trip_object(definition, obj)


def complete_status(schema: Schema, kind: Kind, obj: JsonObject) -> None:
    """The status of a new object, with the zeros Go writes."""
    definition = schema.for_kind(kind.gvk)
    shape = definition.properties.get("status") if definition is not None else None
    if shape is None or shape.definition is None or definition is None:
        return
    if obj.get("status") is not None:
        _trip_object(shape.definition, obj["status"])
    elif any(key == "status" for key, _ in definition.always):
        obj["status"] = zero_of(shape)


# What Go leaves where a list or map holds a null.
_ZERO: Final = {
    Type.STRING: "", Type.BYTES: "", Type.INT32: 0, Type.INT64: 0, Type.NUMBER: 0,
    Type.BOOL: False, Type.QUANTITY: "0", Type.INT_OR_STRING: 0,
}  # fmt: skip


# Lists whose being empty is not the same as their being absent: validation refuses them so.
_TELLING: Final = frozenset(
    {
        ("EphemeralContainer", "ports"),
        ("EphemeralContainer", "resizePolicy"),
        ("HPAScalingRules", "policies"),
        ("IngressSpec", "rules"),
        ("PersistentVolumeSpec", "capacity"),
        ("PodFailurePolicyOnExitCodesRequirement", "values"),
        ("PodSecurityContext", "supplementalGroups"),
        ("ResourceRequirements", "claims"),
    }
)
# What a round trip leaves as it is.
_PLAIN: Final = frozenset(Type) - {
    Type.OBJECT, Type.LIST, Type.MAP, Type.QUANTITY, Type.BYTES,
}  # fmt: skip


def _canonical(shape: Shape, value: Any) -> Any:
    if shape.type is Type.QUANTITY:
        return canonical_quantity(written(value))
    if type(value) is list:
        return base64.b64encode(bytes(byte or 0 for byte in value)).decode()
    return NEWLINES.sub("", value)


def _trip_object(definition: Definition, obj: JsonObject) -> None:
    properties = definition.properties
    doomed = []
    for key, value in obj.items():
        shape = properties.get(key)
        if shape is None or value is None:
            doomed.append(key)
            continue
        kind = type(value)
        if (kind is dict or kind is list) and shape.type is not Type.BYTES:
            if value or shape.item is None:
                _trip_value(shape, value)
            elif (definition.go_name, key) not in _TELLING:
                doomed.append(key)
        elif not value and key in definition.zeros:
            doomed.append(key)
        elif shape.type is Type.QUANTITY or shape.type is Type.BYTES:
            obj[key] = _canonical(shape, value)
    for key in doomed:
        del obj[key]
    if definition.always:
        _fill_zeros(definition, obj)


def _fill_zeros(definition: Definition, obj: JsonObject) -> None:
    for key, zero in definition.always:
        if key not in obj:
            obj[key] = zero_of(definition.properties[key]) if type(zero) is dict else zero


def zero_of(shape: Shape) -> JsonObject:
    """A struct nobody set anything in, as Go writes it."""
    made: JsonObject = {}
    if shape.definition is not None:
        _trip_object(shape.definition, made)
    return made


def _trip_value(shape: Shape, value: Any) -> None:
    if shape.type is Type.OBJECT and shape.definition is not None and type(value) is dict:
        _trip_object(shape.definition, value)
    elif shape.item is not None:
        item = shape.item
        pairs = value.items() if type(value) is dict else enumerate(value)
        for key, child in pairs:
            if child is None:
                value[key] = _zero_item(item)
            elif item.type is Type.QUANTITY or item.type is Type.BYTES:
                value[key] = _canonical(item, child)
            elif item.type not in _PLAIN:
                _trip_value(item, child)


def _zero_item(item: Shape) -> Any:
    if item.type is Type.OBJECT:
        return zero_of(item)
    return [] if item.type is Type.LIST else _ZERO.get(item.type, {})
