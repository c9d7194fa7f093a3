"""What a trip through upstream's Go structs does to an object beyond reading it.

Unknown fields, nulls, empty optional lists and maps go, and so do zeros, except where they are
always written; quantities get their canonical form.
"""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from winkube.api.decode import clone
from winkube.api.fields import NEWLINES
from winkube.api.go.time import canonical_time
from winkube.api.go.written import written
from winkube.api.kinds import Kind
from winkube.api.quantity import canonical_quantity
from winkube.api.schema import Definition, Schema, Shape, Type
from winkube.base.types import JsonObject


class Emptied(NamedTuple):
    """Where an empty list or map was taken out, what it was, and whether it is told from none."""

    holder: JsonObject
    key: str
    value: Any
    told: bool


def round_trip(schema: Schema, kind: Kind, obj: JsonObject) -> list[Emptied]:
    """In place; values of a wrong type are left alone, ``check_fields`` has refused them.

    Until it is stored, an object knows lists given empty from those not given, where they are
    always written, and inside what is compared as a whole.
    """
    definition = schema.for_kind(kind.gvk)
    emptied: list[Emptied] = []
    if definition is not None:
        _trip_object(definition, obj, emptied, _GRANULAR)
    return emptied


# Kinds whose changes Go compares, which knows an empty list from none.
_COMPARED: Final = frozenset(
    {"MutatingWebhookConfiguration", "NetworkPolicy", "ValidatingWebhookConfiguration"}
)


def gives_empty(schema: Schema, kind: Kind, obj: JsonObject) -> bool:
    """Whether lists or maps are given empty where that alone is a change: none are ever kept."""
    definition = schema.for_kind(kind.gvk) if kind.kind in _COMPARED else None
    if definition is None:
        return False
    emptied: list[Emptied] = []
    wanted: JsonObject = {key: clone(obj[key]) for key in ("spec", "webhooks") if key in obj}
    _trip_object(definition, wanted, emptied, _IN_LIST)
    # Those have a default.
    return any(empty.told and empty.key != "policyTypes" for empty in emptied)


@contextmanager
def as_given(emptied: list[Emptied], *, shown: bool = False) -> Iterator[None]:
    """With the lists that were given empty and are told from none, or all of them to be shown."""
    wanted = [
        each for each in emptied if (each.holder.get(each.key) is None if shown else each.told)
    ]
    before = [(each.holder, each.key, each.holder.get(each.key, ...)) for each in wanted]
    for each in wanted:
        each.holder[each.key] = each.value
    try:
        yield
    finally:
        for holder, key, value in before:
            if value is ...:
                del holder[key]
            else:
                holder[key] = value


def complete_status(schema: Schema, kind: Kind, obj: JsonObject) -> None:
    """The status of a new object, with the zeros Go writes."""
    definition = schema.for_kind(kind.gvk)
    shape = definition.properties.get("status") if definition is not None else None
    if shape is None or shape.definition is None or definition is None:
        return
    if obj.get("status") is not None:
        _trip_object(shape.definition, obj["status"], [], _GRANULAR)
    elif any(key == "status" for key, _ in definition.always):
        obj["status"] = zero_of(shape)


# What Go leaves where a list or map holds a null.
_ZERO: Final = {
    Type.STRING: "", Type.BYTES: "", Type.INT32: 0, Type.INT64: 0, Type.NUMBER: 0,
    Type.BOOL: False, Type.QUANTITY: "0", Type.INT_OR_STRING: 0,
}  # fmt: skip


# Lists whose being empty is not the same as their being absent: validation refuses them so, or,
# of managers, it says that there shall be none.
_TELLING: Final = frozenset(
    {
        ("EphemeralContainer", "ports"),
        ("EphemeralContainer", "resizePolicy"),
        ("HPAScalingRules", "policies"),
        ("IngressSpec", "rules"),
        ("ObjectMeta", "managedFields"),
        ("PersistentVolumeSpec", "capacity"),
        ("PodFailurePolicyOnExitCodesRequirement", "values"),
        ("PodSecurityContext", "supplementalGroups"),
        ("ResourceRequirements", "claims"),
    }
)
# How upstream's library compares what is at some place: field by field, as a whole, or, in a list
# of that, as Go does, which knows empty from absent.
_GRANULAR, _WHOLE, _IN_LIST = 0, 1, 2
_MERGED: Final = ("map", "set")
# What a round trip leaves as it is.
_PLAIN: Final = frozenset(Type) - {
    Type.OBJECT, Type.LIST, Type.MAP, Type.QUANTITY, Type.BYTES,
}  # fmt: skip


# What can be spelt in several ways.
_SPELT: Final = frozenset({Type.QUANTITY, Type.BYTES, Type.TIME, Type.MICRO_TIME})


def _canonical(shape: Shape, value: Any) -> Any:
    if shape.type is Type.QUANTITY:
        return canonical_quantity(written(value))
    if shape.type is Type.TIME or shape.type is Type.MICRO_TIME:
        return canonical_time(value, micro=shape.type is Type.MICRO_TIME)
    if type(value) is list:
        return base64.b64encode(bytes(byte or 0 for byte in value)).decode()
    return NEWLINES.sub("", value)


def _trip_object(
    definition: Definition, obj: JsonObject, emptied: list[Emptied], depth: int
) -> None:
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
                _trip_value(shape, value, emptied, depth)
            elif (definition.go_name, key) not in _TELLING:
                doomed.append(key)
                told = depth == _IN_LIST or (key, None) in definition.always
                emptied.append(Emptied(obj, key, value, told))
        elif not value and key in definition.zeros:
            doomed.append(key)
        elif shape.type in _SPELT:
            obj[key] = _canonical(shape, value)
    for key in doomed:
        del obj[key]
    if definition.always:
        fill_zeros(definition, obj)


def fill_zeros(definition: Definition, obj: JsonObject) -> None:
    """Of one struct, without what it holds."""
    for key, zero in definition.always:
        if key not in obj:
            obj[key] = zero_of(definition.properties[key]) if type(zero) is dict else zero


def zero_of(shape: Shape) -> JsonObject:
    """A struct nobody set anything in, as Go writes it."""
    made: JsonObject = {}
    if shape.definition is not None:
        _trip_object(shape.definition, made, [], _GRANULAR)
    return made


def _trip_value(shape: Shape, value: Any, emptied: list[Emptied], depth: int) -> None:
    if shape.type is Type.OBJECT and shape.definition is not None and type(value) is dict:
        if depth == _GRANULAR and shape.map_type == "atomic":
            depth = _WHOLE
        _trip_object(shape.definition, value, emptied, depth)
    elif shape.item is not None:
        if shape.type is Type.LIST and (depth == _WHOLE or shape.list_type not in _MERGED):
            depth = _IN_LIST
        _trip_items(shape.item, value, emptied, depth)


def _trip_items(item: Shape, value: Any, emptied: list[Emptied], depth: int) -> None:
    pairs = value.items() if type(value) is dict else enumerate(value)
    for key, child in pairs:
        if child is None:
            value[key] = _zero_item(item)
        elif item.type is Type.QUANTITY or item.type is Type.BYTES:
            value[key] = _canonical(item, child)
        elif item.type not in _PLAIN:
            _trip_value(item, child, emptied, depth)


def _zero_item(item: Shape) -> Any:
    if item.type is Type.OBJECT:
        return zero_of(item)
    return [] if item.type is Type.LIST else _ZERO.get(item.type, {})
