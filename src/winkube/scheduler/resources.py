"""What a pod takes up: the arithmetic of requests (component-helpers: resource/helpers.go)."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from winkube.api.quantity import to_bytes, to_milli
from winkube.base.types import JsonObject

CPU: Final = "cpu"
MEMORY: Final = "memory"
STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"
# A container that asks for nothing still weighs this much when nodes are compared
# (kubernetes: pkg/scheduler/util/pod_resources.go).
DEFAULTS: Final = {CPU: 100, MEMORY: 200 * 1024 * 1024}
_NATIVE: Final = frozenset((CPU, MEMORY, STORAGE))

Resources = Mapping[str, int]


def resource_amount(name: str, value: Any) -> int:
    return to_milli(value) if name == CPU else to_bytes(value)


def is_scalar(name: str) -> bool:
    """Extended resources, huge pages, attachable volumes and prefixed native resources."""
    if name.startswith(("hugepages-", "attachable-volumes-")):
        return True
    return "/" in name and not name.startswith("requests.")


def is_extended(name: str) -> bool:
    prefix, slash, _ = name.partition("/")
    native = not slash or prefix == "kubernetes.io" or prefix.endswith(".kubernetes.io")
    return not native and not name.startswith("requests.")


def is_counted(name: str) -> bool:
    return name in _NATIVE or is_scalar(name)


def pod_requests(needs: JsonObject, defaults: Resources | None = None) -> dict[str, int]:
    """All containers together, or the largest moment of initialisation if that is more.

    ``defaults`` stand in for what a container does not ask for.
    """
    given = defaults or {}
    total: dict[str, int] = {}
    for container in needs.get("containers") or ():
        _add(total, _requests(container, given))
    running: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in needs.get("initContainers") or ():
        wanted = _requests(container, given)
        if container.get("restartPolicy") == "Always":
            _add(total, wanted)
            _add(running, wanted)
            _raise(peak, running)
        else:
            moment = dict(running)
            _add(moment, wanted)
            _raise(peak, moment)
    _raise(total, peak)
    # Requests of the pod as a whole replace the sum (KEP-2837).
    total.update(_amounts(_whole_requests(needs)))
    _add(total, _amounts(needs.get("overhead") or {}))
    return total


def weighed_requests(needs: JsonObject, requests: Resources) -> tuple[int, int]:
    """How cpu and memory count when nodes are compared."""
    whole = bool(_whole_requests(needs))
    defaults = {
        name: amount for name, amount in DEFAULTS.items() if not whole or not requests.get(name)
    }
    found = pod_requests(needs, defaults) if defaults else requests
    return found.get(CPU, 0), found.get(MEMORY, 0)


def _whole_requests(needs: JsonObject) -> dict[str, Any]:
    whole = (needs.get("resources") or {}).get("requests") or {}
    return {
        name: value
        for name, value in whole.items()
        if name in (CPU, MEMORY) or name.startswith("hugepages-")
    }


def _requests(container: JsonObject, defaults: Resources) -> dict[str, int]:
    return {**defaults, **_amounts(container.get("requests") or {})}


def _amounts(listed: Mapping[str, Any]) -> dict[str, int]:
    return {name: resource_amount(name, value) for name, value in listed.items()}


def _add(total: dict[str, int], requests: Resources) -> None:
    for name, amount in requests.items():
        total[name] = total.get(name, 0) + amount


def _raise(total: dict[str, int], least: Resources) -> None:
    for name, amount in least.items():
        total[name] = max(total.get(name, 0), amount)


def container_needs(container: JsonObject, status: JsonObject | None) -> JsonObject:
    """What of a container decides where its pod goes.

    A container that is being resized counts with the most of what was asked for, what the node has
    set aside and what it has now.
    """
    asked = (container.get("resources") or {}).get("requests") or {}
    if status is not None and status.get("resources") is not None:
        have = status["resources"].get("requests") or {}
        asked = largest((asked, have, status.get("allocatedResources") or {}))
    return {
        "requests": asked,
        "restartPolicy": container.get("restartPolicy"),
        "ports": [port for port in container.get("ports") or () if port.get("hostPort")],
    }


def largest(lists: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for listed in lists:
        for name, value in listed.items():
            if name not in found or resource_amount(name, value) > resource_amount(
                name, found[name]
            ):
                found[name] = value
    return found
