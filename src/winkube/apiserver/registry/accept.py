"""From a client's document to a candidate object: right kind, known fields, defaults filled in.

Controllers make pods by the hundred from one template, so what becomes of a pod's spec is
remembered by its text: the same text has the same outcome.
"""

import functools
from typing import Any, Final

import orjson

from winkube.api.defaulting.pod import default_pod_status
from winkube.api.defaults import apply_defaults
from winkube.api.fields import FieldReport, check_fields
from winkube.api.kinds import Kind
from winkube.api.roundtrip import round_trip
from winkube.api.schema import Schema
from winkube.apiserver.body import may_repeat_keys
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.plain import is_plain
from winkube.apiserver.typed import check_type, header_fault, unrecognized
from winkube.base.types import JsonObject

_REMEMBERED: Final = 512
_MAX_REMEMBERED_BYTES: Final = 16 * 1024
Completed = tuple[bytes, str]  # the spec as text, and the pod's quality of service


def accept(
    schema: Schema,
    kind: Kind,
    document: Any,
    options: WriteOptions,
    *,
    raw: bytes = b"",
    converting: bool = False,
) -> JsonObject:
    """The object ready for the registry; BadRequestError with upstream's sentence otherwise."""
    document = {} if document is None else document
    fault = header_fault(document)
    if fault is not None:
        raise unrecognized(kind.kind, fault, raw)
    obj: JsonObject = document
    check_type(kind, obj)
    completed = _remembered_spec(schema, kind, obj, raw)
    if completed is not None:
        obj["spec"] = {}
        options.spec_text = completed[0]
    if completed is None or not is_plain(obj):
        report = _report(schema, kind, obj, options, raw if completed is None else b"")
        # What a patch made has lost the order its author wrote it in.
        _judge(report, kind, options, converting=converting, ordered=not raw)
        round_trip(schema, kind, obj)
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
    text = orjson.dumps(spec)
    if len(text) >= _MAX_REMEMBERED_BYTES:
        return None
    if raw and may_repeat_keys(raw, {**obj, "spec": 0}, len(text) - 1):
        return None
    return _completed_spec(schema, kind, text)


@functools.lru_cache(maxsize=_REMEMBERED)
def _completed_spec(schema: Schema, kind: Kind, text: bytes) -> Completed | None:
    """Checked, pruned and with defaults; None when there is something to say about it."""
    obj: JsonObject = {"metadata": {}, "spec": orjson.loads(text)}
    if not check_fields(schema, kind, obj).clean:
        return None
    round_trip(schema, kind, obj)
    apply_defaults(kind, obj)
    return orjson.dumps(obj["spec"]), obj["status"]["qosClass"]


def _report(
    schema: Schema, kind: Kind, obj: JsonObject, options: WriteOptions, raw: bytes
) -> FieldReport:
    look = options.field_validation != "Ignore" and raw and may_repeat_keys(raw, obj)
    return check_fields(schema, kind, obj, raw=raw if look else None)


def _judge(
    report: FieldReport, kind: Kind, options: WriteOptions, *, converting: bool, ordered: bool
) -> None:
    if report.clean:
        return
    error = report.type_error(kind, converting=converting)
    if error is None and options.field_validation == "Strict":
        error = report.strict_error(kind)
    if error is not None:
        raise error
    if options.field_validation == "Warn":
        if ordered:
            report.unknown.sort()
        options.warnings.extend(report.strict_messages())
