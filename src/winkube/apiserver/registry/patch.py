"""Patch: read, change, and update; again from the start when somebody else was quicker."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from winkube.api.decode import MalformedError, clone, in_order, parse_json
from winkube.api.errors import (
    BadRequestError,
    Cause,
    InvalidError,
    UndecodableError,
    UnsupportedMediaTypeError,
)
from winkube.api.fields import check_fields, repeated_keys
from winkube.api.go.text import object_text, printed, quoted
from winkube.api.go.written import plain_numbers, plain_objects, read_written
from winkube.api.kinds import Kind
from winkube.api.patch import json_name, json_patch, merge_into, strategic_merge
from winkube.api.schema import Schema
from winkube.apiserver.body import may_repeat_keys
from winkube.apiserver.item import Item
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.accept import PatchNotes, accept
from winkube.apiserver.registry.core import Registry, get
from winkube.apiserver.registry.turns import ATTEMPTS
from winkube.apiserver.registry.update import (
    STATUS,
    WHOLE,
    ModifiedError,
    Part,
    Read,
    require_place,
    served_form,
    update,
)
from winkube.apiserver.served import Served
from winkube.base.types import JsonObject

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
_MAP: Final = "Go value of type map[string]interface {}"
# Perhaps a number whose spelling matters. Texts that only look like one do no harm but take time,
# and many begin like one: addresses, uids, versions.
_ODD_NUMBER: Final = re.compile(rb"[:\[,\s]-?(?:\d+[.eE]|\d{19})")
_POD: Final = ("", "v1", "Pod")
_REPORTED: Final = frozenset({"kind", "apiVersion", "metadata", "status"})
_NOTHING: Final[JsonObject] = {}
_OPERATION: Final = frozenset({"op", "path", "from", "value"})


@dataclass(frozen=True, slots=True)
class Patch:
    """A change that was read and can be made to any state of an object."""

    media: str
    document: Any
    repeated: tuple[str, ...] = ()  # what strict reading finds in the patch itself
    written: bool = False  # numbers know how they were spelt

    def change(self, schema: Schema, kind: Kind, doc: JsonObject) -> JsonObject:
        """The document with the change; itself it is of no use any more."""
        if self.media == JSON_PATCH:
            return _object(json_patch(doc, self.document))
        if self.media == MERGE_PATCH:
            return _object(merge_into(doc, self.document))
        wanted = {key: self.document[key] for key in self.document if key not in _TYPE}
        return strategic_merge(schema, kind, doc, wanted)

    def is_report(self, kind: Kind, old: JsonObject) -> bool:
        """Whether it can change nothing but a pod's status, as what kubelets write all day."""
        if kind.gvk != _POD or self.media == JSON_PATCH or self.written:
            return False
        said = self.document.get("metadata", _NOTHING)
        return (
            self.document.keys() <= _REPORTED
            and type(self.document.get("status")) is dict
            and (said == _NOTHING or said == {"uid": old["metadata"]["uid"]})
        )

    @property
    def converts(self) -> bool:
        """Made to the object as a tree, not to its text."""
        return self.media == STRATEGIC_PATCH

    def refusal(self, patched: str, fault: str) -> InvalidError:
        shown = printed(self.document) if self.converts else patched
        message = f"Invalid value: {quoted(shown)}: {fault}"
        return InvalidError.of("", "", [Cause("FieldValueInvalid", message, "patch")])


_TYPE: Final = ("kind", "apiVersion")


def require_patch(media: str) -> None:
    if media not in (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH):
        raise UnsupportedMediaTypeError("415: Unsupported Media Type", details={})


