"""The order rules are asked in, and what each score weighs (kubernetes: default_plugins.go).

The first rule that refuses a node names the reason, so this order is visible to users.
"""

from winkube.scheduler.plugins.image_system import ImageSystem
from winkube.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from winkube.scheduler.plugins.node_affinity import NodeAffinity
from winkube.scheduler.plugins.node_name import NodeName
from winkube.scheduler.plugins.node_ports import NodePorts
from winkube.scheduler.plugins.node_resources import (
    NodeResourcesBalancedAllocation,
    NodeResourcesFit,
)
from winkube.scheduler.plugins.plugin import Plugin
from winkube.scheduler.plugins.taint_toleration import NodeUnschedulable, TaintToleration
from winkube.scheduler.plugins.topology_spread import PodTopologySpread
from winkube.scheduler.plugins.volume_binding import VolumeBinding


def default_plugins() -> tuple[tuple[Plugin, float], ...]:
    return (
        (NodeUnschedulable(), 0),
        (NodeName(), 0),
        (TaintToleration(), 3),
        (NodeAffinity(), 2),
        (NodePorts(), 0),
        (NodeResourcesFit(), 1),
        (VolumeBinding(), 0),
        (NodeResourcesBalancedAllocation(), 1),
        (PodTopologySpread(), 2),
        (InterPodAffinity(), 2),
        (ImageSystem(), 10),  # more than all of the others together
    )
