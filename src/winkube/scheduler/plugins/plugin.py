"""The shape of a scheduling rule."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, Protocol

from winkube.scheduler.events import ClusterEvent
from winkube.scheduler.node import NodeInfo
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.world import World

if TYPE_CHECKING:
    from winkube.scheduler.cycle import Cycle

MAX_SCORE: Final = 100


class Refusal(NamedTuple):
    """Why a node is refused, in upstream's words, and whether removing pods could ever help."""

    reasons: tuple[str, ...]
    resolvable: bool = True


class State(Protocol):
    """What a rule counted beforehand, kept right while pods are moved on trial."""

    def shift(self, pod: PodInfo, node: NodeInfo, sign: int) -> None: ...


class Plugin:
    """A rule that refuses nothing and prefers nothing; each rule overrides what it is about.

    ``static`` rules look only at the pod and the node object, so their answers can be kept.
    ``relational`` rules look beyond the node: at other pods in its neighbourhood, or at volumes.
    """

    name: ClassVar[str]
    static: ClassVar[bool] = False
    relational: ClassVar[bool] = False
    filters: ClassVar[bool] = False
    scores: ClassVar[bool] = False

    # -- which nodes are possible

    def refuse(self, cycle: "Cycle") -> Refusal | None:
        """Why the pod can run nowhere now, whatever the node."""
        return None

    def only(self, cycle: "Cycle") -> frozenset[str] | None:
        """The names of the only nodes to look at, when they can be told."""
        return None

    def begin(self, cycle: "Cycle") -> bool:
        """Count what ``filter`` needs; False when it would have nothing to say."""
        return True

    def filter(self, cycle: "Cycle", node: NodeInfo) -> Refusal | None:
        return None

    # -- which node is best

    def begin_scores(self, cycle: "Cycle", nodes: Sequence[NodeInfo]) -> bool:
        """Count what ``score`` needs; False leaves the rule out of this decision."""
        return True

    def score(self, cycle: "Cycle", node: NodeInfo) -> int:
        """How good the node is, before ``normalize``."""
        return 0

    def normalize(self, cycle: "Cycle", nodes: Sequence[NodeInfo], raw: list[int]) -> list[int]:
        """The scores as 0 to 100, seen together."""
        return raw

    # -- when to try again

    def hint(self, event: ClusterEvent, pod: PodInfo, world: World) -> bool:
        """Say whether the event could let in a pod that this rule kept out."""
        return False


def by_largest(raw: list[int], *, reverse: bool = False) -> list[int]:
    """Scale by the largest (kubernetes: plugins/helper/normalize_score.go)."""
    largest = max(raw, default=0)
    if not largest:
        return [MAX_SCORE] * len(raw) if reverse else raw
    scaled = [MAX_SCORE * each // largest for each in raw]
    return [MAX_SCORE - each for each in scaled] if reverse else scaled
