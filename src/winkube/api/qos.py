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
    best_effort = guaranteed = True
    for container in containers:
        resources = container.get("resources") or {}
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        for name in _COMPUTE:
            asked, capped = _amount(requests, name), _amount(limits, name)
            best_effort = best_effort and not asked and not capped
            # Requests default to limits, so a limit alone is enough.
            guaranteed = guaranteed and capped > 0 and asked in (0.0, capped)
    if best_effort:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _amount(amounts: JsonObject, name: str) -> float:
    """Zero for what is not there, or less than nothing."""
    quantity = amounts.get(name)
    return max(0.0, _number(quantity)) if quantity is not None else 0.0


@functools.lru_cache(maxsize=1024)
def _number(quantity: str) -> float:
    """Zero for what is no quantity: validation says so elsewhere."""
    try:
        return float(parse_quantity(quantity))
    except QuantityError:
        return 0.0
