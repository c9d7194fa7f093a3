"""Conditions of the one form that newer kinds share (upstream: meta/v1/validation)."""

import re
from typing import Final

from winkube.api import names
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_STATUSES: Final = ("False", "True", "Unknown")
_MAX_REASON: Final = 1024
_MAX_MESSAGE: Final = 32 * 1024
_REASON: Final = r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_RE: Final = re.compile(_REASON)
_REASON_TEXT: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of "
    "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. "
    "'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex "
    f"used for validation is '{_REASON}')"
)


def check_conditions(conditions: list[JsonObject], path: str, problems: Problems) -> None:
    seen = set()
    for index, condition in enumerate(conditions):
        kind = condition.get("type") or ""
        if kind in seen:
            problems.duplicate(f"{path}[{index}].type", kind)
        seen.add(kind)
        _check(condition, f"{path}[{index}]", problems)


def _check(condition: JsonObject, path: str, problems: Problems) -> None:
    kind, status = condition.get("type") or "", condition.get("status") or ""
    problems.all_invalid(f"{path}.type", kind, names.label_key_problems(kind))
    if status not in _STATUSES:
        problems.unsupported(f"{path}.status", status, _STATUSES)
    generation = condition.get("observedGeneration") or 0
    if generation < 0:
        text = "must be greater than or equal to zero"
        problems.invalid(f"{path}.observedGeneration", generation, text)
    if not condition.get("lastTransitionTime"):
        problems.required(f"{path}.lastTransitionTime")
    reason = condition.get("reason") or ""
    if not reason:
        problems.required(f"{path}.reason")
    elif not _REASON_RE.fullmatch(reason):
        problems.invalid(f"{path}.reason", reason, _REASON_TEXT)
    if len(reason.encode()) > _MAX_REASON:
        problems.too_long(f"{path}.reason", _MAX_REASON)
    if len((condition.get("message") or "").encode()) > _MAX_MESSAGE:
        problems.too_long(f"{path}.message", _MAX_MESSAGE)
