"""Namespaces."""

from winkube.api import names
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_NEITHER = "name is neither a standard finalizer name nor is it fully qualified"
_STANDARD = ("orphan", "foregroundDeletion", "kubernetes")


def validate_namespace(obj: JsonObject, problems: Problems) -> None:
    for finalizer in (obj.get("spec") or {}).get("finalizers") or ():
        _check_finalizer(finalizer, "spec.finalizers", problems)


def _check_finalizer(finalizer: str, path: str, problems: Problems) -> None:
    problems.all_invalid(path, finalizer, names.label_key_problems(finalizer))
    if "/" not in finalizer and finalizer not in _STANDARD:
        problems.invalid(path, finalizer, _NEITHER)


def validate_namespace_finalize(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    for index, finalizer in enumerate((new.get("spec") or {}).get("finalizers") or ()):
        _check_finalizer(finalizer, f"spec.finalizers[{index}]", problems)


def validate_namespace_status(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    phase = (new.get("status") or {}).get("phase") or ""
    going = bool(new["metadata"].get("deletionTimestamp"))
    right, when = ("Terminating", "not empty") if going else ("Active", "empty")
    if phase != right:
        text = f"may only be '{right}' if `deletionTimestamp` is {when}"
        problems.invalid_enum("status.Phase", phase, text)
