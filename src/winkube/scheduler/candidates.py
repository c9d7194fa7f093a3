"""The fast path: the best node for pods of one class, without looking at every node.

Theory of operation: pods with the same needs form a class. For each class we keep the score of
every node that would take such a pod, in a heap per *bucket*. A decision re-scores only the nodes
that changed since the class was last asked (the world's log names them) and compares the heap tops;
entries of a node that was re-scored are recognised by their stamp and dropped when they surface.
The cost of a decision depends on what changed, neither on the number of nodes nor of pods.

Two things make scores depend on other nodes. Some rules scale by the largest value among the nodes
that fit: those values are kept apart, and the heaps are filled anew when the largest changes.
Spreading pods that belong together depends on how many of them a node and its zone have: nodes of
one zone with equally many are alike in that, so they share a bucket, and the spreading is added to
the top of a bucket, not to each node. The nodes that have such pods are looked at one by one, so
that all groups of pods share the class; a group that is on many nodes and is asked for again and
again gets a class with buckets of its own.
"""

import heapq
import math
import random
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from winkube.api.selector.labels import LabelSelector
from winkube.scheduler.counters import PodCounter
from winkube.scheduler.cycle import Cycle
from winkube.scheduler.node import HOSTNAME, ZONE, NodeInfo
from winkube.scheduler.plugins.node_affinity import matches_node
from winkube.scheduler.plugins.plugin import Plugin
from winkube.scheduler.plugins.topology_spread import HOST_SKEW, ZONE_SKEW, spread_score
from winkube.scheduler.profile import Profile
from winkube.scheduler.shape import PodInfo, Shape
from winkube.scheduler.terms import Term
from winkube.scheduler.world import World

REMEMBERED: Final = 64
# Up to this many nodes are always looked at one by one.
FEW_NODES: Final = 32
# A group is asked for again and again when it was meant in half of so many decisions.
RECENT: Final = 16

# The zone (None without the label), whether the node has a host name label, pods of the group.
Bucket = tuple[str | None, bool, int]
Entry = tuple[int, float, str, int]
TieBreak = Callable[[], float]


def counter_for(pod: PodInfo, selector: LabelSelector, world: World) -> PodCounter:
    return world.counters.of((Term("", selector, frozenset((pod.namespace,))),))


class Seat:
    """A node that would take pods of the class, as its scores see it."""

    __slots__ = ("absolute", "bucket", "entry", "raw", "stamp")

    def __init__(self, absolute: int, raw: tuple[int, ...], bucket: Bucket) -> None:
        self.absolute = absolute
        self.raw = raw
        self.bucket = bucket
        self.stamp = 0
        # As it is in the heap.
        self.entry: Entry = (0, 0.0, "", 0)


