"""Requests and limits: pod totals, and the numbers the runtime enforces."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from winkube.api.qos import qos_class
from winkube.api.quantity import parse_quantity, to_bytes, to_milli
from winkube.base.types import JsonObject
from winkube.kubelet.pod import identity
from winkube.wire import cri

_SHARES_PER_CPU: Final = 1024
_MIN_SHARES: Final = 2
_MAX_SHARES: Final = 262144
_PERIOD: Final = 100_000
_MIN_QUOTA: Final = 1000
_WINDOWS_MAXIMUM: Final = 10_000


def requests_of(container: JsonObject) -> Mapping[str, Any]:
    return (container.get("resources") or {}).get("requests") or {}


def limits_of(container: JsonObject) -> Mapping[str, Any]:
    return (container.get("resources") or {}).get("limits") or {}


def pod_requests(pod: JsonObject) -> dict[str, Fraction]:
    """What scheduling and admission count: sidecars add up, init steps count by their peak."""
    total: dict[str, Fraction] = {}
    for container in identity.containers(pod):
        _add(total, _requests(container))
    sidecars: dict[str, Fraction] = {}
    peak: dict[str, Fraction] = {}
    for container in identity.init_containers(pod):
        need = _requests(container)
        if identity.is_sidecar(container):
            _add(sidecars, need)
            _add(total, need)
            need = sidecars
        else:
            _add(need, sidecars)
        for resource, amount in need.items():
            peak[resource] = max(peak.get(resource, Fraction(0)), amount)
    for resource, amount in peak.items():
        total[resource] = max(total.get(resource, Fraction(0)), amount)
    # Requests of the pod as a whole replace the sum (KEP-2837).
    total.update(_requests(pod["spec"]))
    _add(total, {k: parse_quantity(v) for k, v in (pod["spec"].get("overhead") or {}).items()})
    return total


def _requests(container: JsonObject) -> dict[str, Fraction]:
    """Of a container, or of what a pod asks for as a whole."""
    merged = {**limits_of(container), **requests_of(container)}
    return {resource: parse_quantity(amount) for resource, amount in merged.items()}


def _add(total: dict[str, Fraction], more: Mapping[str, Fraction]) -> None:
    for resource, amount in more.items():
        total[resource] = total.get(resource, Fraction(0)) + amount


def linux_resources(pod: JsonObject, container: JsonObject, memory_capacity: int) -> Any:
    """Upstream's translation: shares from the request, a quota from the limit."""
    requests, limits = requests_of(container), limits_of(container)
    request = to_milli(requests.get("cpu", limits.get("cpu", 0)))
    resources = cri.LinuxContainerResources(
        cpu_shares=cpu_shares(request),
        oom_score_adj=oom_score(pod, container, memory_capacity),
    )
    if limits.get("cpu") is not None and to_milli(limits["cpu"]) > 0:
        resources.cpu_period = _PERIOD
        resources.cpu_quota = max(_MIN_QUOTA, to_milli(limits["cpu"]) * _PERIOD // 1000)
    if limits.get("memory") is not None:
        resources.memory_limit_in_bytes = to_bytes(limits["memory"])
    return resources


def cpu_shares(milli: int) -> int:
    return max(_MIN_SHARES, min(_MAX_SHARES, milli * _SHARES_PER_CPU // 1000))


def oom_score(pod: JsonObject, container: JsonObject, memory_capacity: int) -> int:
    quality = qos_class(pod["spec"])
    if quality == "Guaranteed":
        return -997
    if quality == "BestEffort":
        return 1000
    request = to_bytes(requests_of(container).get("memory", 0))
    score = 1000 - (1000 * request) // max(memory_capacity, 1)
    return int(min(999, max(3, score)))


def windows_resources(container: JsonObject, cpus: int) -> Any:
    """A hard CPU cap in 1/10000 of the whole machine, and the job's commit limit."""
    limits = limits_of(container)
    resources = cri.WindowsContainerResources()
    milli = to_milli(limits.get("cpu", 0))
    if milli > 0:
        resources.cpu_maximum = max(1, min(_WINDOWS_MAXIMUM, 10 * milli // max(cpus, 1)))
    if limits.get("memory") is not None:
        resources.memory_limit_in_bytes = to_bytes(limits["memory"])
    return resources
