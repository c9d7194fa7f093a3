"""Kubernetes' protobuf encoding to JSON: what typed Go clients (kubectl among them) send.

The body is a magic number and an envelope (runtime.Unknown) around the message of the kind. Field
numbers come from fields.json (made by tools/protobuf_fields.py). Go writes plain fields also when
they are zero, and JSON leaves those out: so a zero is kept only where Go has a pointer. We read
this form and always answer JSON, which every client accepts.
"""

import base64
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from typing import Any, Final

import orjson

from winkube.api import decode
from winkube.api.errors import BadRequestError
from winkube.base.types import JsonObject

MEDIA: Final = "application/vnd.kubernetes.protobuf"
_MAGIC: Final = b"k8s\x00"
_MAX_DEPTH: Final = 100
_PACKAGES: Final = {
    "rbac.authorization.k8s.io": "rbac",
    "": "core",
    "flowcontrol.apiserver.k8s.io": "flowcontrol",
}
# Sent with every group's version, defined once.
_META_KINDS: Final = frozenset({"DeleteOptions", "Status"})

_NO_MAGIC: Final = (
    "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
)

Field = tuple[str, str]  # JSON name, type


class MalformedError(BadRequestError):
    def __init__(self, cause: str) -> None:
        super().__init__(f"the body of the request is not valid protobuf: {cause}")


@cache
def message_table() -> dict[str, dict[int, Field]]:
    text = resources.files(__package__).joinpath("fields.json").read_bytes()
    return {
        name: {number: (field, kind) for number, field, kind in fields}
        for name, fields in orjson.loads(text).items()
    }


def decode_protobuf(data: bytes) -> JsonObject:
    """The object in an envelope, with apiVersion and kind."""
    if not data.startswith(_MAGIC):
        raise decode.MalformedError(_NO_MAGIC, _NO_MAGIC)
    envelope = dict(_fields(memoryview(data)[len(_MAGIC) :]))
    type_meta = {n: _name(v) for n, v in _fields(_view(envelope.get(1, b"")))}
    api_version, kind = type_meta.get(1, ""), type_meta.get(2, "")
    message = message_name(api_version, kind)
    if message not in message_table():
        raise MalformedError(f'no kind "{kind}" is known for version "{api_version}"')
    body = _message(message, _view(envelope.get(2, b"")), 0)
    return {"apiVersion": api_version, "kind": kind, **body}


def message_name(api_version: str, kind: str) -> str:
    group, _, version = api_version.rpartition("/")
    if kind in _META_KINDS:
        return f"meta/v1.{kind}"
    return f"{_PACKAGES.get(group, group.partition('.')[0])}/{version}.{kind}"


def _view(value: Any) -> memoryview:
    if not isinstance(value, bytes | memoryview):
        raise MalformedError("a message was expected")
    return memoryview(value)


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    result = shift = 0
    while shift < 70:
        if at >= len(data):
            raise MalformedError("it ends inside a number")
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, at
        shift += 7
    raise MalformedError("a number is too long")


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """Field numbers with integers (varint) or views (length-delimited, fixed)."""
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value
            continue
        if wire == 2:
            size, at = _varint(data, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise MalformedError(f"wire type {wire} is not used")
        if at + size > end:
            raise MalformedError("it ends inside a field")
        yield tag >> 3, data[at : at + size]
        at += size


def _message(name: str, data: memoryview, depth: int) -> JsonObject:
    if depth > _MAX_DEPTH:
        raise MalformedError(f"it nests deeper than {_MAX_DEPTH} levels")
    known = message_table().get(name, {})
    result: JsonObject = {}
    for number, value in _fields(data):
        field = known.get(number)
        if field is not None:
            _put(result, field, value, depth)
    return result


def _put(result: JsonObject, field: Field, value: Any, depth: int) -> None:
    name, kind = field
    form, base = kind[0], kind[1:]
    if form == "^":
        result.update(_message(base, _view(value), depth + 1))
    elif form == "[":
        result.setdefault(name, []).append(_value(base.lstrip("*"), value, depth))
    elif form == "{":
        entry = dict(_fields(_view(value)))
        key = _name(entry.get(1, b""))
        default = b"" if base not in ("i", "b") else 0
        result.setdefault(name, {})[key] = _value(base, entry.get(2, default), depth)
    elif form == "*":
        decoded = _value(base, value, depth)
        if decoded is not None:
            result[name] = decoded
    else:
        decoded = _value(kind, value, depth)
        if decoded or (decoded == {} and len(kind) > 1):
            result[name] = decoded


def _value(kind: str, value: Any, depth: int) -> Any:
    if len(kind) > 1:
        return _message(kind, _view(value), depth + 1)
    if kind in ("i", "b"):
        return _integer(value) if kind == "i" else bool(value)
    try:
        return _SPECIAL[kind](_view(value))
    except (UnicodeDecodeError, orjson.JSONDecodeError, struct.error, OverflowError) as error:
        raise MalformedError(str(error)) from error


def _integer(value: Any) -> int:
    if not isinstance(value, int):
        raise MalformedError("a number was expected")
    # Negative numbers travel as 64-bit two's complement.
    return value - (1 << 64) if value >= 1 << 63 else value


def _text(data: memoryview) -> str:
    return bytes(data).decode()


def _base64(data: memoryview) -> str:
    return base64.b64encode(data).decode()


def _double(data: memoryview) -> float:
    return float(struct.unpack("<d", data)[0])


def _name(value: Any) -> str:
    """Text where a field has to be text: ``bytes`` of a number would be that many zeros."""
    try:
        return _text(_view(value))
    except UnicodeDecodeError as error:
        raise MalformedError(str(error)) from error


def _moment(data: memoryview) -> datetime | None:
    parts = dict(_fields(data))
    if not parts:
        return None  # Go's zero time
    seconds, nanos = _integer(parts.get(1, 0)), _integer(parts.get(2, 0))
    start = datetime(1970, 1, 1, tzinfo=UTC)
    return start + timedelta(seconds=seconds, microseconds=nanos // 1000)


def _time(data: memoryview) -> str | None:
    moment = _moment(data)
    return None if moment is None else f"{moment.year:04}{moment:-%m-%dT%H:%M:%SZ}"


def _micro_time(data: memoryview) -> str | None:
    moment = _moment(data)
    return None if moment is None else f"{moment.year:04}{moment:-%m-%dT%H:%M:%S.%fZ}"


def _duration(data: memoryview) -> str:
    nanos = _integer(dict(_fields(data)).get(1, 0))
    return f"{nanos / 1e9:g}s"


def _quantity(data: memoryview) -> str:
    return _name(dict(_fields(data)).get(1, b"")) or "0"


def _int_or_string(data: memoryview) -> int | str:
    parts = dict(_fields(data))
    if parts.get(1, 0) == 1:
        return _name(parts.get(3, b""))
    return _integer(parts.get(2, 0))


def _raw(data: memoryview) -> Any:
    raw = bytes(_view(dict(_fields(data)).get(1, b"")))
    return decode.parse_json(raw) if raw else None


def _strings(data: memoryview) -> list[str]:
    return [_name(value) for _, value in _fields(data)]


_SPECIAL: Final[dict[str, Callable[[memoryview], Any]]] = {
    "s": _text,
    "y": _base64,
    "d": _double,
    "T": _time,
    "U": _micro_time,
    "N": _duration,
    "Q": _quantity,
    "O": _int_or_string,
    "R": _raw,
    "L": _strings,
}