def read_patch(media: str, raw: bytes) -> Patch:
    """The patch in a body; the document is checked once."""
    prefix = "" if media == STRATEGIC_PATCH else "error decoding patch: "
    try:
        document = parse_json(raw)
    except MalformedError as error:
        raise BadRequestError(prefix + error.fault) from error
    if media != JSON_PATCH and not isinstance(document, dict):
        if document is None:
            raise BadRequestError("Invalid JSON Patch")
        raise BadRequestError(f"{prefix}json: cannot unmarshal {json_name(document)} into {_MAP}")
    text = read_written(raw) if may_repeat_keys(raw, document) else None
    remarks = tuple(_remarks(media, document, text))
    if media == STRATEGIC_PATCH or not _ODD_NUMBER.search(raw):
        return Patch(media, document, remarks)
    spelt = plain_objects(read_written(raw) if text is None else text)
    return Patch(media, spelt, remarks, written=True)


def _remarks(media: str, document: Any, text: Any) -> list[str]:
    prefix = "json patch " if media == JSON_PATCH else ""
    remarks = []
    if media == JSON_PATCH and isinstance(document, list):
        remarks = [
            f'{prefix}unknown field "[{index}].{key}"'
            for index, operation in enumerate(document)
            if isinstance(operation, dict)
            for key in operation
            if key not in _OPERATION
        ]
    remarks += [f'{prefix}duplicate field "{path}"' for path in repeated_keys(text)]
    return remarks


def _object(value: Any) -> JsonObject:
    if not isinstance(value, dict):
        raise BadRequestError(f"json: cannot unmarshal {json_name(value)} into {_MAP}")
    return value


async def patch(
    registry: Registry,
    served: Served,
    place: tuple[str, str],
    wanted: Patch,
    options: WriteOptions,
    part: Part = WHOLE,
) -> Item:
    key = served.key(*place)
    for attempt in range(ATTEMPTS):
        async with registry.turns.take(key, attempt):
            item = get(served, *place)
            old = await registry.work(options, served_form, served, item)
            options.warnings.clear()
            new = await registry.work(
                options, _made, registry, served, Read(item, old), wanted, options, part
            )
            require_place(new, place)
            try:
                return await update(registry, served, Read(item, old), new, options, part)
            except ModifiedError:
                if attempt == ATTEMPTS - 1:
                    raise
    raise AssertionError("the loop returns or raises")


def _made(
    registry: Registry,
    served: Served,
    found: Read,
    wanted: Patch,
    options: WriteOptions,
    part: Part,
) -> JsonObject:
    """What the patch makes of an object; of a report, nothing else is copied or looked at."""
    if part is not STATUS or not wanted.is_report(served.kind, found.obj):
        return patched(registry, served.kind, served_form(served, found.item), wanted, options)
    old = found.obj
    kept = {"metadata": _copied(old["metadata"]), "spec": old["spec"]}
    draft = {**old, **kept, "status": orjson.loads(orjson.dumps(old.get("status")))}
    return patched(registry, served.kind, draft, wanted, options, kept)


def _copied(metadata: JsonObject) -> JsonObject:
    """Down to texts and to trees of fields, which nobody changes."""
    return {
        key: dict(value)
        if type(value) is dict
        else [dict(entry) if type(entry) is dict else entry for entry in value]
        if type(value) is list
        else value
        for key, value in metadata.items()
    }


def patched(
    registry: Registry,
    kind: Kind,
    old: JsonObject,
    wanted: Patch,
    options: WriteOptions,
    kept: Mapping[str, Any] | None = None,
) -> JsonObject:
    """The object as the patch makes it, read as an object of its kind.

    ``kept`` are sections that the patch leaves alone: they were checked when they came.
    """
    new = wanted.change(registry.schema, kind, old)
    shown = object_text(plain_numbers(clone(new))) if wanted.written else ""
    notes = PatchNotes(wanted.repeated, wanted.converts, wanted.written, kept or {})
    try:
        return accept(registry.schema, kind, new, options, patch=notes)
    except UndecodableError as error:
        fault = error.fault
        if wanted.media == MERGE_PATCH:  # which is read again with its keys in order
            first = check_fields(registry.schema, kind, in_order(new)).type_error(kind)
            fault = first.fault if first is not None else fault
        raise wanted.refusal(shown or object_text(new), fault) from error
