"""Sets of fields: paths into an object, and their FieldsV1 form.

A path is a tuple of steps: ``f:name`` (a field or map key), ``k:{...}`` (the element of a list with
these keys), ``v:...`` (an element of a set). Which of them a place has is the schema's decision.
"""

from collections.abc import Iterable
from typing import Any, Final

import orjson

from winkube.api.schema import Shape, Type
from winkube.base.types import JsonObject

Path = tuple[str, ...]
FieldSet = frozenset[Path]

# Keys of list elements that have a default may be left out by authors.
_KEY_DEFAULTS: Final = {"protocol": "TCP"}


def to_fields_v1(paths: Iterable[Path]) -> JsonObject:
    root: JsonObject = {}
    for path in sorted(paths):
        node = root
        for step in path[:-1]:
            node = node.setdefault(step, {})
        child = node.setdefault(path[-1], {})
        if path[-1][0] in "kv" and path[-1][1] == ":":
            child.setdefault(".", {})
    return _mark(root, frozenset(paths), ())


def _mark(node: JsonObject, paths: FieldSet, here: Path) -> JsonObject:
    """An inner node that is itself a member says so with a dot."""
    for step, child in node.items():
        if step == ".":
            continue
        path = (*here, step)
        _mark(child, paths, path)
        inner = [key for key in child if key != "."]
        if not inner:
            child.pop(".", None)
        elif path in paths:
            child["."] = {}
        else:
            child.pop(".", None)
    return node


def from_fields_v1(fields: JsonObject) -> FieldSet:
    found: set[Path] = set()
    _collect(fields, (), found)
    return frozenset(found)


def _collect(node: JsonObject, here: Path, found: set[Path]) -> None:
    for step, child in node.items():
        if step == ".":
            found.add(here)
        elif child:
            _collect(child, (*here, step), found)
        else:
            found.add((*here, step))


def owned_fields(shape: Shape, obj: Any) -> FieldSet:
    """Every field an object states, down to what the schema calls atomic."""
    found: set[Path] = set()
    _own(shape, obj, (), found)
    return frozenset(found)


def _own(shape: Shape | None, value: Any, here: Path, found: set[Path]) -> None:
    if shape is not None and isinstance(value, dict) and not is_atomic(shape):
        if not value and here:
            found.add(here)
        for key, child in value.items():
            _own(child_shape(shape, key), child, (*here, f"f:{key}"), found)
    elif shape is not None and isinstance(value, list) and list_keys(shape):
        for element in value:
            path = (*here, key_step(shape, element))
            found.add(path)
            _own(shape.item, element, path, found)
    elif shape is not None and isinstance(value, list) and shape.list_type == "set":
        found.update((*here, value_step(element)) for element in value)
    elif here:
        found.add(here)


def is_atomic(shape: Shape) -> bool:
    return shape.map_type == "atomic" or shape.type not in (Type.OBJECT, Type.MAP)


def list_keys(shape: Shape) -> tuple[str, ...]:
    """Non-empty for lists whose elements are merged by key."""
    return shape.list_keys if shape.list_type == "map" else ()


def child_shape(shape: Shape, key: str) -> Shape | None:
    if shape.type is Type.OBJECT and shape.definition is not None:
        return shape.definition.properties.get(key)
    return shape.item


def element_key(shape: Shape, element: Any) -> JsonObject:
    if not isinstance(element, dict):
        return {}
    keys = {}
    for name in list_keys(shape):
        value = element.get(name, _KEY_DEFAULTS.get(name))
        if value is not None:
            keys[name] = value
    return keys


def key_step(shape: Shape, element: Any) -> str:
    return "k:" + orjson.dumps(element_key(shape, element), option=orjson.OPT_SORT_KEYS).decode()


def value_step(element: Any) -> str:
    return "v:" + orjson.dumps(element).decode()


def lookup(shape: Shape | None, value: Any, path: Path) -> Any:
    """What stands at a path; ``...`` when nothing does."""
    for step in path:
        if shape is None:
            return ...
        if step.startswith("f:"):
            key = step[2:]
            if not isinstance(value, dict) or key not in value:
                return ...
            value, shape = value[key], child_shape(shape, key)
        else:
            index = find_element(shape, value, step)
            if index is None:
                return ...
            value, shape = value[index], shape.item
    return value


def find_element(shape: Shape, value: Any, step: str) -> int | None:
    if not isinstance(value, list):
        return None
    name = key_step if step.startswith("k:") else lambda _, element: value_step(element)
    return next((i for i, element in enumerate(value) if name(shape, element) == step), None)


def to_text(path: Path) -> str:
    """As conflicts name it: ``.spec.containers[name="c"].image``."""
    text = ""
    for step in path:
        if step.startswith("f:"):
            text += f".{step[2:]}"
        elif step.startswith("k:"):
            keys = orjson.loads(step[2:])
            inner = ",".join(f"{key}={orjson.dumps(keys[key]).decode()}" for key in keys)
            text += f"[{inner}]"
        else:
            text += f"[={step[2:]}]"
    return text
