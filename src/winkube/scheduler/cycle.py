"""One try of one pod: what the rules worked out beforehand, and what they say about a node."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from winkube.scheduler.node import NodeInfo
from winkube.scheduler.plugins.plugin import Plugin, Refusal, State
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.world import World


class Cycle:
    __slots__ = ("filters", "pod", "shape", "states", "world")

    def __init__(self, pod: PodInfo, world: World, plugins: Iterable[Plugin]) -> None:
        self.pod = pod
        self.shape = pod.shape
        self.world = world
        self.states: dict[str, State] = {}
        # Only the rules that have something to say about this pod, in their order.
        self.filters: list[Plugin] = [plugin for plugin in plugins if plugin.begin(self)]

    def check(
        self, node: NodeInfo, plugins: Sequence[Plugin] | None = None
    ) -> tuple[Plugin, Refusal] | None:
        """Who refuses the node, and why; pods that were promised the node count as being there.

        A second look without them is needed: a rule may hold only because of them.
        """
        filters = self.filters if plugins is None else plugins
        promised = self.world.nominated.get(node.name)
        if promised:
            pod = self.pod
            guests = [
                each
                for each in promised.values()
                if each.priority >= pod.priority and each.uid != pod.uid
            ]
            if guests:
                with self._with(guests, node):
                    found = self._first(filters, node)
                if found is not None:
                    return found
        return self._first(filters, node)

    def _first(self, filters: Sequence[Plugin], node: NodeInfo) -> tuple[Plugin, Refusal] | None:
        for plugin in filters:
            refusal = plugin.filter(self, node)
            if refusal is not None:
                return plugin, refusal
        return None

    @contextmanager
    def _with(self, guests: Sequence[PodInfo], node: NodeInfo) -> Iterator[None]:
        for pod in guests:
            self.add(pod, node)
        try:
            yield
        finally:
            for pod in guests:
                self.remove(pod, node)

    # -- what if: the picture itself stays as it is

    def add(self, pod: PodInfo, node: NodeInfo) -> None:
        node.add(pod)
        for state in self.states.values():
            state.shift(pod, node, 1)

    def remove(self, pod: PodInfo, node: NodeInfo) -> None:
        node.remove(pod)
        for state in self.states.values():
            state.shift(pod, node, -1)
