"""Nodes that have the images already are better, and more so the larger and more common they are.

(kubernetes: plugins/imagelocality/image_locality.go)
"""

from typing import Final

from winkube.scheduler.cycle import Cycle
from winkube.scheduler.node import NodeInfo
from winkube.scheduler.plugins.plugin import MAX_SCORE, Plugin

_MEBIBYTE: Final = 1024 * 1024
LEAST: Final = 23 * _MEBIBYTE
MOST_EACH: Final = 1000 * _MEBIBYTE


class ImageLocality(Plugin):
    name = "ImageLocality"
    static = True
    scores = True

    def score(self, cycle: Cycle, node: NodeInfo) -> int:
        images = cycle.shape.images
        if not node.images or not images:
            return 0
        world = cycle.world
        total = 0
        for image in images:
            size = node.images.get(image)
            if size is not None:
                total += int(size * (world.images[image] / len(world.nodes)))
        most = MOST_EACH * len(images)
        return MAX_SCORE * (min(max(total, LEAST), most) - LEAST) // (most - LEAST)
