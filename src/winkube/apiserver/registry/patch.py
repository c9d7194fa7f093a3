"""Patch: read, change, and update; again from the start when somebody else was quicker."""

from collections.abc import Callable
from typing import Any, Final

from winkube.api.errors import BadRequestError, UnsupportedMediaTypeError
from winkube.api.kinds import Kind
from winkube.api.patch import json_patch, merge_patch, strategic_merge
from winkube.api.schema import Schema
from winkube.apiserver.conversion import to_served
from winkube.apiserver.item import Item
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.accept import accept
from winkube.apiserver.registry.core import Registry, get
from winkube.apiserver.registry.update import WHOLE, ModifiedError, Part, update
from winkube.apiserver.served import Served
from winkube.base.types import JsonObject

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
_ATTEMPTS: Final = 6  # upstream's MaxRetryWhenPatchConflicts, and the first

Patcher = Callable[[JsonObject], JsonObject]


def patcher(schema: Schema, kind: Kind, media: str, patch: Any) -> Patcher:
    """The change a patch of this media type makes; the document is checked once."""
    if media == JSON_PATCH:
        return lambda doc: _object(json_patch(doc, patch))
    if media == MERGE_PATCH:
        wanted = _object(patch)
        return lambda doc: _object(merge_patch(doc, wanted))
    if media == STRATEGIC_PATCH:
        wanted = _object(patch)
        return lambda doc: strategic_merge(schema, kind, doc, wanted)
    raise UnsupportedMediaTypeError(
        "the body of the request was in an unknown format - accepted media types include: "
        f"{JSON_PATCH}, {MERGE_PATCH}, {STRATEGIC_PATCH}, {APPLY_PATCH}"
    )


def _object(value: Any) -> JsonObject:
    if not isinstance(value, dict):
        raise BadRequestError("error decoding patch: json: cannot unmarshal into an object")
    return value


async def patch(
    registry: Registry,
    served: Served,
    place: tuple[str, str],
    change: Patcher,
    options: WriteOptions,
    part: Part = WHOLE,
) -> Item:
    for attempt in range(_ATTEMPTS):
        item = get(served, *place)
        old = to_served(served, item.load())
        new = change(old)
        options.warnings.clear()
        new = accept(registry.schema, served.kind, new, options)
        try:
            return await update(registry, served, item, new, options, part)
        except ModifiedError:
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("the loop returns or raises")
