"""An image whose name says its operating system draws the pod to nodes of that system.

Ours, not upstream's: a pod that names no operating system may go to any node, and one of two
systems cannot run it. Built-in images are the ones a newcomer tries first, so they go where they
are. Any other image, and any pod with a node selector, is placed as upstream places it.
"""

from typing import Final

from winkube.scheduler.cycle import Cycle
from winkube.scheduler.node import NodeInfo
from winkube.scheduler.plugins.plugin import MAX_SCORE, Plugin

_SYSTEM_LABEL: Final = "kubernetes.io/os"


class ImageSystem(Plugin):
    name = "ImageSystem"
    static = True
    scores = True

    def score(self, cycle: Cycle, node: NodeInfo) -> int:
        system = cycle.shape.image_system
        if not system or node.labels.get(_SYSTEM_LABEL) == system:
            return MAX_SCORE
        return 0
