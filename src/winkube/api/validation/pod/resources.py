"""Requests, limits and claims of a container or a pod, and the names resources may have."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, Final

from winkube.api import names
from winkube.api.quantity import QuantityError, canonical_quantity, parse_quantity
from winkube.api.quota.names import (
    HUGE_PAGES,
    is_extended,
    is_native,
    is_standard,
    is_standard_in_container,
    is_whole,
    may_overcommit,
)
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_POD_LEVEL: Final = ("cpu", HUGE_PAGES, "memory")
NameCheck = Callable[[str, str, Problems], None]


def check_resources(
    resources: JsonObject | None, claims: Iterable[str], path: str, problems: Problems
) -> None:
    """Of a container; ``claims`` are the names of the pod's resource claims."""
    if resources:
        _check(resources, claims, check_container_resource_name, path, problems)


def check_pod_level_resources(
    resources: JsonObject, claims: Iterable[str], path: str, problems: Problems
) -> None:
    if resources.get("claims") is not None:
        text = "claims may not be set for Resources at pod-level"
        problems.forbidden(f"{path}.claims", text)
    _check(resources, claims, _check_pod_name, path, problems)


def _check(
    resources: JsonObject,
    claims: Iterable[str],
    check_name: NameCheck,
    path: str,
    problems: Problems,
) -> None:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, quantity in limits.items():
        here = f"{path}.limits[{name}]"
        check_name(name, here, problems)
        check_quantity(name, quantity, here, problems)
        _check_pages(name, quantity, here, problems)
    for name, quantity in requests.items():
        here = f"{path}.requests[{name}]"
        check_name(name, here, problems)
        check_quantity(name, quantity, here, problems)
        _check_against_limit(name, quantity, limits, path, problems)
        _check_pages(name, quantity, here, problems)
    if _has(limits, requests, HUGE_PAGES) and not _has(limits, requests, "cpu", "memory"):
        problems.forbidden(path, "HugePages require cpu or memory")
    if resources.get("claims"):
        _check_claims(resources["claims"], frozenset(claims), f"{path}.claims", problems)


def _has(limits: JsonObject, requests: JsonObject, *prefixes: str) -> bool:
    return any(name.startswith(prefixes) for name in (*limits, *requests))


def check_resource_name(name: str, path: str, problems: Problems, *, as_text: bool = False) -> None:
    """``as_text`` is how autoscalers show a name that is none."""
    details = names.label_key_problems(name)
    (problems.all_invalid if as_text else problems.all_invalid_enum)(path, name, details)
    if not details and "/" not in name and not is_standard(name):
        problems.invalid_enum(path, name, "must be a standard resource type or fully qualified")


