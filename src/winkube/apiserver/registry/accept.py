"""From a client's document to a candidate object: right kind, known fields, defaults filled in.

Controllers make pods by the hundred from one template, so what becomes of a pod's spec is
remembered by its text: the same text has the same outcome.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from winkube.api.convert import convert_numbers
from winkube.api.defaulting.pod import default_beside_spec
from winkube.api.defaults import apply_defaults
from winkube.api.fields import FieldReport, check_fields
from winkube.api.go.written import plain_numbers, plain_objects, read_written
from winkube.api.kinds import Kind
from winkube.api.plain import complete_plain
from winkube.api.roundtrip import gives_empty, round_trip
from winkube.api.schema import Schema
from winkube.apiserver.body import may_repeat_keys
from winkube.apiserver.form.typed import check_type, header_fault, unrecognized
from winkube.apiserver.media.yaml_document import YamlObject
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.protobuf.order import in_struct_order
from winkube.base.types import JsonObject

_REMEMBERED: Final = 512
_MAX_REMEMBERED_BYTES: Final = 16 * 1024


@dataclass(frozen=True, slots=True)
class PatchNotes:
    """What was said about a document before it became an object."""

    remarks: Sequence[str] = ()  # keys written twice, in the words of who read them
    converts: bool = False  # made of a tree, not of a text
    written: bool = False  # numbers know how they were spelt
    # Sections of a pod that are kept as they are: complete and checked.
    kept: Mapping[str, Any] = field(default_factory=dict)

    def as_error(self) -> Sequence[str]:
        """A reader of YAML says all of them at once."""
        if not self.remarks or not self.remarks[0].startswith("line "):
            return self.remarks
        return ["yaml: unmarshal errors:" + "".join(f"\n  {line}" for line in self.remarks)]


_NOTHING_SAID: Final = PatchNotes()


def accept(
    schema: Schema,
    kind: Kind,
    document: Any,
    options: WriteOptions,
    *,
    raw: bytes = b"",
    patch: PatchNotes | None = None,
) -> JsonObject:
    """The object ready for the registry; BadRequestError with upstream's sentence otherwise.

    ``raw`` is the text it was read from, ``patch`` what is known about the patch that made it.
    """
    notes = patch or _NOTHING_SAID
    document = {} if document is None else document
    fault = header_fault(document)
    if fault is not None:
        raise unrecognized(kind.kind, fault, raw)
    if isinstance(document, YamlObject):
        notes, document, raw = PatchNotes(document.repeated), dict(document), b""
    obj: JsonObject = document
    check_type(kind, obj)
    options.gives_empty, options.emptied = False, []
    completed = notes.kept
    if not completed and not notes.written:
        text = _remembered_spec(schema, kind, obj, raw)
        if text is not None:
            options.spec_text, completed, raw = text, {"spec": orjson.loads(text)}, b""
    # What is complete is not looked at: in its place there is nothing.
    obj = {**obj, **{section: {} for section in completed}}
    if not _is_known(schema, kind, obj, raw, notes):
        obj = _checked(schema, kind, obj, options, raw, notes)
    if obj.get("metadata") is None:
        obj["metadata"] = {}
    obj |= completed
    if "spec" in completed:
        default_beside_spec(obj)
    else:
        apply_defaults(kind, obj)
    return obj


def _is_known(schema: Schema, kind: Kind, obj: JsonObject, raw: bytes, notes: PatchNotes) -> bool:
    """Whether a look at every field would find nothing to say; then the object is complete."""
    if notes.remarks or notes.written or (raw and may_repeat_keys(raw, obj)):
        return False
    return complete_plain(schema, kind.gvk, obj)


def _checked(
    schema: Schema,
    kind: Kind,
    obj: JsonObject,
    options: WriteOptions,
    raw: bytes,
    notes: PatchNotes,
) -> JsonObject:
    """Known fields of the right types, in the form they are kept in."""
    if notes.converts:
        convert_numbers(schema, kind, obj)
    report, obj = _read(schema, kind, obj, raw)
    if notes.converts and report.type_errors:
        report = check_fields(schema, kind, in_struct_order(kind, obj))
    _judge(report, kind, options, notes, ordered=bool(raw))
    options.gives_empty = gives_empty(schema, kind, obj)
    options.emptied = round_trip(schema, kind, obj)
    return plain_numbers(obj) if report.needs_text or notes.written else obj


def _remembered_spec(schema: Schema, kind: Kind, obj: JsonObject, raw: bytes) -> bytes | None:
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
def _completed_spec(schema: Schema, kind: Kind, text: bytes) -> bytes | None:
    """Checked, pruned and with defaults; None when there is something to say about it."""
    obj: JsonObject = {"metadata": {}, "spec": orjson.loads(text)}
    if not complete_plain(schema, kind.gvk, obj):
        report = check_fields(schema, kind, obj)
        if not report.clean or report.needs_text:
            return None
        if any(each.told for each in round_trip(schema, kind, obj)):
            return None
    apply_defaults(kind, obj)
    return orjson.dumps(obj["spec"])


def _read(
    schema: Schema, kind: Kind, obj: JsonObject, raw: bytes
) -> tuple[FieldReport, JsonObject]:
    """What there is to say about the fields, and the object; from its text when that matters."""
    report = check_fields(schema, kind, obj)
    if not raw or (report.clean and not report.needs_text and not may_repeat_keys(raw, obj)):
        return report, obj
    text = read_written(raw)
    if not isinstance(text, dict):
        return report, obj
    report = check_fields(schema, kind, text)
    if report.needs_text:
        obj = plain_objects(text)
        check_type(kind, obj)
    return report, obj


def _judge(
    report: FieldReport, kind: Kind, options: WriteOptions, notes: PatchNotes, *, ordered: bool
) -> None:
    error = report.type_error(kind, converting=notes.converts)
    if error is not None:
        raise error
    if options.field_validation == "Ignore" or (report.clean and not notes.remarks):
        return
    if not ordered:  # what a patch made has lost the order its author wrote it in
        report.remarks.sort()
    if options.field_validation == "Strict":
        error = report.strict_error(kind, notes.as_error())
        if error is not None:
            raise error
    options.warnings.extend([*notes.remarks, *report.remarks])
