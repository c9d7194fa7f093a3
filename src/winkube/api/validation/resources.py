"""Requests and limits, and the names resources may have."""

from fractions import Fraction
from typing import Any, Final

from winkube.api import names
from winkube.api.quantity import QuantityError, parse_quantity
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_STANDARD: Final = ("cpu", "memory", "ephemeral-storage")
_WHOLE: Final = frozenset(
    ("pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
     "persistentvolumeclaims", "services.nodeports", "services.loadbalancers")
)  # fmt: skip


def check_resources(resources: JsonObject | None, path: str, problems: Problems) -> None:
    """A container's resource requirements."""
    if not resources:
        return
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for field, quantities in (("limits", limits), ("requests", requests)):
        for name, quantity in quantities.items():
            here = f"{path}.{field}[{name}]"
            _check_name(name, here, problems)
            check_quantity(name, quantity, here, problems)
    for name, quantity in requests.items():
        _check_against_limit(name, quantity, limits, path, problems)
    if _has(limits, requests, "hugepages-") and not _has(limits, requests, "cpu", "memory"):
        problems.forbidden(path, "HugePages require cpu or memory")


def _has(limits: JsonObject, requests: JsonObject, *prefixes: str) -> bool:
    return any(name.startswith(prefixes) for name in (*limits, *requests))


def _check_name(name: str, path: str, problems: Problems) -> None:
    problems.all_invalid(path, name, names.label_key_problems(name))
    if "/" not in name and name not in _STANDARD and not name.startswith("hugepages-"):
        problems.invalid(path, name, "must be a standard resource for containers")


def _is_overcommit_allowed(name: str) -> bool:
    """Kubernetes' own resources may be overcommitted, extended ones and huge pages may not."""
    native = "/" not in name or name.rpartition("/")[0].endswith("kubernetes.io")
    return native and not name.startswith("hugepages-")


def _check_against_limit(
    name: str, quantity: Any, limits: JsonObject, path: str, problems: Problems
) -> None:
    limit = limits.get(name)
    if limit is None:
        if not _is_overcommit_allowed(name):
            problems.required(
                f"{path}.limits", "Limit must be set for non overcommitable resources"
            )
        return
    asked, capped = number_of(quantity), number_of(limit)
    if asked != capped and not _is_overcommit_allowed(name):
        problems.invalid(f"{path}.requests", quantity, f"must be equal to {name} limit of {limit}")
    elif asked > capped:
        problems.invalid(
            f"{path}.requests", quantity, f"must be less than or equal to {name} limit of {limit}"
        )


def check_quantity(name: str, quantity: Any, path: str, problems: Problems) -> None:
    number = number_of(quantity)
    if number < 0:
        problems.invalid(path, quantity, "must be greater than or equal to 0")
    extended = "/" in name and not name.rpartition("/")[0].endswith("kubernetes.io")
    if (name in _WHOLE or extended) and number.denominator != 1:
        problems.invalid(path, quantity, "must be an integer")


def number_of(quantity: Any) -> Fraction:
    """Zero for what is no quantity: decoding has refused it already."""
    try:
        return parse_quantity(quantity)
    except QuantityError:
        return Fraction(0)
