"""The quality-of-service class of a pod, from its containers' requests and limits."""

import functools

from winkube.api.quantity import QuantityError, parse_quantity
from winkube.base.types import JsonObject

_COMPUTE = ("cpu", "memory")


def qos_class(spec: JsonObject) -> str:
    """Guaranteed, Burstable or BestEffort (pkg/apis/core/v1/helper/qos)."""
    if spec.get("resources") is not None:
        containers = [spec]
    else:
        containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    requests: dict[str, set[str]] = {}
    limits: dict[str, set[str]] = {}
    guaranteed = True
    for container in containers:
        resources = container.get("resources") or {}
        asked, capped = _positive(resources, "requests"), _positive(resources, "limits")
        for found, total in ((asked, requests), (capped, limits)):
            for name, quantity in found.items():
                total.setdefault(name, set()).add(quantity)
        # Requests default to limits, so a limit alone is enough.
        guaranteed = (
            guaranteed
            and set(capped) == set(_COMPUTE)
            and all(_same(quantity, capped[name]) for name, quantity in asked.items())
        )
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _positive(resources: JsonObject, field: str) -> dict[str, str]:
    found = resources.get(field) or {}
    return {name: found[name] for name in _COMPUTE if name in found and _number(found[name]) > 0}


def _same(one: str, other: str) -> bool:
    return _number(one) == _number(other)


@functools.lru_cache(maxsize=1024)
def _number(quantity: str) -> float:
    """Zero for what is no quantity: validation says so elsewhere."""
    try:
        return float(parse_quantity(quantity))
    except QuantityError:
        return 0.0
