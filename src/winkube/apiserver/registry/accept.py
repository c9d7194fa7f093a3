"""From a client's document to a candidate object: right kind, known fields, defaults filled in.

Controllers make pods by the hundred from one template, so what becomes of a pod's spec is
remembered by its text: the same text has the same outcome.
"""

import functools
from typing import Any, Final

import orjson

from winkube.api.defaulting.pod import default_pod_status
from winkube.api.defaults import apply_defaults
from winkube.api.errors import BadRequestError
from winkube.api.fields import check_fields
from winkube.api.kinds import Kind
from winkube.api.roundtrip import round_trip
from winkube.api.schema import Schema
from winkube.apiserver.body import may_repeat_keys
from winkube.apiserver.options import WriteOptions
from winkube.base.types import JsonObject

_REMEMBERED: Final = 512
_MAX_REMEMBERED_BYTES: Final = 16 * 1024
Completed = tuple[bytes, str]  # the spec as text, and the pod's quality of service


def accept(
    schema: Schema, kind: Kind, document: Any, options: WriteOptions, *, raw: bytes = b""
) -> JsonObject:
    """The object ready for the registry; BadRequestError with upstream's sentence otherwise."""
    if not isinstance(document, dict):
        raise BadRequestError(
            f"the object provided is unrecognized (must be of type {kind.kind}): couldn't get "
            "version/kind; json parse error: json: cannot unmarshal "
            f"{_go_type(document)} into Go value of type struct "
            '{ APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string '
            '"json:\\"kind,omitempty\\"" }'
        )
    obj: JsonObject = document
    _check_type(kind, obj)
    completed = _remembered_spec(schema, kind, obj, raw)
    if completed is not None:
        obj["spec"] = {}
    _check_fields(schema, kind, obj, options, raw if completed is None else b"")
    if obj.get("metadata") is None:
        obj["metadata"] = {}
    if completed is None:
        apply_defaults(kind, obj)
    else:
        obj["spec"] = orjson.loads(completed[0])
        default_pod_status(obj, completed[1])
    return obj


def _remembered_spec(schema: Schema, kind: Kind, obj: JsonObject, raw: bytes) -> Completed | None:
    """The completed spec of a pod; None for whatever has to go the long way."""
    spec = obj.get("spec")
    if kind.kind != "Pod" or kind.group or type(spec) is not dict:
        return None
    if raw and may_repeat_keys(raw, obj):
        return None
    text = orjson.dumps(spec)
    return _completed_spec(schema, kind, text) if len(text) < _MAX_REMEMBERED_BYTES else None


@functools.lru_cache(maxsize=_REMEMBERED)
def _completed_spec(schema: Schema, kind: Kind, text: bytes) -> Completed | None:
    """Checked, pruned and with defaults; None when there is something to say about it."""
    obj: JsonObject = {"metadata": {}, "spec": orjson.loads(text)}
    if not check_fields(schema, kind, obj).clean:
        return None
    round_trip(schema, kind, obj)
    apply_defaults(kind, obj)
    return orjson.dumps(obj["spec"]), obj["status"]["qosClass"]


def _check_type(kind: Kind, obj: JsonObject) -> None:
    found = obj.get("kind") or kind.kind
    version = obj.get("apiVersion") or kind.api_version
    if not isinstance(found, str) or not isinstance(version, str):
        raise BadRequestError(
            f"the object provided is unrecognized (must be of type {kind.kind}): couldn't get "
            "version/kind; json parse error: json: cannot unmarshal object into Go struct field"
            " .kind of type string"
        )
    if found != kind.kind:
        raise BadRequestError(
            f'{found} in version "{version}" cannot be handled as a {kind.kind}: '
            f'no kind "{found}" is registered for the {kind.plural} resource'
        )
    if version != kind.api_version:
        raise BadRequestError(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({kind.api_version})"
        )
    obj["kind"], obj["apiVersion"] = kind.kind, kind.api_version


def _check_fields(
    schema: Schema, kind: Kind, obj: JsonObject, options: WriteOptions, raw: bytes
) -> None:
    look = options.field_validation != "Ignore" and raw and may_repeat_keys(raw, obj)
    report = check_fields(schema, kind, obj, raw=raw if look else None)
    if not report.clean:
        error = report.type_error(kind)
        if error is None and options.field_validation == "Strict":
            error = report.strict_error(kind)
        if error is not None:
            raise error
        if options.field_validation == "Warn":
            options.warnings.extend(report.strict_messages())
    round_trip(schema, kind, obj)


def _go_type(value: Any) -> str:
    names = {list: "array", str: "string", int: "number", float: "number", bool: "bool"}
    return names.get(type(value), "null")
