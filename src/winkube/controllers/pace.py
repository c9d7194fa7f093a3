"""How fast pods are made for an owner whose pods no node takes.

Upstream makes them for ever, as fast as its client is allowed to ask. So do we, but the more pods
of a namespace wait for a node the longer the pauses: nobody notices while pods find nodes, and an
owner that wants more than any cluster has room for fills neither the memory nor everybody's time.
"""

from collections.abc import Sequence
from typing import Final

from winkube.api.meta import controller_of, namespace_of, uid_of
from winkube.base.clock import Clock
from winkube.base.types import JsonObject
from winkube.client.informer import Informer
from winkube.controllers.pods import is_active, node_of

# So many pods of one owner may wait for nodes without a word.
CROWD: Final = 1000
# So many may be asked for in the pause of a crowd that has just begun to be one.
BATCH: Final = 500
UNPLACED: Final = "unplaced"


def plan_pause(made: int, waiting: int, crowd: int) -> float:
    """Seconds after so many pods were made; ``waiting`` are the owner's, ``crowd`` all around."""
    if waiting < CROWD:
        return 0.0
    return made / BATCH * (crowd / CROWD) ** 2


class Pace:
    def __init__(self, clock: Clock, pods: Informer) -> None:
        self._clock = clock
        self._pods = pods
        self._until: dict[str, float] = {}
        pods.add_index(UNPLACED, _unplaced)

    def rest(self, owner: JsonObject) -> float:
        """Seconds until this owner may have more pods; 0 when it may now."""
        left = self._until.get(uid_of(owner), 0.0) - self._clock.monotonic()
        if left > 0:
            return left
        self._until.pop(uid_of(owner), None)
        return 0.0

    def made(self, owner: JsonObject, count: int) -> None:
        waiting = self._pods.count(UNPLACED, uid_of(owner))
        crowd = self._pods.count(UNPLACED, namespace_of(owner))
        pause = plan_pause(count, waiting, crowd)
        if pause:
            self._until[uid_of(owner)] = self._clock.monotonic() + pause
            self._forget_old()

    def _forget_old(self) -> None:
        now = self._clock.monotonic()
        for uid in [uid for uid, until in self._until.items() if until < now]:
            del self._until[uid]


def _unplaced(pod: JsonObject) -> Sequence[str]:
    """Under its namespace and under its owner, while it waits for a node."""
    if node_of(pod) or not is_active(pod):
        return ()
    owner = controller_of(pod)
    return (namespace_of(pod), owner["uid"]) if owner else (namespace_of(pod),)
