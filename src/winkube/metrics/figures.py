"""Two scrapes make a rate: the last two points of every node and container."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from winkube.metrics.scrape import PodKey, Point, Scrape

_NANO: Final = 10**9
# A container younger than this has too short a life for a rate of its own.
_YOUNGEST: Final = 2 * _NANO


@dataclass(frozen=True, slots=True)
class Figure:
    """Nano-cores and bytes, over ``window`` nanoseconds until ``at``."""

    cpu: int
    memory: int
    at: int
    window: int


@dataclass(slots=True)
class _Pair:
    last: Point
    before: Point | None = None


class Figures:
    def __init__(self) -> None:
        self._nodes: dict[str, _Pair] = {}
        self._pods: dict[PodKey, dict[str, _Pair]] = {}
        self._at: dict[PodKey, str] = {}  # where each pod was seen

    def take(self, node: str, scrape: Scrape) -> None:
        """Add what a node said; pods it had before and has no more are gone."""
        if scrape.node.complete:
            self._nodes[node] = _paired(self._nodes.get(node), scrape.node)
        for key in [key for key, where in self._at.items() if where == node]:
            if key not in scrape.pods:
                del self._at[key], self._pods[key]
        for key, containers in scrape.pods.items():
            if not all(point.complete for point in containers.values()):
                continue
            old = self._pods.get(key) or {}
            self._pods[key] = {
                name: _paired(old.get(name), point) for name, point in containers.items()
            }
            self._at[key] = node

    def keep_only(self, nodes: Iterable[str]) -> None:
        kept = set(nodes)
        for node in self._nodes.keys() - kept:
            del self._nodes[node]
        for key in [key for key, where in self._at.items() if where not in kept]:
            del self._at[key], self._pods[key]

    @property
    def waiting(self) -> bool:
        """Whether something was seen once only, so that a second look will tell more."""
        pairs = [pair for pod in self._pods.values() for pair in pod.values()]
        return any(pair.before is None for pair in (*pairs, *self._nodes.values()))

    def node(self, name: str) -> Figure | None:
        pair = self._nodes.get(name)
        return None if pair is None else _figure(pair)

    def pod(self, key: PodKey) -> dict[str, Figure] | None:
        """By container; None as long as any of them has no figure."""
        figures = {name: _figure(pair) for name, pair in (self._pods.get(key) or {}).items()}
        known = {name: figure for name, figure in figures.items() if figure is not None}
        return known if known and len(known) == len(figures) else None


def _paired(old: _Pair | None, point: Point) -> _Pair:
    if old is None or point.cpu < old.last.cpu or point.started > old.last.at:
        return _Pair(point)  # new, or started again: what was counted before does not go on
    if point.at <= old.last.at:
        return old  # the kubelet has nothing newer
    return _Pair(point, old.last)


def _figure(pair: _Pair) -> Figure | None:
    last, before = pair.last, pair.before
    if before is None:
        if not last.started or last.at - last.started < _YOUNGEST:
            return None
        # All it used, it used since it started.
        before = Point(at=last.started, cpu=0)
    window = last.at - before.at
    return Figure((last.cpu - before.cpu) * _NANO // window, last.memory, last.at, window)
