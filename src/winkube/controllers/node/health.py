"""How a node is doing: pure decisions about conditions and taints."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from winkube.api.meta import find_condition, get_condition
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
# Which taint a condition with this status stands for (kubernetes: node_lifecycle_controller.go).
BY_CONDITION: Final = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
}
OURS: Final = frozenset(BY_CONDITION.values()) | {UNSCHEDULABLE}
WATCHED: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
EVICTING: Final = (NOT_READY, UNREACHABLE)


@dataclass(frozen=True, slots=True)
class Pulse:
    """The last sign of life seen, and when by our own clock."""

    lease: str
    status: str
    at: float


def pulse_of(node: JsonObject, lease: JsonObject | None, now: float) -> Pulse:
    ready = get_condition(node, "Ready") or {}
    renewed = ((lease or {}).get("spec") or {}).get("renewTime") or ""
    return Pulse(renewed, f"{ready.get('status')} {ready.get('lastHeartbeatTime')}", now)


def plan_unknown(node: JsonObject, now: float) -> list[JsonObject] | None:
    """The conditions of a node that went silent; None when they say so already."""
    conditions = [dict(entry) for entry in (node.get("status") or {}).get("conditions") or ()]
    changed = False
    for type_ in WATCHED:
        found = find_condition(conditions, type_)
        if found is None:
            conditions.append(_never(type_, node, now))
            changed = True
        elif found.get("status") != "Unknown":
            found |= {
                "status": "Unknown",
                "reason": "NodeStatusUnknown",
                "message": "Kubelet stopped posting node status.",
                "lastTransitionTime": to_rfc3339(now),
            }
            changed = True
    return conditions if changed else None


def _never(type_: str, node: JsonObject, now: float) -> JsonObject:
    return {
        "type": type_,
        "status": "Unknown",
        "reason": "NodeStatusNeverUpdated",
        "message": "Kubelet never posted node status.",
        "lastHeartbeatTime": node["metadata"].get("creationTimestamp"),
        "lastTransitionTime": to_rfc3339(now),
    }


def plan_taints(node: JsonObject, now: float, *, evict: bool) -> list[JsonObject] | None:
    """The taints a node's conditions ask for; None when it has them. Others' taints stay."""
    wanted: list[tuple[str, str]] = []
    for entry in (node.get("status") or {}).get("conditions") or ():
        key = BY_CONDITION.get((entry["type"], entry.get("status", "")))
        if key is not None:
            wanted.append((key, "NoSchedule"))
            if key in EVICTING and evict:
                wanted.append((key, "NoExecute"))
    spec = node.get("spec") or {}
    if spec.get("unschedulable"):
        wanted.append((UNSCHEDULABLE, "NoSchedule"))
    have: Sequence[JsonObject] = spec.get("taints") or ()
    others = [taint for taint in have if taint["key"] not in OURS or _foreign(taint)]
    mine = {(taint["key"], taint["effect"]): taint for taint in have if taint not in others}
    fresh = [mine.get(each) or _taint(each, now) for each in wanted]
    planned = [*others, *fresh]
    return None if _as_set(planned) == _as_set(have) else planned


def _foreign(taint: JsonObject) -> bool:
    return taint.get("effect") == "NoExecute" and taint["key"] not in EVICTING


def _taint(each: tuple[str, str], now: float) -> JsonObject:
    key, effect = each
    return {"key": key, "effect": effect, "timeAdded": to_rfc3339(now)}


def _as_set(taints: Sequence[JsonObject]) -> set[tuple[Any, ...]]:
    return {(taint["key"], taint.get("value", ""), taint["effect"]) for taint in taints}
