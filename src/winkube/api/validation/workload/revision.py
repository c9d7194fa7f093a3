"""ControllerRevisions: a number and a document that never changes."""

from winkube.api.validation.common import check_immutable, check_nonnegative
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject


def validate_revision(obj: JsonObject, problems: Problems) -> None:
    check_nonnegative(obj.get("revision"), "revision", problems)
    data = obj.get("data")
    if data is None:
        problems.required("data", "data is mandatory")
    elif not isinstance(data, dict):
        problems.required("data", "data must be a valid JSON object")


def validate_revision_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    check_nonnegative(new.get("revision"), "revision", problems)
    check_immutable(new.get("data"), old.get("data"), "data", problems)
