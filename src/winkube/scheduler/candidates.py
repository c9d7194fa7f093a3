"""The fast path: the best node for pods of one class, without looking at every node.

Theory of operation: pods with the same needs form a class. For each class we keep every node's
score in a heap per zone. A decision re-scores only the nodes that changed since the class was last
asked (the world's log names them) and takes the best heap top; entries of a node that was re-scored
are recognised by their stamp and dropped when they surface. The cost of a decision depends on what
changed, neither on the number of nodes nor on the number of pods.

Spreading the pods of one controller depends on the controller too. While its pods are on few nodes,
those nodes are marked down as they surface; once they are on many, the controller gets a class of
its own, with the spreading inside the scores.
"""

import dataclasses
import heapq
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from winkube.scheduler.node import NodeInfo
from winkube.scheduler.plugins.plugin import MAX_SCORE, Plugin
from winkube.scheduler.plugins.topology_spread import PodTopologySpread, default_score
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.world import World

REMEMBERED: Final = 64
# One pod more of a controller in a zone than elsewhere costs this much of a score.
ZONE_PENALTY: Final = 20.0
# Up to this many nodes are marked down one by one.
FEW_NODES: Final = 32
SPREAD: Final = PodTopologySpread.name

Weighted = tuple[tuple[Plugin, float], ...]
Entry = tuple[float, str, int]


class Candidates:
    def __init__(self, world: World, plugins: Weighted, pod: PodInfo, owner: str) -> None:
        self._world = world
        # The pod we stand for gets a node; the class has none.
        self._pod = dataclasses.replace(pod, node="", owner=owner)
        self._spread_weight = sum(w for plugin, w in plugins if plugin.name == SPREAD)
        self._static = [(plugin, weight) for plugin, weight in plugins if plugin.static]
        self._dynamic = [(plugin, weight) for plugin, weight in plugins if not plugin.static]
        self._kept: dict[str, tuple[int, float | None]] = {}
        self._stamps: dict[str, int] = {}
        self._heaps: dict[str, list[Entry]] = {}
        self._next = 0
        self._position = -1

    def best(self, owner: str) -> str | None:
        self._catch_up()
        counters = self._world.counters
        marked = {} if self._pod.owner else counters.owned(owner)
        tops = [(self._best_of(zone, marked), zone) for zone in list(self._heaps)]
        found = [(entry, zone) for entry, zone in tops if entry is not None]
        if not found:
            return None
        crowd = counters.owned_by_zone(owner)

        def cost(each: tuple[tuple[float, str], str]) -> tuple[float, str]:
            (negative, name), zone = each
            return negative + crowd.get(zone, 0) * ZONE_PENALTY, name

        return min(found, key=cost)[0][1]

    def _best_of(self, zone: str, marked: Mapping[str, int]) -> tuple[float, str] | None:
        """The cheapest node of a zone after marking down those that have pods of the owner."""
        best: tuple[float, str] | None = None
        surfaced: list[Entry] = []
        while (top := self._top(zone)) is not None and (best is None or top[0] <= best[0]):
            count = marked.get(top[1], 0)
            entry = (top[0] + self._spread_weight * (MAX_SCORE - default_score(count)), top[1])
            best = entry if best is None else min(best, entry)
            if not count:
                # What lies below costs more, even unmarked.
                break
            surfaced.append(heapq.heappop(self._heaps[zone]))
        for each in surfaced:
            heapq.heappush(self._heaps.setdefault(zone, []), each)
        return best

    def _catch_up(self) -> None:
        changed = self._world.changed_since(self._position) if self._position >= 0 else None
        if changed is None or len(changed) > len(self._world.nodes):
            self._stamps.clear()
            self._heaps.clear()
            changed = list(self._world.nodes)
        self._position = self._world.log_end
        for name in set(changed):
            self._rescore(name)

    def _rescore(self, name: str) -> None:
        node = self._world.nodes.get(name)
        score = None if node is None else self._score(node)
        if node is None or score is None:
            self._stamps.pop(name, None)
            return
        self._next += 1
        self._stamps[name] = self._next
        heap = self._heaps.setdefault(node.zone, [])
        heapq.heappush(heap, (-score, name, self._next))
        if len(heap) > 4 * len(self._world.nodes) + 64:
            heap[:] = [entry for entry in heap if self._stamps.get(entry[1]) == entry[2]]
            heapq.heapify(heap)

    def _score(self, node: NodeInfo) -> float | None:
        """None where the pod cannot run."""
        total = self._static_score(node)
        if total is None:
            return None
        pod, world = self._pod, self._world
        for plugin, weight in self._dynamic:
            if plugin.filter(pod, node, world):
                return None
            if weight:
                total += weight * plugin.score(pod, node, world)
        return total

    def _static_score(self, node: NodeInfo) -> float | None:
        kept = self._kept.get(node.name)
        if kept is not None and kept[0] == node.spec_version:
            return kept[1]
        pod, world = self._pod, self._world
        score: float | None = None
        if not any(plugin.filter(pod, node, world) for plugin, _ in self._static):
            score = sum(weight * plugin.score(pod, node, world) for plugin, weight in self._static)
        self._kept[node.name] = (node.spec_version, score)
        return score

    def _top(self, zone: str) -> Entry | None:
        heap = self._heaps[zone]
        while heap:
            entry = heap[0]
            if self._stamps.get(entry[1]) == entry[2]:
                return entry
            heapq.heappop(heap)
        del self._heaps[zone]
        return None


class CandidateCache:
    def __init__(self, world: World, plugins: Weighted, *, few: int = FEW_NODES) -> None:
        self._few = few
        self._world = world
        self._plugins = plugins
        self._classes: OrderedDict[tuple[bytes, str], Candidates] = OrderedDict()

    def of(self, pod: PodInfo) -> Candidates:
        spread_out = len(self._world.counters.owned(pod.owner)) > self._few
        key = (pod.shape.signature, pod.owner if spread_out else "")
        found = self._classes.get(key)
        if found is None:
            found = self._classes[key] = Candidates(self._world, self._plugins, pod, key[1])
            if len(self._classes) > REMEMBERED:
                self._classes.popitem(last=False)
        else:
            self._classes.move_to_end(key)
        return found
