"""A pod's quality-of-service class, from the cpu and memory its containers ask for."""

from typing import Any, Final

from winkube.api.quantity import QuantityError, parse_quantity
from winkube.base.types import JsonObject

_COUNTED: Final = ("cpu", "memory")


def qos_class(spec: JsonObject) -> str:
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    if not any(
        _amounts(container, "requests") or _amounts(container, "limits") for container in containers
    ):
        return "BestEffort"
    return "Guaranteed" if all(map(_is_guaranteed, containers)) else "Burstable"


def _is_guaranteed(container: JsonObject) -> bool:
    limits = _amounts(container, "limits")
    requests = {**limits, **_amounts(container, "requests")}
    return set(limits) == set(_COUNTED) and requests == limits


def _amounts(container: JsonObject, side: str) -> dict[str, Any]:
    listed = (container.get("resources") or {}).get(side) or {}
    amounts = {}
    for name in _COUNTED:
        if name in listed:
            try:
                value = parse_quantity(listed[name])
            except QuantityError:
                continue  # validation refuses the object; its class does not matter
            if value:
                amounts[name] = value
    return amounts
