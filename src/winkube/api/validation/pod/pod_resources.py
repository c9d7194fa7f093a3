"""Requests and limits of a pod as a whole, beside those of its containers."""

from fractions import Fraction
from typing import Any

from winkube.api.quantity import format_quantity, split_quantity
from winkube.api.validation.pod.resources import check_pod_level_resources, number_of
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject


def check_pod_resources(spec: JsonObject, path: str, problems: Problems) -> None:
    if (spec.get("os") or {}).get("name") == "windows":
        problems.forbidden(path, "may not be set for a windows pod")
        return
    resources = spec["resources"]
    claims = [claim.get("name") or "" for claim in spec.get("resourceClaims") or ()]
    check_pod_level_resources(resources, claims, path, problems)
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for name, (total, shown) in _totals(spec, "requests").items():
        if name in requests and total > number_of(requests[name]):
            text = f"must be greater than or equal to aggregate container requests of {shown}"
            problems.invalid(f"{path}.requests[{name}]", requests[name], text)
    for name, (total, shown) in _totals(spec, "limits").items():
        pages = name.startswith("hugepages-") and name in limits
        if pages and total > number_of(limits[name]):
            text = f"must be greater than or equal to aggregate container limits of {shown}"
            problems.invalid(f"{path}.limits[{name}]", limits[name], text)
    for index, container in enumerate(spec.get("containers") or ()):
        for name, limit in ((container.get("resources") or {}).get("limits") or {}).items():
            if name in limits and number_of(limit) > number_of(limits[name]):
                here = f"{path}.containers[{index}][{name}].limits"
                text = f"must be less than or equal to pod limits of {limits[name]}"
                problems.invalid(here, limit, text)


def _totals(spec: JsonObject, field: str) -> dict[str, tuple[Fraction, str]]:
    """What the containers need together: all that run at once, or the neediest before them."""
    total: dict[str, Fraction] = {}
    families: dict[str, str] = {}

    def amounts(container: JsonObject) -> dict[str, Fraction]:
        listed: dict[str, Any] = (container.get("resources") or {}).get(field) or {}
        for name, quantity in listed.items():
            families.setdefault(name, split_quantity(quantity)[1])
        return {name: number_of(quantity) for name, quantity in listed.items()}

    for container in spec.get("containers") or ():
        _add(total, amounts(container))
    beside: dict[str, Fraction] = {}
    peak: dict[str, Fraction] = {}
    for container in spec.get("initContainers") or ():
        own = amounts(container)
        if container.get("restartPolicy") == "Always":
            _add(total, own)
            _add(beside, own)
            own = dict(beside)
        else:
            own = {name: own.get(name, Fraction(0)) + beside.get(name, 0) for name in own}
        for name, amount in own.items():
            peak[name] = max(peak.get(name, Fraction(0)), amount)
    for name, amount in peak.items():
        total[name] = max(total.get(name, Fraction(0)), amount)
    return {name: (sum_, format_quantity(sum_, families[name])) for name, sum_ in total.items()}


def _add(total: dict[str, Fraction], more: dict[str, Fraction]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Fraction(0)) + amount
