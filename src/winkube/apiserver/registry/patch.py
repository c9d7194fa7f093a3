"""Patch: read, change, and update; again from the start when somebody else was quicker."""

from dataclasses import dataclass
from typing import Any, Final

from winkube.api.decode import MalformedError, parse_json
from winkube.api.errors import (
    BadRequestError,
    Cause,
    InvalidError,
    UndecodableError,
    UnsupportedMediaTypeError,
)
from winkube.api.fields import repeated_keys
from winkube.api.go_text import object_text, printed, quoted
from winkube.api.kinds import Kind
from winkube.api.patch import json_name, json_patch, merge_patch, strategic_merge
from winkube.api.schema import Schema
from winkube.apiserver.body import may_repeat_keys
from winkube.apiserver.conversion import to_served
from winkube.apiserver.item import Item
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.accept import accept
from winkube.apiserver.registry.core import Registry, get
from winkube.apiserver.registry.turns import ATTEMPTS
from winkube.apiserver.registry.update import WHOLE, ModifiedError, Part, update
from winkube.apiserver.served import Served
from winkube.base.types import JsonObject

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
_MAP: Final = "Go value of type map[string]interface {}"
_OPERATION: Final = frozenset({"op", "path", "from", "value"})


@dataclass(frozen=True, slots=True)
class Patch:
    """A change that was read and can be made to any state of an object."""

    media: str
    document: Any
    repeated: tuple[str, ...] = ()  # what strict reading finds in the patch itself

    def change(self, schema: Schema, kind: Kind, doc: JsonObject) -> JsonObject:
        if self.media == JSON_PATCH:
            return _object(json_patch(doc, self.document))
        if self.media == MERGE_PATCH:
            return _object(merge_patch(doc, self.document))
        wanted = {key: self.document[key] for key in self.document if key not in _TYPE}
        return strategic_merge(schema, kind, doc, wanted)

    @property
    def converts(self) -> bool:
        """Made to the object as a tree, not to its text."""
        return self.media == STRATEGIC_PATCH

    def refusal(self, patched: str, fault: str) -> InvalidError:
        shown = printed(self.document) if self.converts else patched
        message = f"Invalid value: {quoted(shown)}: {fault}"
        return InvalidError.of("", "", [Cause("FieldValueInvalid", message, "patch")])


_TYPE: Final = ("kind", "apiVersion")


def read_patch(media: str, raw: bytes) -> Patch:
    """The patch in a body; the document is checked once."""
    if media not in (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH):
        raise UnsupportedMediaTypeError("415: Unsupported Media Type", details={})
    prefix = "" if media == STRATEGIC_PATCH else "error decoding patch: "
    try:
        document = parse_json(raw)
    except MalformedError as error:
        raise BadRequestError(prefix + error.fault) from error
    if media != JSON_PATCH and not isinstance(document, dict):
        if document is None:
            raise BadRequestError("Invalid JSON Patch")
        raise BadRequestError(f"{prefix}json: cannot unmarshal {json_name(document)} into {_MAP}")
    return Patch(media, document, tuple(_remarks(media, document, raw)))


def _remarks(media: str, document: Any, raw: bytes) -> list[str]:
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
    if may_repeat_keys(raw, document):
        remarks += [f'{prefix}duplicate field "{path}"' for path in repeated_keys(raw)]
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
            old = to_served(served, item.load())
            options.warnings.clear()
            new = patched(registry, served.kind, old, wanted, options)
            try:
                return await update(registry, served, item, new, options, part)
            except ModifiedError:
                if attempt == ATTEMPTS - 1:
                    raise
    raise AssertionError("the loop returns or raises")


def patched(
    registry: Registry, kind: Kind, old: JsonObject, wanted: Patch, options: WriteOptions
) -> JsonObject:
    """The object as the patch makes it, read as an object of its kind."""
    new = wanted.change(registry.schema, kind, old)
    managers = (
        new["metadata"].get("managedFields") if isinstance(new.get("metadata"), dict) else None
    )
    options.resets_managers = managers in ([], [{}])
    remarks = () if options.field_validation == "Ignore" else wanted.repeated
    if remarks and options.field_validation == "Strict":
        fault = f"strict decoding error: {', '.join(remarks)}"
        raise wanted.refusal(object_text(new), fault)
    try:
        new = accept(registry.schema, kind, new, options, converting=wanted.converts)
    except UndecodableError as error:
        raise wanted.refusal(object_text(new), error.fault) from error
    options.warnings.extend(remarks)
    return new
