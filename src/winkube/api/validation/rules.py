"""The two entry points: which checks run for which kind, on create and on update."""

from collections.abc import Callable
from typing import Final

from winkube.api.errors import Cause
from winkube.api.kinds import Kind
from winkube.api.meta import metadata
from winkube.api.validation.metadata import validate_metadata, validate_metadata_update
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

Create = Callable[[JsonObject, Problems], None]
Update = Callable[[JsonObject, JsonObject, Problems], None]

_CREATE: Final[dict[tuple[str, str], Create]] = {}
_UPDATE: Final[dict[tuple[str, str], Update]] = {}


def validate_create(kind: Kind, obj: JsonObject) -> list[Cause]:
    """Every problem of an object that is complete: defaulted, named, with its namespace."""
    problems = Problems()
    validate_metadata(kind, obj.get("metadata"), problems)
    check = _CREATE.get((kind.group, kind.kind))
    if check is not None:
        check(obj, problems)
    return problems.causes


def validate_update(kind: Kind, new: JsonObject, old: JsonObject) -> list[Cause]:
    problems = Problems()
    validate_metadata(kind, new.get("metadata"), problems)
    validate_metadata_update(metadata(new), metadata(old), problems)
    check = _CREATE.get((kind.group, kind.kind))
    if check is not None:
        check(new, problems)
    change = _UPDATE.get((kind.group, kind.kind))
    if change is not None:
        change(new, old, problems)
    return problems.causes
