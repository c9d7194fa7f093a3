"""Bindings of admission policies (upstream: pkg/apis/admissionregistration/validation)."""

from typing import Final

from winkube.api import names
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_ACTIONS: Final = ("Audit", "Deny", "Warn")


def validate_policy_binding(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    name, path = spec.get("policyName") or "", "spec.policyName"
    if not name:
        problems.required(path)
    else:
        problems.all_invalid(path, name, names.dns_subdomain_problems(name))
    _check_actions(spec.get("validationActions") or [], "spec.validationActions", problems)


def _check_actions(actions: list[str], path: str, problems: Problems) -> None:
    if not actions:
        problems.required(path, "at least one validation action is required")
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            problems.unsupported(f"{path}[{index}]", action, _ACTIONS)
        if action in actions[:index]:
            problems.duplicate(f"{path}[{index}]", action)
    if {"Deny", "Warn"} <= set(actions):
        text = "must not contain both Deny and Warn (repeating the same validation failure)"
        problems.invalid(path, actions, text)
