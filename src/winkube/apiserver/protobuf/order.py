"""Fields in the order of upstream's structs: who converts a tree looks at them one by one.

Only the first fault of a tree is told, so which one is first is seen by clients.
"""

from functools import cache
from typing import Any

from winkube.api.kinds import Kind
from winkube.apiserver.protobuf.decode import message_name, message_table


def in_struct_order(kind: Kind, obj: Any) -> Any:
    return _ordered(message_name(kind.api_version, kind.kind), obj)


def _ordered(message: str, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    types = _types(message)
    known = {key: _inner(kind, value[key]) for key, kind in types.items() if key in value}
    return {**known, **value, **known}


def _inner(kind: str, value: Any) -> Any:
    base = kind.lstrip("[*")
    if isinstance(value, list) and kind.startswith("["):
        return [_ordered(base, child) for child in value]
    if isinstance(value, dict) and kind.startswith("{"):
        return {key: _ordered(kind[1:], child) for key, child in value.items()}
    return _ordered(base, value)


@cache
def _types(message: str) -> dict[str, str]:
    """The type of every field, with those of inlined structs where they stand."""
    found: dict[str, str] = {}
    for name, kind in message_table().get(message, {}).values():
        if kind.startswith("^"):
            found |= _types(kind[1:])
        else:
            found[name] = kind
    return found
