"""One evaluator per resource: which names of a quota it answers for, and what an object costs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from winkube.api.quota.amounts import ONE, ZERO, Amount, Amounts, add_to, amount, raise_to, whole
from winkube.api.quota.names import (
    DEVICE_CLASS,
    HUGE_PAGES,
    REQUESTS,
    STORAGE_CLASS,
    count_name,
    is_extended,
    is_extended_in_quota,
)
from winkube.api.quota.pod import container_amounts, is_counted, is_pod_level, pod_amounts
from winkube.api.quota.scopes import claim_in_scope, pod_in_scope, selectors_of
from winkube.api.volumes import class_of
from winkube.base.types import JsonObject

_PODS: Final = frozenset(
    ("count/pods", "pods", "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory",
     "requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage")
)  # fmt: skip
# A quota of these asks every container to name the resource; of later ones it does not.
_ASKED_FOR: Final = frozenset(
    ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
)
_SERVICES: Final = frozenset(
    ("count/services", "services", "services.nodeports", "services.loadbalancers")
)
_CLAIMS: Final = ("persistentvolumeclaims", "requests.storage")
_MOST_DEVICES: Final = 32  # what a request for all devices may get


@dataclass(frozen=True, slots=True)
class Evaluator:
    matches_name: Callable[[str], bool]
    usage: Callable[[JsonObject, float], Amounts]  # of an object, now
    in_scope: Callable[[JsonObject, JsonObject], bool] = lambda selector, obj: False
    missing: Callable[[Iterable[str], JsonObject], str] = lambda names, obj: ""

    def matching(self, names: Iterable[str]) -> list[str]:
        return sorted(name for name in names if self.matches_name(name))

    def matches(self, quota: JsonObject, obj: JsonObject) -> bool:
        """Whether the quota limits anything of this object."""
        hard = (quota.get("status") or {}).get("hard") or {}
        return any(map(self.matches_name, hard)) and self.covers(quota, obj)

    def covers(self, quota: JsonObject, obj: JsonObject) -> bool:
        return all(self.in_scope(selector, obj) for selector in selectors_of(quota))


def _is_pod_name(name: str) -> bool:
    return (
        name in _PODS
        or name.startswith((HUGE_PAGES, REQUESTS + HUGE_PAGES))
        or is_extended_in_quota(name)
    )


def _pod_usage(pod: JsonObject, now: float) -> Amounts:
    if not is_counted(pod, now):
        return {"count/pods": ONE}
    total = _compute(pod_amounts(pod, "requests"), pod_amounts(pod, "limits"))
    total["count/pods"] = ONE
    return total


def _compute(requests: Amounts, limits: Amounts) -> Amounts:
    total: Amounts = {"pods": ONE}
    for name in ("cpu", "memory", "ephemeral-storage"):
        if name in requests:
            total[name] = total[REQUESTS + name] = requests[name]
        if name in limits:
            total[f"limits.{name}"] = limits[name]
    for name, value in requests.items():
        if name.startswith(HUGE_PAGES):
            total[name] = total[REQUESTS + name] = value
        elif is_extended(name):
            total[REQUESTS + name] = value
    return total


def _pod_missing(names: Iterable[str], pod: JsonObject) -> str:
    """The resources that containers have to name and do not; empty if nothing is missing."""
    spec = pod.get("spec") or {}
    asked = _ASKED_FOR.intersection(names)
    if not asked or is_pod_level(spec):
        return ""
    without: dict[str, set[str]] = {}
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        requests = container_amounts(container, "requests")
        named = _compute(requests, container_amounts(container, "limits"))
        for name in asked - named.keys():
            without.setdefault(name, set()).add(container.get("name", ""))
    if not without:
        return ""
    parts = [f"{name} for: {','.join(sorted(without[name]))}" for name in sorted(without)]
    return f"must specify {'; '.join(parts)}"


def _service_usage(service: JsonObject, _: float) -> Amounts:
    spec = service.get("spec") or {}
    ports, kind = spec.get("ports") or (), spec.get("type")
    node_ports = 0
    if kind == "NodePort" or kind == "LoadBalancer":
        node_ports = len(ports)
        if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
            node_ports = sum(1 for port in ports if port.get("nodePort"))
    return {
        "count/services": ONE,
        "services": ONE,
        "services.loadbalancers": ONE if kind == "LoadBalancer" else ZERO,
        "services.nodeports": whole(node_ports),
    }


def _is_claim_name(name: str) -> bool:
    if name == "count/persistentvolumeclaims" or name in _CLAIMS:
        return True
    return name.endswith(tuple(STORAGE_CLASS + suffix for suffix in _CLAIMS))


def _claim_usage(claim: JsonObject, _: float) -> Amounts:
    total: Amounts = {"persistentvolumeclaims": ONE, "count/persistentvolumeclaims": ONE}
    cls = class_of(claim)
    if cls:
        total[f"{cls}{STORAGE_CLASS}persistentvolumeclaims"] = ONE
    storage = _claim_storage(claim)
    if storage is not None:
        total["requests.storage"] = storage
        if cls:
            total[f"{cls}{STORAGE_CLASS}requests.storage"] = storage
    return total


def _claim_storage(claim: JsonObject) -> Amount | None:
    """In whole bytes; what is allocated for a growing claim counts if it is more."""
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    if "storage" not in requests:
        return None
    wanted = amount(requests["storage"])
    allocated = ((claim.get("status") or {}).get("allocatedResources") or {}).get("storage")
    if allocated is not None and amount(allocated).nano > wanted.nano:
        wanted = amount(allocated)
    return Amount(whole(-(-wanted.number // 1)).nano, wanted.family)


def _is_device_claim_name(name: str) -> bool:
    return name == "count/resourceclaims.resource.k8s.io" or name.endswith(DEVICE_CLASS)


def _device_claim_usage(claim: JsonObject, _: float) -> Amounts:
    total: Amounts = {"count/resourceclaims.resource.k8s.io": ONE}
    devices = (claim.get("spec") or {}).get("devices") or {}
    for request in devices.get("requests") or ():
        most: Amounts = {}
        choices = request.get("firstAvailable") or [request.get("exactly") or {}]
        for choice in choices:
            if choice.get("deviceClassName"):
                name = f"{choice['deviceClassName']}{DEVICE_CLASS}"
                raise_to(most, {name: whole(_devices(choice))})
        add_to(total, most)
    return total


def _devices(choice: JsonObject) -> int:
    mode = choice.get("allocationMode")
    if mode == "All":
        return _MOST_DEVICES
    return int(choice.get("count") or 0) if mode == "ExactCount" else 0


def _count(*names: str) -> Evaluator:
    cost = dict.fromkeys(names, ONE)
    return Evaluator(frozenset(names).__contains__, lambda obj, now: dict(cost))


SPECIAL: Final = {
    "pods": Evaluator(_is_pod_name, _pod_usage, pod_in_scope, _pod_missing),
    "services": Evaluator(_SERVICES.__contains__, _service_usage),
    "persistentvolumeclaims": Evaluator(_is_claim_name, _claim_usage, claim_in_scope),
    "resourceclaims.resource.k8s.io": Evaluator(_is_device_claim_name, _device_claim_usage),
    **{
        name: _count(count_name(name), name)
        for name in ("configmaps", "resourcequotas", "replicationcontrollers", "secrets")
    },
}
# Answers that are not stored, and events, which no quota has ever counted.
IGNORED: Final = frozenset(
    (
        "bindings",
        "componentstatuses",
        "tokenreviews.authentication.k8s.io",
        "selfsubjectreviews.authentication.k8s.io",
        "subjectaccessreviews.authorization.k8s.io",
        "selfsubjectaccessreviews.authorization.k8s.io",
        "localsubjectaccessreviews.authorization.k8s.io",
        "selfsubjectrulesreviews.authorization.k8s.io",
        "events",
        "events.events.k8s.io",
    )
)
_made: dict[str, Evaluator] = {}


def evaluator_for(group_resource: str) -> Evaluator | None:
    """By ``deployments.apps``; None for what no quota counts."""
    found = SPECIAL.get(group_resource) or _made.get(group_resource)
    if found is None and group_resource not in IGNORED:
        found = _made[group_resource] = _count(count_name(group_resource))
    return found