class Candidates:
    def __init__(
        self,
        profile: Profile,
        cycle: Cycle,
        *,
        tie_break: TieBreak,
        group: LabelSelector | None = None,
    ) -> None:
        self._cycle = cycle
        self._world = cycle.world
        self._tie_break = tie_break
        # Set for a class that is not shared: its buckets tell how many pods of the group there are.
        self._group = group
        scorers = [each for each in profile.scorers if not each[0].relational]
        active = [(p, weight) for p, weight in scorers if p.begin_scores(cycle, ())]
        self._kept_scores = [each for each in active if each[0].static and not _is_scaled(each[0])]
        self._fresh_scores = [each for each in active if not each[0].static]
        self._scaled = [each for each in active if _is_scaled(each[0])]
        self._kept_filters = [p for p in cycle.filters if p.static]
        self._fresh_filters = [p for p in cycle.filters if not p.static and not p.relational]
        self._kept: dict[str, tuple[int, int | None, tuple[int, ...]]] = {}
        self._images: tuple[int, ...] = ()
        self.seats: dict[str, Seat] = {}
        self._raw_counts: list[Counter[int]] = [Counter() for _ in self._scaled]
        self._largest: tuple[int, ...] = ()
        self._zones: Counter[str | None] = Counter()
        self._heaps: dict[Bucket, list[Entry]] = {}
        self._stamp = 0
        self._position = -1

    # -- keeping up with the world

    def catch_up(self) -> None:
        world = self._world
        images = tuple(world.images[name] for name in self._cycle.shape.images)
        if any(images):
            images = (len(world.nodes), *images)
        fresh = world.changed_since(self._position) if self._position >= 0 else None
        if images != self._images:
            # How common an image is changes the scores of all nodes that have it.
            self._images, fresh = images, None
            self._kept.clear()
        changed: Iterable[str]
        if fresh is None or len(fresh) > len(world.nodes):
            changed = {*world.nodes, *self.seats}
        else:
            changed = set(fresh)
        self._position = world.log_end
        counts = self._group_counts()
        moved = [name for name in changed if self._rescore(name, counts)]
        largest = tuple(max(counts, default=0) for counts in self._raw_counts)
        if largest != self._largest:
            self._largest = largest
            self._heaps.clear()
            moved = list(self.seats)
        for name in moved:
            self._push(name)

    def _group_counts(self) -> Mapping[str, int]:
        if self._group is None:
            return {}
        return counter_for(self._cycle.pod, self._group, self._world).by_node

    def _rescore(self, name: str, counts: Mapping[str, int]) -> bool:
        """Work out a node's values anew; say whether it would take a pod."""
        old = self.seats.pop(name, None)
        if old is not None:
            self._count(old, -1)
        node = self._world.nodes.get(name)
        seat = None if node is None else self._seat(node, counts)
        if seat is None:
            return False
        self.seats[name] = seat
        self._count(seat, 1)
        return True

    def _count(self, seat: Seat, sign: int) -> None:
        for counts, value in zip(self._raw_counts, seat.raw, strict=True):
            counts[value] += sign
            if not counts[value]:
                del counts[value]
        self._zones[seat.bucket[0]] += sign
        if not self._zones[seat.bucket[0]]:
            del self._zones[seat.bucket[0]]

    def _seat(self, node: NodeInfo, counts: Mapping[str, int]) -> Seat | None:
        cycle = self._cycle
        total, raw = self._static(node)
        if total is None or cycle.check(node, self._fresh_filters) is not None:
            return None
        for plugin, weight in self._fresh_scores:
            total += weight * plugin.score(cycle, node)
        bucket = (node.labels.get(ZONE), HOSTNAME in node.labels, counts.get(node.name, 0))
        return Seat(total, raw, bucket)

    def _static(self, node: NodeInfo) -> tuple[int | None, tuple[int, ...]]:
        kept = self._kept.get(node.name)
        if kept is not None and kept[0] == node.spec_version:
            return kept[1], kept[2]
        cycle = self._cycle
        score: int | None = None
        raw: tuple[int, ...] = ()
        if not any(plugin.filter(cycle, node) for plugin in self._kept_filters):
            score = sum(weight * plugin.score(cycle, node) for plugin, weight in self._kept_scores)
            raw = tuple(plugin.score(cycle, node) for plugin, _ in self._scaled)
        self._kept[node.name] = (node.spec_version, score, raw)
        return score, raw

    def _push(self, name: str) -> None:
        seat = self.seats[name]
        self._stamp += 1
        seat.stamp = self._stamp
        seat.entry = (-self._total(seat), self._tie_break(), name, seat.stamp)
        heap = self._heaps.setdefault(seat.bucket, [])
        heapq.heappush(heap, seat.entry)
        if len(heap) > 4 * len(self.seats) + 64:
            heap[:] = [entry for entry in heap if self._is_valid(entry)]
            heapq.heapify(heap)

    def _is_valid(self, entry: Entry) -> bool:
        seat = self.seats.get(entry[2])
        return seat is not None and seat.stamp == entry[3]

    def _total(self, seat: Seat) -> int:
        """Everything but spreading, scaled among all nodes of the class."""
        found = seat.absolute
        for (plugin, weight), value, largest in zip(
            self._scaled, seat.raw, self._largest, strict=True
        ):
            scaled = plugin.normalize(self._cycle, (), [value, largest])
            found += weight * scaled[0]
        return found

    def scores(self, nodes: Iterable[NodeInfo]) -> list[int]:
        """Everything but the relational rules, scaled among these nodes."""
        seats = [self.seats[node.name] for node in nodes]
        totals = [seat.absolute for seat in seats]
        for number, (plugin, weight) in enumerate(self._scaled):
            scaled = plugin.normalize(self._cycle, (), [seat.raw[number] for seat in seats])
            totals = [total + weight * value for total, value in zip(totals, scaled, strict=True)]
        return totals

    # -- the best node

    def best(self, pod: PodInfo, group: LabelSelector | None, weight: int) -> str | None:
        """``group`` selects the pods it is to be spread from, ``weight`` is what that weighs."""
        self.catch_up()
        if group is None or not weight:
            tops = [top for bucket in list(self._heaps) if (top := self._top(bucket))]
            return min(tops)[2] if tops else None
        counter = counter_for(pod, group, self._world)
        spread = _Spread(pod, counter, self._world, len(self.seats), len(self._zones))
        marked = {} if self._group is not None else counter.by_node
        found = [
            (spread.raw(bucket), top)
            for bucket in list(self._heaps)
            if (top := self._unmarked_top(bucket, marked)) is not None
        ]
        found += [(spread.raw(bucket), top) for bucket, top in self._marked_tops(marked).items()]
        if not found:
            return None
        least, most = min(raw for raw, _ in found), max(raw for raw, _ in found)
        ranked = (
            (top[0] - weight * spread_score(raw, least, most), top[1], top[2]) for raw, top in found
        )
        return min(ranked)[2]

    def _top(self, bucket: Bucket) -> Entry | None:
        heap = self._heaps[bucket]
        while heap:
            if self._is_valid(heap[0]):
                return heap[0]
            heapq.heappop(heap)
        del self._heaps[bucket]
        return None

    def _marked_tops(self, marked: Mapping[str, int]) -> dict[Bucket, Entry]:
        """The best of the nodes that have pods of the group, as if they had buckets."""
        found: dict[int, dict[Bucket, Entry]] = {}
        seats = self.seats
        for name, count in marked.items():
            seat = seats.get(name)
            if seat is not None:
                tops = found.get(count)
                if tops is None:
                    tops = found[count] = {}
                best = tops.get(seat.bucket)
                if best is None or seat.entry < best:
                    tops[seat.bucket] = seat.entry
        return {
            (zone, has_host, count): entry
            for count, tops in found.items()
            for (zone, has_host, _), entry in tops.items()
        }

    def _unmarked_top(self, bucket: Bucket, marked: Mapping[str, int]) -> Entry | None:
        """The best node of a bucket that has no pod of the group."""
        surfaced: list[Entry] = []
        found: Entry | None = None
        while (top := self._top(bucket)) is not None:
            if top[2] not in marked:
                found = top
                break
            surfaced.append(heapq.heappop(self._heaps[bucket]))
        heap = self._heaps.setdefault(bucket, []) if surfaced else []
        for entry in surfaced:
            heapq.heappush(heap, entry)
        return found


