"""How a simulated node is recognised, and the annotations that tell its pods what to do.

A kubelet may not give its own node a label of this domain, so no real node passes for one.
"""

from typing import Final

from winkube.api.meta import labels_of
from winkube.base.types import JsonObject

ROLE: Final = "node-role.kubernetes.io/simulated"
PREFIX: Final = "simulation.winkube.dev/"


def is_simulated(node: JsonObject) -> bool:
    return ROLE in labels_of(node)