def check_container_resource_name(
    name: str, path: str, problems: Problems, *, as_text: bool = False
) -> None:
    if is_standard_in_container(name) and name != HUGE_PAGES:
        return
    check_resource_name(name, path, problems, as_text=as_text)
    if "/" not in name:
        if not is_standard_in_container(name):
            problems.invalid_enum(path, name, "must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        problems.invalid_enum(path, name, "doesn't follow extended resource name standard")


def _check_pod_name(name: str, path: str, problems: Problems) -> None:
    before = len(problems.causes)
    check_resource_name(name, path, problems)
    supported = name in ("cpu", "memory") or name.startswith(HUGE_PAGES)
    if len(problems.causes) == before and not supported:
        problems.unsupported(path, name, _POD_LEVEL)


def _check_against_limit(
    name: str, quantity: Any, limits: JsonObject, path: str, problems: Problems
) -> None:
    limit = limits.get(name)
    if limit is None:
        if not may_overcommit(name):
            problems.required(
                f"{path}.limits", "Limit must be set for non overcommitable resources"
            )
        return
    asked, capped = number_of(quantity), number_of(limit)
    if asked != capped and not may_overcommit(name):
        problems.invalid(f"{path}.requests", quantity, f"must be equal to {name} limit of {limit}")
    elif asked > capped:
        problems.invalid(
            f"{path}.requests", quantity, f"must be less than or equal to {name} limit of {limit}"
        )


def _check_pages(name: str, quantity: Any, path: str, problems: Problems) -> None:
    """Huge pages come whole."""
    if not name.startswith(HUGE_PAGES):
        return
    try:
        size = parse_quantity(name.removeprefix(HUGE_PAGES))
    except QuantityError:
        size = Fraction(0)
    whole = size > 0 and size.denominator == 1 and number_of(quantity) % size == 0
    if not whole:
        text = f"{quantity} is not positive integer multiple of {name}"
        problems.invalid(path, canonical_quantity(quantity), text)


def check_quantity(name: str, quantity: Any, path: str, problems: Problems) -> None:
    number = number_of(quantity)
    if number < 0:
        problems.invalid(path, quantity, "must be greater than or equal to 0")
    if number.denominator != 1 and is_whole(name):
        problems.invalid(path, quantity, "must be an integer")


def check_basic_quantity(quantity: Any, path: str, problems: Problems) -> None:
    number = number_of(quantity)
    if number < 0:
        problems.invalid(path, number.__floor__(), "must be a valid resource quantity")


def number_of(quantity: Any) -> Fraction:
    """Zero for what is no quantity: decoding has refused it already."""
    try:
        return parse_quantity(quantity)
    except QuantityError:
        return Fraction(0)


def _check_claims(claims: Any, known: frozenset[str], path: str, problems: Problems) -> None:
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        here, name = f"{path}[{index}]", claim.get("name") or ""
        if not name:
            problems.required(here)
            continue
        _check_claim_unique(claim, seen, here, problems)
        if name not in known:
            named = sorted(filter(None, known))
            which = f": {', '.join(named)}" if named else " which is empty"
            detail = f"must be one of the names in pod.spec.resourceClaims{which}"
            problems.not_found(here, name, detail)


def _check_claim_unique(claim: JsonObject, seen: set[str], path: str, problems: Problems) -> None:
    name, request = claim["name"], claim.get("request") or ""
    if name in seen:  # as a whole
        problems.duplicate(path, name)
        return
    key = f"{name}/{request}" if request else name
    if request:
        problems.all_invalid(f"{path}.request", request, names.dns_label_problems(request))
    if key in seen:
        problems.duplicate(path, key)
    elif not request:
        for other in seen:
            if other.partition("/")[0] == name:
                problems.duplicate(path, name)
    seen.add(key)


def check_pod_claims(claims: Any, path: str, problems: Problems) -> None:
    """``spec.resourceClaims``."""
    seen: set[str] = set()
    for index, claim in enumerate(claims or ()):
        here, name = f"{path}[{index}]", claim.get("name") or ""
        if not name:
            problems.required(f"{here}.name")
        elif name in seen:
            problems.duplicate(f"{here}.name", name)
        else:
            problems.all_invalid(f"{here}.name", name, names.dns_label_problems(name))
            seen.add(name)
        _check_claim_source(claim, here, problems)


_CLAIM_SOURCES: Final = ("resourceClaimName", "resourceClaimTemplateName")


def _check_claim_source(claim: JsonObject, path: str, problems: Problems) -> None:
    given = [field for field in _CLAIM_SOURCES if claim.get(field) is not None]
    shown = {
        "Name": claim.get("name") or "",
        "ResourceClaimName": claim.get("resourceClaimName"),
        "ResourceClaimTemplateName": claim.get("resourceClaimTemplateName"),
    }
    if len(given) > 1:
        text = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        problems.invalid(path, shown, text)
    if not given:
        text = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        problems.invalid(path, shown, text)
    for field in given:
        details = names.dns_subdomain_problems(claim[field])
        problems.all_invalid(f"{path}.{field}", claim[field], details)
