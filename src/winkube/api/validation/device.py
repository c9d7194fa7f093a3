"""ResourceClaims, their templates, and DeviceClasses (upstream: pkg/apis/resource/validation).

Expressions are not compiled.
"""

import re
from collections.abc import Callable, Hashable
from typing import Any, Final

import orjson

from winkube.api import names
from winkube.api.validation.common import check_immutable, check_labels
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_MOST: Final = 32  # of requests, constraints, configurations, selectors
_MOST_CHOICES: Final = 8
_MAX_EXPRESSION: Final = 10 * 1024
_MAX_PARAMETERS: Final = 10 * 1024
_MAX_DRIVER: Final = 63
_MAX_ID: Final = 32
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_IDENTIFIER_TEXT: Final = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of "
    "alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for "
    "validation is '[A-Za-z_][A-Za-z0-9_]*')"
)
_EFFECTS: Final = ("NoExecute", "NoSchedule")
_ONE: Final = "exactly one of `exactly` or `firstAvailable` is required"
_REFERENCE: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest "
    "separated by '/'"
)
Check = Callable[[Any, str, Problems], None]


def validate_resource_claim(obj: JsonObject, problems: Problems) -> None:
    _check_claim((obj.get("spec") or {}).get("devices") or {}, "spec.devices", problems)


def validate_resource_claim_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    check_immutable(new.get("spec"), old.get("spec"), "spec", problems)
    validate_resource_claim(new, problems)


