"""Changes in the cluster that may let a waiting pod in."""

from dataclasses import dataclass, field
from typing import Final

from winkube.base.types import JsonObject
from winkube.scheduler.shape import PodInfo

NODE_ADDED: Final = "added"
NODE_LABELS: Final = "labels"
NODE_TAINTS: Final = "taints"
NODE_ALLOCATABLE: Final = "allocatable"


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """One change; exactly one of the groups of fields is filled.

    ``others`` is a change of something else (a volume, a claim, a class): nobody looks closer.
    """

    # What of a node changed: "added", "removed", or names of aspects.
    node: frozenset[str] = frozenset()
    old_node: JsonObject | None = None
    new_node: JsonObject | None = None
    # Pods as they were and are; both are on a node, or were promised one.
    old_pod: PodInfo | None = None
    new_pod: PodInfo | None = None
    others: str = ""
    # Only pods of this priority or less can be helped.
    at_most: int | None = field(default=None)

    @property
    def is_node(self) -> bool:
        return bool(self.node)

    @property
    def is_deletion(self) -> bool:
        return self.old_pod is not None and self.new_pod is None