def _is_scaled(plugin: Plugin) -> bool:
    return type(plugin).normalize is not Plugin.normalize


class _Spread:
    """What spreading says of a bucket (PodTopologySpread with the system's constraints)."""

    def __init__(
        self, pod: PodInfo, counter: PodCounter, world: World, nodes: int, zones: int
    ) -> None:
        self._host_weight = math.log(nodes + 2)
        self._zone_weight = math.log(zones + 2)
        self._in_zone: Mapping[str, int] = counter.by_zone
        if pod.shape.node_selector or pod.shape.node_affinity:
            self._in_zone = Counter(dict(self._wanted_only(pod, counter, world)))

    @staticmethod
    def _wanted_only(pod: PodInfo, counter: PodCounter, world: World) -> Iterator[tuple[str, int]]:
        counts: Counter[str] = Counter()
        for name, count in counter.by_node.items():
            node = world.nodes.get(name)
            if node is not None and matches_node(pod, node):
                counts[node.zone] += count
        yield from counts.items()

    def raw(self, bucket: Bucket) -> int:
        zone, has_host, count = bucket
        total = 0.0
        if has_host:
            total += count * self._host_weight + (HOST_SKEW - 1)
        if zone is not None:
            total += self._in_zone.get(zone, 0) * self._zone_weight + (ZONE_SKEW - 1)
        return math.floor(total + 0.5)


class CandidateCache:
    def __init__(
        self,
        profile: Profile,
        world: World,
        *,
        few: int = FEW_NODES,
        tie_break: TieBreak = random.random,
    ) -> None:
        self._few = few
        self._profile = profile
        self._world = world
        self._tie_break = tie_break
        self._classes: OrderedDict[tuple[Shape, object], Candidates] = OrderedDict()
        self._recent: deque[tuple[int, int]] = deque(maxlen=RECENT)

    def of(
        self, pod: PodInfo, group: LabelSelector | None, make_cycle: Callable[[PodInfo], Cycle]
    ) -> Candidates:
        """The class of a pod; its group matters only once it is on many nodes."""
        own = group if group is not None and self._is_large(pod, group) else None
        key = (pod.shape, own and (pod.namespace, own))
        found = self._classes.get(key)
        if found is None:
            cycle = make_cycle(pod)
            found = Candidates(self._profile, cycle, tie_break=self._tie_break, group=own)
            self._classes[key] = found
            if len(self._classes) > REMEMBERED:
                self._classes.popitem(last=False)
        else:
            self._classes.move_to_end(key)
        return found

    def _is_large(self, pod: PodInfo, group: LabelSelector) -> bool:
        asked = (id(pod.shape), id(group))
        self._recent.append(asked)
        if len(counter_for(pod, group, self._world).by_node) <= self._few:
            return False
        return self._recent.count(asked) * 2 >= min(RECENT, len(self._recent))
