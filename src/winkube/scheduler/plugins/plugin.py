"""The shape of a scheduling rule."""

from typing import ClassVar, Final

from winkube.scheduler.node import NodeInfo
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.world import World

MAX_SCORE: Final = 100.0
NO_REASON: Final[tuple[str, ...]] = ()


class Plugin:
    """A rule that refuses nothing and prefers nothing; each rule overrides what it is about.

    ``static`` rules look only at the pod and the node object, so their answers can be kept.
    ``resolvable`` says whether removing pods from a node could ever help (preemption).
    """

    name: ClassVar[str]
    static: ClassVar[bool] = False
    resolvable: ClassVar[bool] = True

    def refuse(self, pod: PodInfo, world: World) -> str:
        """Why the pod can run nowhere now, whatever the node; empty when that cannot be said."""
        return ""

    def filter(self, pod: PodInfo, node: NodeInfo, world: World) -> tuple[str, ...]:
        """Why the pod cannot run there, in upstream's words; empty when it can."""
        return NO_REASON

    def score(self, pod: PodInfo, node: NodeInfo, world: World) -> float:
        """How good the node is, 0 to 100 before the weight."""
        return 0.0
