"""Elements of an object by their step in a path, and paths as text.

A path is a tuple of steps: ``f:name`` (a field or map key), ``k:{...}`` (the element of a list with
these keys), ``v:...`` (an element of a set). Which of them a place has is the schema's decision.
"""

import functools
from typing import Any, Final

import orjson

from winkube.api.go.text import printed, quoted
from winkube.api.schema import Shape, Type
from winkube.apiserver.apply.tree import Path
from winkube.base.errors import WinkubeError
from winkube.base.types import JsonObject

# Keys of list elements that have a default may be left out by authors.
KEY_DEFAULTS: Final = {"protocol": "TCP"}
# Fields that are left out when empty have no default in upstream's schema, unless it says so.
_DEFAULTED: Final = frozenset({("LocalObjectReference", "name")})
_ZEROS: Final[dict[Type, Any]] = {Type.STRING: "", Type.INT32: 0, Type.INT64: 0}


def is_atomic(shape: Shape) -> bool:
    return shape.map_type == "atomic" or shape.type not in (Type.OBJECT, Type.MAP)


def list_keys(shape: Shape) -> tuple[str, ...]:
    """Non-empty for lists whose elements are merged by key."""
    return shape.list_keys if shape.list_type == "map" else ()


def is_associative(shape: Shape) -> bool:
    return bool(list_keys(shape)) or is_set(shape)


def is_set(shape: Shape) -> bool:
    return shape.list_type == "set"


def child_shape(shape: Shape, key: str) -> Shape | None:
    if shape.type is Type.OBJECT and shape.definition is not None:
        return shape.definition.properties.get(key)
    return shape.item


def element_key(shape: Shape, element: Any) -> JsonObject:
    """What names an element; keys that are left out have the value their type begins with."""
    if not isinstance(element, dict):
        return {}
    keys = {}
    for name, default in _key_defaults(shape):
        value = element.get(name, default)
        if value is not ...:
            keys[name] = value
    return keys


@functools.cache
def _key_defaults(shape: Shape) -> tuple[tuple[str, Any], ...]:
    definition = shape.item.definition if shape.item is not None else None
    if definition is None:
        return tuple((key, ...) for key in sorted(list_keys(shape)))
    found = []
    written = {key for key, _ in definition.always}
    for key in sorted(list_keys(shape)):
        known = definition.properties.get(key)
        has = key in written or (definition.go_name, key) in _DEFAULTED
        zero = _ZEROS.get(known.type, ...) if known is not None and has else ...
        found.append((key, KEY_DEFAULTS.get(key, zero)))
    return tuple(found)


class KeylessError(WinkubeError):
    """An element of a list that is merged by keys has none of them: it cannot be told apart."""


def key_step(shape: Shape, element: Any) -> str:
    keys = element_key(shape, element)
    if not keys:
        raise KeylessError("an element omits all keys")
    return "k:" + orjson.dumps(keys, option=orjson.OPT_SORT_KEYS).decode()


def value_step(element: Any) -> str:
    return "v:" + orjson.dumps(element).decode()


def to_text(path: Path) -> str:
    """As conflicts name it: ``.spec.containers[name="c"].image``."""
    text = ""
    for step in path:
        if step.startswith("f:"):
            text += f".{step[2:]}"
        elif step.startswith("k:"):
            keys = orjson.loads(step[2:])
            inner = ",".join(f"{key}={_value_text(keys[key])}" for key in keys)
            text += f"[{inner}]"
        else:
            text += f"[={_value_text(orjson.loads(step[2:]))}]"
    return text


def _value_text(value: Any) -> str:
    """As upstream's library shows a value; the fields of a map have nothing between them."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return "".join(f"{key}={_value_text(child)}" for key, child in value.items())
    if isinstance(value, list):
        return f"[{','.join(map(_value_text, value))}]"
    return "null" if value is None else printed(value)