def validate_claim_template(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    metadata = spec.get("metadata") or {}
    check_labels(metadata.get("labels"), "spec.metadata.labels", problems)
    for field in sorted(set(metadata) - {"labels", "annotations", "creationTimestamp"}):
        problems.forbidden(f"spec.metadata.{field}", "cannot be set")
    _check_claim((spec.get("spec") or {}).get("devices") or {}, "spec.spec.devices", problems)


def validate_claim_template_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    check_immutable(new.get("spec"), old.get("spec"), "spec", problems)
    validate_claim_template(new, problems)


def validate_device_class(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    _check_each(spec.get("selectors"), _MOST, _check_selector, "spec.selectors", problems)
    _check_each(spec.get("config"), _MOST, _check_configuration, "spec.config", problems)


def _check_each(
    values: list[Any] | None, most: int, check: Check, path: str, problems: Problems
) -> None:
    for index, value in enumerate(values or ()):
        check(value, f"{path}[{index}]", problems)
    if len(values or ()) > most:
        problems.too_many(path, len(values or ()), most)


def _check_unique(keys: list[Hashable], path: str, field: str, problems: Problems) -> None:
    for index, key in enumerate(keys):
        if key in keys[:index]:
            problems.duplicate(f"{path}[{index}]{field}", key)


def _check_claim(claim: JsonObject, path: str, problems: Problems) -> None:
    requests = claim.get("requests") or []
    known = {request.get("name") or "" for request in requests}
    known |= {
        f"{request.get('name') or ''}/{choice.get('name') or ''}"
        for request in requests
        for choice in request.get("firstAvailable") or ()
    }

    def check_reference(name: str, here: str, problems: Problems) -> None:
        parts = name.split("/")
        if len(parts) <= 2:
            for part in parts:
                problems.all_invalid(here, part, names.dns_label_problems(part))
        if name not in known:
            problems.invalid(here, name, _REFERENCE)

    def check_references(entry: JsonObject, here: str, problems: Problems) -> None:
        wanted = entry.get("requests") or []
        _check_each(wanted, _MOST, check_reference, f"{here}.requests", problems)
        _check_unique(wanted, f"{here}.requests", "", problems)

    def check_constraint(entry: JsonObject, here: str, problems: Problems) -> None:
        check_references(entry, here, problems)
        attribute = entry.get("matchAttribute")
        if attribute is None:
            problems.required(f"{here}.matchAttribute")
        else:
            _check_full_name(attribute, f"{here}.matchAttribute", problems)

    def check_configuration(entry: JsonObject, here: str, problems: Problems) -> None:
        check_references(entry, here, problems)
        _check_configuration(entry, here, problems)

    _check_each(requests, _MOST, _check_request, f"{path}.requests", problems)
    own = [request.get("name") or "" for request in requests]
    _check_unique(own, f"{path}.requests", ".name", problems)
    for field, check in (("constraints", check_constraint), ("config", check_configuration)):
        _check_each(claim.get(field), _MOST, check, f"{path}.{field}", problems)


def _check_request(request: JsonObject, path: str, problems: Problems) -> None:
    name = request.get("name") or ""
    problems.all_invalid(f"{path}.name", name, names.dns_label_problems(name))
    choices, exactly = request.get("firstAvailable") or [], request.get("exactly")
    if choices:
        here = f"{path}.firstAvailable"
        _check_each(choices, _MOST_CHOICES, _check_choice, here, problems)
        _check_unique([choice.get("name") or "" for choice in choices], here, ".name", problems)
    if exactly is not None:
        _check_exactly(exactly, f"{path}.exactly", problems)
    if not choices and exactly is None:
        problems.required(path, _ONE)
    elif choices and exactly is not None:
        problems.invalid(path, None, f"{_ONE}, but multiple fields are set")


def _check_choice(choice: JsonObject, path: str, problems: Problems) -> None:
    name = choice.get("name") or ""
    problems.all_invalid(f"{path}.name", name, names.dns_label_problems(name))
    _check_exactly(choice, path, problems)


def _check_exactly(request: JsonObject, path: str, problems: Problems) -> None:
    name = request.get("deviceClassName") or ""
    if not name:
        problems.required(f"{path}.deviceClassName")
    else:
        details = names.dns_subdomain_problems(name)
        problems.all_invalid(f"{path}.deviceClassName", name, details)
    _check_each(request.get("selectors"), _MOST, _check_selector, f"{path}.selectors", problems)
    mode, count = request.get("allocationMode"), request.get("count") or 0
    if mode == "All":
        if count:
            text = "must not be specified when allocationMode is 'All'"
            problems.invalid(f"{path}.count", count, text)
    elif mode == "ExactCount":
        if count <= 0:
            problems.invalid(f"{path}.count", count, "must be greater than zero")
    else:
        problems.unsupported(f"{path}.allocationMode", mode or "", ("All", "ExactCount"))
    for index, toleration in enumerate(request.get("tolerations") or ()):
        _check_toleration(toleration, f"{path}.tolerations[{index}]", problems)


def _check_toleration(toleration: JsonObject, path: str, problems: Problems) -> None:
    key, value = toleration.get("key"), toleration.get("value") or ""
    if key:
        problems.all_invalid(f"{path}.key", key, names.label_key_problems(key))
    operator = toleration.get("operator") or ""
    if operator == "Exists":
        if value:
            problems.invalid(f"{path}.value", value, "must be empty for operator `Exists`")
    elif operator == "Equal":
        problems.all_invalid(f"{path}.value", value, names.label_value_problems(value))
    elif not operator:
        problems.required(f"{path}.operator")
    else:
        problems.unsupported(f"{path}.operator", operator, ("Equal", "Exists"))
    effect = toleration.get("effect")
    if effect and effect not in _EFFECTS:
        problems.unsupported(f"{path}.effect", effect, _EFFECTS)


def _check_selector(selector: JsonObject, path: str, problems: Problems) -> None:
    wanted = selector.get("cel")
    if wanted is None:
        problems.required(f"{path}.cel")
    elif len((wanted.get("expression") or "").encode()) > _MAX_EXPRESSION:
        problems.too_long(f"{path}.cel.expression", _MAX_EXPRESSION)


def _check_configuration(config: JsonObject, path: str, problems: Problems) -> None:
    opaque = config.get("opaque")
    if opaque is None:
        problems.required(f"{path}.opaque")
        return
    _check_driver(opaque.get("driver") or "", f"{path}.opaque.driver", problems)
    here, parameters = f"{path}.opaque.parameters", opaque.get("parameters")
    if parameters is None:
        problems.required(here)
    elif len(orjson.dumps(parameters)) > _MAX_PARAMETERS:
        problems.too_long(here, _MAX_PARAMETERS)
    elif not isinstance(parameters, dict):
        problems.invalid(here, "<value omitted>", "must be a valid JSON object")


def _check_driver(driver: str, path: str, problems: Problems) -> None:
    if not driver:
        problems.required(path)
    if len(driver) > _MAX_DRIVER:
        problems.too_long(path, _MAX_DRIVER)
    lower = driver.lower()
    problems.all_invalid(path, lower, names.dns_subdomain_problems(lower))


def _check_full_name(name: str, path: str, problems: Problems) -> None:
    if not name:
        problems.required(path, "name required")
        return
    domain, slash, rest = name.partition("/")
    if not slash:
        _check_identifier(domain, path, problems)
        problems.invalid(path, name, "must include a domain")
        return
    if not domain:
        problems.required(path, "the domain must not be empty")
    else:
        _check_driver(domain, path, problems)
    if not rest:
        problems.required(path, "the name must not be empty")
    else:
        _check_identifier(rest, path, problems)


def _check_identifier(text: str, path: str, problems: Problems) -> None:
    if len(text) > _MAX_ID:
        problems.too_long(path, _MAX_ID)
    if not _IDENTIFIER.fullmatch(text):
        problems.invalid(path, text, _IDENTIFIER_TEXT)
