"""The OpenAPI v2 document in protobuf, the only form older kubectl ask for.

Field numbers are those of gnostic's openapiv2 messages (google/gnostic-models).
"""

from collections.abc import Iterable
from typing import Any, Final

import orjson

from winkube.base.types import JsonObject

MEDIA: Final = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
# Servers since 1.27 name it without the at sign, and clients may ask for either.
_OTHER: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
MEDIA_NAMES: Final = frozenset({MEDIA, _OTHER})

_METHODS: Final = {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _text(number: int, value: Any) -> bytes:
    return _field(number, value.encode()) if value else b""


def _flag(number: int, *, value: bool) -> bytes:
    return _varint(number << 3) + b"\x01" if value else b""


def _named(number: int, name: str, value: bytes) -> bytes:
    return _field(number, _text(1, name) + _field(2, value))


def _extensions(number: int, node: JsonObject) -> bytes:
    """Vendor extensions travel as YAML text, of which JSON is a part."""
    return b"".join(
        _named(number, key, _text(2, orjson.dumps(value).decode()))
        for key, value in node.items()
        if key.startswith("x-")
    )


def to_protobuf(document: JsonObject) -> bytes:
    info = document["info"]
    paths = (_named(2, path, _path_item(item)) for path, item in sorted(document["paths"].items()))
    return b"".join(
        (
            _text(1, document["swagger"]),
            _field(2, _text(1, info["title"]) + _text(2, info["version"])),
            _field(8, b"".join(paths)),
            _field(9, _schemas(document["definitions"].items())),
        )
    )


def _path_item(item: JsonObject) -> bytes:
    operations = (_field(n, _operation(item[m])) for m, n in _METHODS.items() if m in item)
    return b"".join(operations) + _parameters(9, item.get("parameters") or ())


def _operation(operation: JsonObject) -> bytes:
    responses = (
        _named(1, code, _field(1, _response(response)))
        for code, response in (operation.get("responses") or {}).items()
    )
    return b"".join(
        (
            *(_text(1, tag) for tag in operation.get("tags") or ()),
            _text(5, operation.get("operationId")),
            *(_text(7, media) for media in operation.get("consumes") or ()),
            _parameters(8, operation.get("parameters") or ()),
            _field(9, b"".join(responses)),
            _extensions(13, operation),
        )
    )


def _response(response: JsonObject) -> bytes:
    schema = response.get("schema")
    shown = _field(2, _field(1, _schema(schema))) if schema else b""
    return _text(1, response.get("description")) + shown


def _parameters(number: int, parameters: Iterable[JsonObject]) -> bytes:
    return b"".join(_field(number, _parameter(entry)) for entry in parameters)


# Where a parameter stands: the number of its message, and of the type in it.
_PLACES: Final = {"header": (1, 5), "formData": (2, 6), "query": (3, 6), "path": (4, 5)}


def _parameter(entry: JsonObject) -> bytes:
    """Other servers describe theirs too, with as little as the specification demands."""
    if "$ref" in entry:
        return _field(2, _text(1, entry["$ref"]))
    name, place = entry["name"], entry["in"]
    required = bool(entry.get("required"))
    if place == "body":
        body = _text(2, name) + _text(3, place) + _flag(4, value=required)
        return _field(1, _field(1, body + _field(5, _schema(entry.get("schema") or {}))))
    number, type_number = _PLACES[place]
    common = _flag(1, value=required) + _text(2, place) + _text(4, name)
    shown = common + _text(type_number, entry.get("type"))
    return _field(1, _field(2, _field(number, shown)))


def _schemas(schemas: Iterable[tuple[str, JsonObject]]) -> bytes:
    return b"".join(_named(1, name, _schema(schema)) for name, schema in schemas)


def _schema(schema: JsonObject) -> bytes:
    parts = [
        _text(1, schema.get("$ref")),
        _text(2, schema.get("format")),
        _text(4, schema.get("description")),
        *(_text(19, name) for name in schema.get("required") or ()),
    ]
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        parts.append(_field(21, _field(1, _schema(extra))))
    if schema.get("type"):
        parts.append(_field(22, _text(1, schema["type"])))
    if "items" in schema:
        parts.append(_field(23, _field(1, _schema(schema["items"]))))
    if "properties" in schema:
        parts.append(_field(25, _schemas(schema["properties"].items())))
    parts.append(_extensions(31, schema))
    return b"".join(parts)
