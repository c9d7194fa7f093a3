"""What a pod takes: its requests and limits as a whole, and which scopes it is in.

Sidecars run beside the containers; the other init containers run before them, one at a time, beside
the sidecars started so far. A running pod that is being resized takes the most of what it wants,
what it was given and what it has (component-helpers: resource/helpers.go).
"""

from typing import Any, Final

from winkube.api.meta import find_condition
from winkube.api.qos import qos_class
from winkube.api.quota.amounts import Amounts, add_to, amounts, raise_to
from winkube.api.quota.names import HUGE_PAGES
from winkube.base.clock import parse_rfc3339
from winkube.base.types import JsonObject

_POD_LEVEL: Final = ("cpu", "memory")


def container_amounts(container: JsonObject, field: str) -> Amounts:
    return amounts((container.get("resources") or {}).get(field))


def spec_amounts(spec: JsonObject, field: str) -> Amounts:
    """``field`` is requests or limits, as the spec wants them; without overhead."""
    total = _aggregate({"spec": spec}, field, use_status=False)
    for name, value in amounts((spec.get("resources") or {}).get(field)).items():
        if name in _POD_LEVEL:
            total[name] = value
    return total


def pod_amounts(pod: JsonObject, field: str) -> Amounts:
    """What counts for a quota: the running pod, with pod-level resources and overhead."""
    spec = pod.get("spec") or {}
    total = _aggregate(pod, field, use_status=True)
    if field == "limits" or is_pod_level(spec, ("requests",)):
        for name, value in amounts((spec.get("resources") or {}).get(field)).items():
            if _is_pod_level_name(name):
                total[name] = value
    for name, value in amounts(spec.get("overhead")).items():
        before = total.get(name)
        if before is not None and (field == "requests" or before.nano):
            total[name] = before.plus(value)
        elif field == "requests":
            total[name] = value
    return total


def is_pod_level(spec: JsonObject, fields: tuple[str, ...] = ("requests", "limits")) -> bool:
    """Whether the pod as a whole says what it needs."""
    resources = spec.get("resources") or {}
    return any(_is_pod_level_name(name) for field in fields for name in resources.get(field) or ())


def _is_pod_level_name(name: str) -> bool:
    return name in _POD_LEVEL or name.startswith(HUGE_PAGES)


def _aggregate(pod: JsonObject, field: str, *, use_status: bool) -> Amounts:
    spec = pod.get("spec") or {}
    found = _status_amounts(pod, field) if use_status else {}
    total: Amounts = {}
    for container in spec.get("containers") or ():
        add_to(total, _wanted(container, field, found))
    sidecars: Amounts = {}
    before: Amounts = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            wanted = _wanted(container, field, found)
            add_to(total, wanted)
            add_to(sidecars, wanted)
            raise_to(before, sidecars)
        else:
            alone = container_amounts(container, field)
            add_to(alone, sidecars)
            raise_to(before, alone)
    raise_to(total, before)
    return total


def _wanted(container: JsonObject, field: str, found: dict[str, tuple[bool, Amounts]]) -> Amounts:
    own = container_amounts(container, field)
    status = found.get(container.get("name", ""))
    if status is None:
        return own
    infeasible, actual = status
    if infeasible:
        return dict(actual)
    raise_to(own, actual)
    return own


def _status_amounts(pod: JsonObject, field: str) -> dict[str, tuple[bool, Amounts]]:
    """By container: whether what it wants will never be, and what it has."""
    status = pod.get("status") or {}
    found: dict[str, tuple[bool, Amounts]] = {}
    for name in ("containerStatuses", "initContainerStatuses"):
        for entry in status.get(name) or ():
            if entry.get("resources") is None:
                continue
            actual = amounts(entry["resources"].get(field))
            if field == "requests":
                raise_to(actual, amounts(entry.get("allocatedResources")))
            found[entry.get("name", "")] = (_is_infeasible(status), actual)
    return found


def _is_infeasible(status: JsonObject) -> bool:
    pending = find_condition(status.get("conditions") or (), "PodResizePending")
    return pending is not None and pending.get("reason") == "Infeasible"


def is_counted(pod: JsonObject, now: float) -> bool:
    """Not ended, and not stuck past the end of its grace period."""
    if (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
        return False
    metadata = pod.get("metadata") or {}
    ends, grace = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
    return not (ends and grace is not None and now > parse_rfc3339(ends) + grace)


def is_terminating(pod: JsonObject) -> bool:
    """Bound to end, as the scope of that name means it."""
    deadline: Any = (pod.get("spec") or {}).get("activeDeadlineSeconds")
    return deadline is not None and deadline >= 0


def is_best_effort(pod: JsonObject) -> bool:
    known = (pod.get("status") or {}).get("qosClass")
    return bool((known or qos_class(pod.get("spec") or {})) == "BestEffort")


def reaches_other_namespaces(pod: JsonObject) -> bool:
    """Whether a term of its (anti-)affinity looks beyond the pod's own namespace."""
    affinity = (pod.get("spec") or {}).get("affinity") or {}
    for part in ("podAffinity", "podAntiAffinity"):
        found = affinity.get(part) or {}
        terms = list(found.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        weighted = found.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms += [entry.get("podAffinityTerm") or {} for entry in weighted]
        for term in terms:
            if term.get("namespaces") or term.get("namespaceSelector") is not None:
                return True
    return False
