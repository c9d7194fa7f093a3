"""Schema definitions in the dialect of OpenAPI: other references, no nulls, no type lists."""

from collections.abc import Iterable
from typing import Any, Final

from winkube.api.schema import Schema
from winkube.base.types import JsonObject

_REF: Final = "#/$defs/"
V2_REF: Final = "#/definitions/"
V3_REF: Final = "#/components/schemas/"
# The validation schemas spell these as unions; OpenAPI has a form for them.
_PLAIN: Final[dict[str, JsonObject]] = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "type": "string",
        "format": "int-or-string",
    },
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string"},
}
_PLAIN_V3: Final[dict[str, JsonObject]] = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {
        "oneOf": [{"type": "string"}, {"type": "number"}],
    },
}


def closure(schema: Schema, names: Iterable[str]) -> list[str]:
    """These definitions and all they refer to, sorted."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found and name in schema.definitions:
            found.add(name)
            waiting += _references(schema.definitions[name])
    return sorted(found)


def _references(node: Any) -> list[str]:
    found: list[str] = []
    if isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str):
            found.append(reference.removeprefix(_REF))
        for child in node.values():
            found += _references(child)
    elif isinstance(node, list):
        for child in node:
            found += _references(child)
    return found


def to_definition(schema: Schema, name: str, prefix: str) -> JsonObject:
    raw = schema.definitions[name]
    plain = (_PLAIN_V3 if prefix == V3_REF else _PLAIN).get(name)
    if plain is not None:
        text = raw.get("description")
        return {**({"description": text} if text else {}), **plain}
    return _schema(raw, prefix)


def _schema(raw: JsonObject, prefix: str) -> JsonObject:
    result: JsonObject = {}
    for key, value in raw.items():
        if key == "type":
            result[key] = _single(value)
        elif key == "properties":
            result[key] = {name: _schema(child, prefix) for name, child in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            result[key] = _schema(value, prefix)
        elif key == "enum":
            continue  # apiVersion and kind are fixed in the validation schemas only
        elif key in ("oneOf", "anyOf", "allOf"):
            result[key] = [_schema(child, prefix) for child in value]
        elif key == "$ref":
            _refer(result, prefix + value.removeprefix(_REF), prefix)
        else:
            result[key] = value
    if prefix == V2_REF and "oneOf" in result:
        del result["oneOf"]
    return result


def _refer(result: JsonObject, reference: str, prefix: str) -> None:
    """In v3 nothing may stand beside a reference, so it is wrapped (upstream does the same)."""
    if prefix == V3_REF:
        result["allOf"] = [{"$ref": reference}]
        result["default"] = {}
    else:
        result["$ref"] = reference


def _single(kinds: Any) -> Any:
    if not isinstance(kinds, list):
        return kinds
    return next((kind for kind in kinds if kind != "null"), "object")
