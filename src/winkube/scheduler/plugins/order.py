"""The order rules are asked in, and what each score weighs (kubernetes: default_plugins.go).

The first rule that refuses a node names the reason, so this order is visible to users.
"""

from collections.abc import Callable, Mapping
from typing import Final

from winkube.base.types import JsonObject
from winkube.scheduler.plugins.image_locality import ImageLocality
from winkube.scheduler.plugins.image_system import ImageSystem
from winkube.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from winkube.scheduler.plugins.node_affinity import NodeAffinity
from winkube.scheduler.plugins.node_name import NodeName
from winkube.scheduler.plugins.node_ports import NodePorts
from winkube.scheduler.plugins.node_resources import (
    DEFAULT_WEIGHTS,
    LEAST,
    NodeResourcesBalancedAllocation,
    NodeResourcesFit,
    Strategy,
    Weights,
)
from winkube.scheduler.plugins.plugin import Plugin
from winkube.scheduler.plugins.taint_toleration import NodeUnschedulable, TaintToleration
from winkube.scheduler.plugins.topology_spread import PodTopologySpread
from winkube.scheduler.plugins.volume_binding import (
    VolumeBinding,
    VolumeRestrictions,
    VolumeZone,
)

PREEMPTION: Final = "DefaultPreemption"

# Every rule with the weight of its score; DefaultPreemption acts when all of them have refused.
DEFAULT_ORDER: Final[Mapping[str, int]] = {
    "SchedulingGates": 0,
    "PrioritySort": 0,
    "NodeUnschedulable": 0,
    "NodeName": 0,
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodePorts": 0,
    "NodeResourcesFit": 1,
    "VolumeRestrictions": 0,
    "NodeVolumeLimits": 0,
    "VolumeBinding": 0,
    "VolumeZone": 0,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 0,
    PREEMPTION: 0,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
    "DefaultBinder": 0,
    "ImageSystem": 10,  # more than all of the others together
}


def _fit(args: JsonObject) -> Plugin:
    given = args.get("scoringStrategy") or {}
    shape = (given.get("requestedToCapacityRatio") or {}).get("shape") or ()
    strategy = Strategy(
        given.get("type") or LEAST,
        _weights(given),
        tuple((int(point["utilization"]), int(point["score"])) for point in shape),
    )
    return NodeResourcesFit(
        strategy,
        ignored=frozenset(args.get("ignoredResources") or ()),
        ignored_groups=frozenset(args.get("ignoredResourceGroups") or ()),
    )


def _weights(args: JsonObject) -> Weights:
    listed = args.get("resources")
    if not listed:
        return DEFAULT_WEIGHTS
    return tuple((each["name"], int(each.get("weight") or 1)) for each in listed)


def _spread(args: JsonObject) -> Plugin:
    if (args.get("defaultingType") or "System") == "System":
        return PodTopologySpread()
    return PodTopologySpread(tuple(args.get("defaultConstraints") or ()))


def _affinity(args: JsonObject) -> Plugin:
    weight = args.get("hardPodAffinityWeight")
    return InterPodAffinity(
        1 if weight is None else int(weight),
        ignore_existing=bool(args.get("ignorePreferredTermsOfExistingPods")),
    )


MAKERS: Final[Mapping[str, Callable[[JsonObject], Plugin]]] = {
    "NodeUnschedulable": lambda args: NodeUnschedulable(),
    "NodeName": lambda args: NodeName(),
    "TaintToleration": lambda args: TaintToleration(),
    "NodeAffinity": lambda args: NodeAffinity(args.get("addedAffinity")),
    "NodePorts": lambda args: NodePorts(),
    "NodeResourcesFit": _fit,
    "VolumeRestrictions": lambda args: VolumeRestrictions(),
    "VolumeBinding": lambda args: VolumeBinding(),
    "VolumeZone": lambda args: VolumeZone(),
    "PodTopologySpread": _spread,
    "InterPodAffinity": _affinity,
    "NodeResourcesBalancedAllocation": lambda args: NodeResourcesBalancedAllocation(_weights(args)),
    "ImageLocality": lambda args: ImageLocality(),
    "ImageSystem": lambda args: ImageSystem(),
}
