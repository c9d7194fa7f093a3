"""Admission policies and their bindings (upstream: pkg/apis/admissionregistration/validation).

Expressions are not compiled: a policy whose expressions do not compile is found out by upstream's
server, not here.
"""

import re
from typing import Final

from winkube.api import names
from winkube.api.validation.common import check_selector
from winkube.api.validation.problems import Problems
from winkube.api.validation.server.webhooks import check_rule
from winkube.base.types import JsonObject

_ACTIONS: Final = ("Audit", "Deny", "Warn")
_FAILURE: Final = ("Fail", "Ignore")
_MATCH: Final = ("Equivalent", "Exact")
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_MAX_CONDITIONS: Final = 64
_MAX_ANNOTATIONS: Final = 20
_IDENTIFIER: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED: Final = frozenset(
    {
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for",
        "function", "if", "import", "let", "loop", "package", "namespace", "return", "var", "void",
        "while",
    }
)  # fmt: skip
_NOT_EMPTY: Final = "must be non-empty if specified"
_SOMETHING: Final = "validations or auditAnnotations must contain at least one item"


def validate_policy(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    if spec.get("failurePolicy") not in _FAILURE:
        problems.unsupported("spec.failurePolicy", spec.get("failurePolicy"), _FAILURE)
    if spec.get("paramKind") is not None:
        _check_param_kind(spec["paramKind"], "spec.paramKind", problems)
    constraints, path = spec.get("matchConstraints"), "spec.matchConstraints"
    if constraints is None:
        problems.required(path)
    else:
        _check_match(constraints, path, problems)
        if not constraints.get("resourceRules"):
            problems.required(f"{path}.resourceRules")
    _check_conditions(spec.get("matchConditions") or [], "spec.matchConditions", problems)
    for index, variable in enumerate(spec.get("variables") or ()):
        _check_variable(variable, f"spec.variables[{index}]", problems)
    _check_demands(obj["metadata"].get("name") or "", spec, problems)


def _check_demands(name: str, spec: JsonObject, problems: Problems) -> None:
    validations, notes = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not notes:
        for field in ("validations", "auditAnnotations"):
            problems.required(f"spec.{field}", _SOMETHING)
        return
    for index, validation in enumerate(validations):
        _check_validation(validation, f"spec.validations[{index}]", problems)
    if len(notes) > _MAX_ANNOTATIONS:
        text = f"must not have more than {_MAX_ANNOTATIONS} auditAnnotations"
        problems.invalid("spec.auditAnnotations", notes, text)
    seen: set[str] = set()
    for index, note in enumerate(notes):
        path, key = f"spec.auditAnnotations[{index}]", note.get("key") or ""
        full = f"{name}/{key}"
        problems.all_invalid(f"{path}.key", full, names.label_key_problems(full))
        if not (note.get("valueExpression") or "").strip():
            problems.required(f"{path}.valueExpression", "valueExpression is not specified")
        if key in seen:
            problems.duplicate(f"{path}.key", key)
        seen.add(key)


def _check_param_kind(kind: JsonObject, path: str, problems: Problems) -> None:
    version = kind.get("apiVersion") or ""
    here = f"{path}.apiVersion"
    if not version:
        problems.required(here)
    elif version.count("/") > 1:
        problems.invalid(here, version, f"unexpected GroupVersion string: {version}")
    else:
        _check_group_version(version, here, problems)
    name = kind.get("kind") or ""
    if not name:
        problems.required(f"{path}.kind")
        return
    details = names.dns_1035_label_problems(name.lower())
    if details:
        text = f"may have mixed case, but should otherwise match: {','.join(details)}"
        problems.invalid(f"{path}.kind", name, text)


def _check_group_version(text: str, path: str, problems: Problems) -> None:
    group, _, version = text.rpartition("/")
    details = names.dns_subdomain_problems(group) if group else ()
    if details:
        problems.invalid(path, group, ",".join(details))
    if not version:
        problems.invalid(path, text, "version must be specified")
        return
    details = names.dns_1035_label_problems(version)
    if details:
        problems.invalid(path, version, ",".join(details))


def _check_match(match: JsonObject, path: str, problems: Problems) -> None:
    if match.get("matchPolicy") not in _MATCH:
        problems.unsupported(f"{path}.matchPolicy", match.get("matchPolicy"), _MATCH)
    for field in ("namespaceSelector", "objectSelector"):
        check_selector(match.get(field), f"{path}.{field}", problems)
    for field in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(match.get(field) or ()):
            _check_named_rule(rule, f"{path}.{field}[{index}]", problems)


def _check_named_rule(rule: JsonObject, path: str, problems: Problems) -> None:
    seen: set[str] = set()
    for index, name in enumerate(rule.get("resourceNames") or ()):
        here = f"{path}.resourceNames[{index}]"
        problems.all_invalid(here, name, names.path_segment_problems(name))
        if name in seen:
            problems.duplicate(here, name)
        seen.add(name)
    check_rule(rule, path, problems)


def _check_conditions(conditions: list[JsonObject], path: str, problems: Problems) -> None:
    if len(conditions) > _MAX_CONDITIONS:
        problems.too_many(path, len(conditions), _MAX_CONDITIONS)
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        here, name = f"{path}[{index}]", condition.get("name") or ""
        if not (condition.get("expression") or "").strip():
            problems.required(f"{here}.expression")
        if not name:
            problems.required(f"{here}.name")
            continue
        problems.all_invalid(f"{here}.name", name, names.label_key_problems(name))
        if name in seen:
            problems.duplicate(f"{here}.name", name)
        seen.add(name)


def _check_variable(variable: JsonObject, path: str, problems: Problems) -> None:
    name = variable.get("name") or ""
    if not name.strip():
        problems.required(f"{path}.name", "name is not specified")
    elif not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
        problems.invalid(f"{path}.name", name, "must be a valid CEL identifier")
    if not (variable.get("expression") or "").strip():
        problems.required(f"{path}.expression", "expression is not specified")


def _check_validation(validation: JsonObject, path: str, problems: Problems) -> None:
    if not (validation.get("expression") or "").strip():
        problems.required(f"{path}.expression", "expression is not specified")
    told = validation.get("messageExpression") or ""
    if told and not told.strip():
        problems.invalid(f"{path}.messageExpression", told, _NOT_EMPTY)
    message = validation.get("message") or ""
    if message and not message.strip():
        problems.invalid(f"{path}.message", message, _NOT_EMPTY)
    elif re.search(r"[\n\r]", message.strip()):
        problems.invalid(f"{path}.message", message, "must not contain line breaks")
    reason = validation.get("reason")
    if reason is not None and reason not in _REASONS:
        problems.unsupported(f"{path}.reason", reason, _REASONS)


def validate_policy_binding(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    name, path = spec.get("policyName") or "", "spec.policyName"
    if not name:
        problems.required(path)
    else:
        problems.all_invalid(path, name, names.dns_subdomain_problems(name))
    if spec.get("paramRef") is not None:
        _check_param_ref(spec["paramRef"], "spec.paramRef", problems)
    if spec.get("matchResources") is not None:
        _check_match(spec["matchResources"], "spec.matchResources", problems)
    _check_actions(spec.get("validationActions") or [], "spec.validationActions", problems)


def _check_param_ref(reference: JsonObject, path: str, problems: Problems) -> None:
    name, selector = reference.get("name") or "", reference.get("selector")
    both = "name and selector are mutually exclusive"
    if name:
        problems.all_invalid(f"{path}.name", name, names.path_segment_problems(name))
        if selector is not None:
            problems.forbidden(f"{path}.name", both)
    check_selector(selector, f"{path}.selector", problems)
    if selector is not None and name:
        problems.forbidden(f"{path}.selector", both)
    if not name and selector is None:
        problems.required(path, "one of name or selector must be specified")
    action, here = reference.get("parameterNotFoundAction"), f"{path}.parameterNotFoundAction"
    if not action:
        problems.required(here)
    elif action not in ("Deny", "Allow"):
        problems.unsupported(here, action, ("Deny", "Allow"))


def _check_actions(actions: list[str], path: str, problems: Problems) -> None:
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            problems.unsupported(f"{path}[{index}]", action, _ACTIONS)
        if action in actions[:index]:
            problems.duplicate(f"{path}[{index}]", action)
    if {"Deny", "Warn"} <= set(actions):
        text = (
            "must not contain both Deny and Warn (repeating the same validation failure "
            "information in the API response and headers serves no purpose)"
        )
        problems.invalid(path, actions, text)
    if not actions:
        problems.required(path, "at least one validation action is required")
