"""ConfigMaps and Secrets."""

import base64
import binascii
from typing import Final

import orjson

from winkube.api import names
from winkube.api.go.json_syntax import syntax_fault
from winkube.api.meta import annotations_of
from winkube.api.validation.common import check_immutable
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_DATA_BYTES: Final = 1024 * 1024
_FROZEN: Final = "field is immutable when `immutable` is set"
_REDACTED: Final = "<secret contents redacted>"
_SECRET_KEYS: Final = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_GO_KINDS: Final = {list: "array", str: "string", int: "number", float: "number", bool: "bool"}


def validate_config_map(obj: JsonObject, problems: Problems) -> None:
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    total = 0
    for key, value in data.items():
        problems.all_invalid(f"data[{key}]", key, names.config_key_problems(key))
        if key in binary:
            problems.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
        total += len(value.encode())
    for key, value in binary.items():
        problems.all_invalid(f"binaryData[{key}]", key, names.config_key_problems(key))
        total += _decoded_length(value)
    if total > _DATA_BYTES:
        problems.too_long("[]", _DATA_BYTES)


def validate_config_map_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    _check_frozen(new, old, ("data", "binaryData"), problems)


def _check_frozen(
    new: JsonObject, old: JsonObject, fields: tuple[str, ...], problems: Problems
) -> None:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        problems.forbidden("immutable", _FROZEN)
    for field in fields:
        if (new.get(field) or {}) != (old.get(field) or {}):
            problems.forbidden(field, _FROZEN)


def _decoded_length(text: str) -> int:
    return len(text) * 3 // 4 - text[-2:].count("=")


def validate_secret(obj: JsonObject, problems: Problems) -> None:
    data, kind = obj.get("data") or {}, obj.get("type") or ""
    for key in data:
        problems.all_invalid(f"data[{key}]", key, names.config_key_problems(key))
    if sum(_decoded_length(value) for value in data.values()) > _DATA_BYTES:
        problems.too_long("data", _DATA_BYTES)
    if kind == "kubernetes.io/service-account-token":
        key = "kubernetes.io/service-account.name"
        if not annotations_of(obj).get(key):
            problems.required(f"metadata.annotations[{key}]")
    elif kind == "kubernetes.io/basic-auth" and not data.keys() & {"username", "password"}:
        problems.required("data[username]")
        problems.required("data[password]")
    for key in _SECRET_KEYS.get(kind, ()):
        # A key for SSH has to say something.
        if key not in data or (key == "ssh-privatekey" and not data[key]):
            problems.required(f"data[{key}]")
        elif "dockerc" in kind:
            fault = _object_fault(data[key])
            if fault:
                problems.invalid(f"data[{key}]", _REDACTED, fault)


def _object_fault(text: str) -> str:
    """Why this is no JSON object, as Go says it; nothing when it is one."""
    try:
        raw = base64.b64decode(text)
    except binascii.Error:
        return "unexpected end of JSON input"
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return syntax_fault(raw.decode(errors="replace"))
    if value is None or isinstance(value, dict):
        return ""
    what = _GO_KINDS[type(value)]
    return f"json: cannot unmarshal {what} into Go value of type map[string]interface {{}}"


def validate_secret_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    check_immutable(new.get("type"), old.get("type"), "type", problems)
    _check_frozen(new, old, ("data",), problems)
