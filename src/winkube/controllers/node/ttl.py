"""How long kubelets may keep Secrets and ConfigMaps they have read, as an annotation of the node.

The more nodes there are, the longer; a size that wavers around a limit does not change it.
"""

from typing import Final

from winkube.api.errors import NotFoundError
from winkube.api.meta import annotations_of
from winkube.base.types import JsonObject
from winkube.client.resource import NODES
from winkube.controllers.controller import Context, Controller
from winkube.controllers.node.patch import NODE_WORKERS

ANNOTATION: Final = "node.alpha.kubernetes.io/ttl"
# (fewest nodes, most nodes, seconds)
_STEPS: Final = (
    (0, 100, 0),
    (90, 500, 15),
    (450, 1000, 30),
    (900, 2000, 60),
    (1800, 1 << 31, 300),
)


def next_step(step: int, nodes: int) -> int:
    while nodes > _STEPS[step][1]:
        step += 1
    while nodes < _STEPS[step][0]:
        step -= 1
    return step


class NodeTtlController(Controller):
    name = "ttl-controller"
    workers = NODE_WORKERS

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._step = 0
        self._nodes = self.informer(NODES)
        self._nodes.on_change(self._changed)

    def _changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if old is None or new is None:
            self._step = next_step(self._step, len(self._nodes))
        if new is not None and annotations_of(new).get(ANNOTATION) != self._wanted():
            self.queue.add(key)

    def _wanted(self) -> str:
        return str(_STEPS[self._step][2])

    async def reconcile(self, key: str) -> None:
        node = self._nodes.get(key)
        if node is None or annotations_of(node).get(ANNOTATION) == self._wanted():
            return
        change = {"metadata": {"annotations": {ANNOTATION: self._wanted()}}}
        try:
            await self.context.node_patches.patch(key, change)
        except NotFoundError:
            return
