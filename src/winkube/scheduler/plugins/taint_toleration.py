"""Taints keep pods away unless they are tolerated; cordoned nodes are a taint in disguise."""

from collections.abc import Iterable
from typing import Final

from winkube.base.types import JsonObject
from winkube.scheduler.node import NodeInfo
from winkube.scheduler.plugins.plugin import MAX_SCORE, NO_REASON, Plugin
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.world import World

UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"


def tolerates(toleration: JsonObject, taint: JsonObject) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator") == "Exists":
        return True
    if not toleration.get("key"):
        return False
    return (toleration.get("value") or "") == (taint.get("value") or "")


def is_tolerated(tolerations: Iterable[JsonObject], taint: JsonObject) -> bool:
    return any(tolerates(toleration, taint) for toleration in tolerations)


class NodeUnschedulable(Plugin):
    name = "NodeUnschedulable"
    static = True
    resolvable = False

    def filter(self, pod: PodInfo, node: NodeInfo, world: World) -> tuple[str, ...]:
        taint = {"key": UNSCHEDULABLE, "effect": "NoSchedule"}
        if node.unschedulable and not is_tolerated(pod.shape.tolerations, taint):
            return ("node(s) were unschedulable",)
        return NO_REASON


class TaintToleration(Plugin):
    name = "TaintToleration"
    static = True
    resolvable = False

    def filter(self, pod: PodInfo, node: NodeInfo, world: World) -> tuple[str, ...]:
        for taint in node.taints:
            if taint.get("effect") not in ("NoSchedule", "NoExecute"):
                continue
            if not is_tolerated(pod.shape.tolerations, taint):
                shown = f"{{{taint['key']}: {taint.get('value') or ''}}}"
                return (f"node(s) had untolerated taint {shown}",)
        return NO_REASON

    def score(self, pod: PodInfo, node: NodeInfo, world: World) -> float:
        """Each taint that only asks to stay away halves the appeal."""
        avoided = sum(
            1
            for taint in node.taints
            if taint.get("effect") == "PreferNoSchedule"
            and not is_tolerated(pod.shape.tolerations, taint)
        )
        return float(MAX_SCORE / 2**avoided)
