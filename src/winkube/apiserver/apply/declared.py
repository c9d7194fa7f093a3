"""Whether what somebody applies is what the schema declares, in the words of upstream's library.

It holds a tree against types, not against Go structs: any number is a number, and quantities, times
and the like are any scalar (sigs.k8s.io/structured-merge-diff: typed/validate.go).
"""

from collections.abc import Iterator
from typing import Any, Final

from winkube.api.go.text import go_syntax, printed
from winkube.api.schema import Shape, Type
from winkube.apiserver.apply.element import (
    child_shape,
    element_key,
    is_set,
    key_step,
    list_keys,
    to_text,
    value_step,
)
from winkube.base.types import JsonObject

_NUMBERS: Final = (Type.INT32, Type.INT64, Type.NUMBER)
_UNTYPED: Final = (Type.QUANTITY, Type.TIME, Type.MICRO_TIME)
_GO_KINDS: Final = {str: "string", int: "int64", float: "float64", bool: "bool"}


_REPEATED: Final = ": duplicate entries for key "


def schema_problems(shape: Shape, document: JsonObject) -> list[str]:
    return list(_problems(shape, document, ""))


def live_problems(shape: Shape, obj: JsonObject) -> list[str]:
    """Of an object that is there already, in which elements may stand twice."""
    return [problem for problem in _problems(shape, obj, "") if _REPEATED not in problem]


def without_truths(shape: Shape | None, value: Any) -> Any:
    """A copy in which what is neither a number nor a text equals neither."""
    if shape is None:
        return value
    if isinstance(value, dict):
        return {key: without_truths(child_shape(shape, key), child) for key, child in value.items()}
    if isinstance(value, list):
        return [without_truths(shape.item, child) for child in value]
    odd = isinstance(value, bool) and shape.type in (Type.INT_OR_STRING, *_UNTYPED)
    return f"\0{value}" if odd else value


def _problems(shape: Shape | None, value: Any, path: str) -> Iterator[str]:
    if shape is None or value is None:
        return
    if shape.type in (Type.OBJECT, Type.MAP):
        yield from _map_problems(shape, value, path)
    elif shape.type is Type.LIST:
        yield from _list_problems(shape, value, path)
    else:
        fault = _scalar_fault(shape.type, value)
        if fault:
            yield f"{path}: expected {fault}"


def _scalar_fault(kind: Type, value: Any) -> str:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind in _NUMBERS:
        return "" if number else f"numeric (int or float), got {_go_kind(value)}"
    if kind is Type.BOOL:
        return "" if isinstance(value, bool) else f"boolean, got &{{{printed(value)}}}"
    if kind in _UNTYPED:
        composed = isinstance(value, (dict, list))
        return f"any scalar, got &{{{printed(value)}}}" if composed else ""
    if kind in (Type.STRING, Type.BYTES) and not isinstance(value, str):
        return f"string, got &value.valueUnstructured{{Value:{go_syntax(value)}}}"
    return ""


def _go_kind(value: Any) -> str:
    if isinstance(value, dict):
        return "map[string]interface {}"
    return "[]interface {}" if isinstance(value, list) else _GO_KINDS[type(value)]


def _map_problems(shape: Shape, value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path}: expected map, got &{{{printed(value)}}}"
        return
    known = shape.definition.properties if shape.definition is not None else None
    for key in sorted(value):
        if known is not None and key not in known:
            # What comes after a key that is not declared is not looked at.
            yield f"{path}.{key}: field not declared in schema"
            return
        inner = known[key] if known is not None else shape.item
        yield from _problems(inner, value[key], f"{path}.{key}")


def _list_problems(shape: Shape, value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{path}: expected list, got &{{{printed(value)}}}"
        return
    keys, seen = list_keys(shape), set()
    for index, element in enumerate(value):
        step = f"[{index}]"
        if keys or is_set(shape):
            fault = _keyed_fault(shape, keys, element) if keys else _set_fault(element)
            if fault:
                yield f"{path}: element {index}: {fault}"
                return
            step = to_text((key_step(shape, element) if keys else value_step(element),))
            if step in seen:
                yield f"{path}{_REPEATED}{step}"
            seen.add(step)
        yield from _problems(shape.item, element, f"{path}{step}")


def _keyed_fault(shape: Shape, keys: tuple[str, ...], element: Any) -> str:
    if element is None:
        return "associative list with keys may not have a null element"
    if not isinstance(element, dict):
        return "associative list with keys may not have non-map elements"
    if not element_key(shape, element):
        named = " ".join(f'"{key}"' for key in keys)
        return (
            f"associative list with keys has an element that omits all key fields [{named}] (and "
            "doesn't have default values for any key fields)"
        )
    return ""


def _set_fault(element: Any) -> str:
    if isinstance(element, dict):
        return "associative list without keys has an element that's a map type"
    if isinstance(element, list):
        return "not supported: associative list with lists as elements"
    if element is None:
        return "associative list without keys has an element that's an explicit null"
    return ""
