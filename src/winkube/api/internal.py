"""Objects as upstream's internal types have them: some of its messages show these."""

import functools
from pathlib import Path
from typing import Any, Final

import orjson

from winkube.base.types import JsonObject

_HOST = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")


@functools.cache
def _fields() -> dict[str, list[list[Any]]]:
    """By type; tools/internal_fields.py wrote it."""
    path = Path(__file__).with_name("internal_fields.json")
    fields: dict[str, list[list[Any]]] = orjson.loads(path.read_bytes())
    return fields


def internal(kind: str, value: JsonObject) -> JsonObject:
    """All fields of the type, under their Go names and in their order."""
    if kind == "PodSpec":
        # What concerns the host's namespaces is part of the security context there.
        host = {field: value[field] for field in _HOST if field in value}
        value = {**value, "securityContext": {**(value.get("securityContext") or {}), **host}}
    made: JsonObject = {}
    for name, key, code, *zero in _fields()[kind]:
        if code == "^":
            made.update(value.get(key) or {})
        elif code == "v":
            made[name] = value.get(key) or zero[0]
        else:
            made[name] = _shown(code, value.get(key))
    return made


def _shown(code: str, value: Any) -> Any:
    if code == "Q":
        return value or "0"
    if code == "O":
        return 0 if value is None else value
    if code[0] == "*":
        return None if value is None else _shown(code[1:], value)
    if code[0] == "[":
        return None if value is None else [_shown(code[1:], entry) for entry in value]
    if code in ("p", "M", "{Q", "X"):
        sort = isinstance(value, dict) and code != "X"
        return dict(sorted(value.items())) if sort else selectors_in_order(value)
    return internal(code, value or {})


_SELECTOR: Final = ("matchLabels", "matchExpressions")
_REQUIREMENT: Final = ("key", "operator", "values")


def selectors_in_order(value: Any) -> Any:
    """Selectors, wherever they stand, with their fields in Go's order and labels sorted."""
    if isinstance(value, list):
        return [selectors_in_order(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if not value or not value.keys() <= {*_SELECTOR} or isinstance(value.get(_SELECTOR[0]), str):
        return {key: selectors_in_order(entry) for key, entry in value.items()}
    made: dict[str, Any] = {}
    if value.get("matchLabels"):
        made["matchLabels"] = dict(sorted(value["matchLabels"].items()))
    if value.get("matchExpressions"):
        made["matchExpressions"] = [
            {
                field: entry.get(field, "")
                for field in _REQUIREMENT
                if entry.get(field) or field != "values"
            }
            for entry in value["matchExpressions"]
        ]
    return made
