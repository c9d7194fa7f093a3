"""The scheduler's picture of the cluster: nodes, the pods on them, and what changed when.

A pod we decided about is *assumed* on its node at once and stays so until the server's own word
about it arrives. Every change of a node is appended to a log; whoever keeps something derived from
nodes reads on from where it stopped, so one decision costs what changed since the last, not more.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from winkube.api.selector.index import exact_label
from winkube.api.selector.labels import LabelSelector
from winkube.base.types import JsonObject
from winkube.scheduler.counters import Alike, Counters
from winkube.scheduler.node import NodeInfo, changed_aspects
from winkube.scheduler.placed_terms import PlacedTerms
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.spreading import Spreading
from winkube.scheduler.terms import Term
from winkube.scheduler.volumes import Volumes

LOG_LIMIT: Final = 100_000
REMEMBERED: Final = 4096
ADDED: Final = frozenset(("added",))
UNCHANGED: Final[frozenset[str]] = frozenset()

Label = tuple[str, str]


def _same(known: PodInfo, pod: PodInfo, node: str) -> bool:
    return (
        known.uid == pod.uid
        and known.node == node
        and known.shape is pod.shape
        and known.labels == pod.labels
        and known.terminating == pod.terminating
    )


class World:
    def __init__(self) -> None:
        self.nodes: dict[str, NodeInfo] = {}
        self.counters = Counters(self._pods_about)
        self.volumes = Volumes()
        self.spreading = Spreading()
        # Which namespaces there are, by name, with their labels.
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self.budgets: Callable[[], Iterable[JsonObject]] = lambda: ()
        # How many nodes have an image.
        self.images: Counter[str] = Counter()
        # Grows with every change: equal numbers mean an unchanged picture.
        self.version = 0
        self.terms = PlacedTerms()
        # Pods that wait for others to leave a node, by node and uid.
        self.nominated: dict[str, dict[str, PodInfo]] = {}
        self._nominees: dict[str, str] = {}
        self._pods: dict[str, PodInfo] = {}
        self._labels: dict[Label, dict[str, PodInfo]] = {}
        self._log: list[str] = []
        self._log_start = 0
        self._objects: dict[str, JsonObject] = {}
        self._waiting: dict[str, dict[str, PodInfo]] = {}
        self._grouped: tuple[int, list[list[tuple[PodInfo, str]]]] = (-1, [])
        self._meant: dict[LabelSelector, frozenset[str]] = {}

    # -- nodes

    def set_node(self, obj: JsonObject) -> frozenset[str]:
        """Add or update; say what of it changed that matters to scheduling."""
        name = obj["metadata"]["name"]
        old = self._objects.get(name)
        self._objects[name] = obj
        changed = ADDED if old is None else changed_aspects(old, obj)
        if not changed:
            return UNCHANGED
        node = self.nodes.get(name)
        if node is None:
            node = self.nodes[name] = NodeInfo(name)
            for pod in self._waiting.pop(name, {}).values():
                node.add(pod)
        zone = node.zone
        self.images.subtract(node.images.keys())
        node.update(obj)
        self.images.update(node.images.keys())
        self.counters.rezone(node.pods.values(), zone, node.zone)
        self._changed(name)
        return changed

    def remove_node(self, name: str) -> JsonObject | None:
        obj = self._objects.pop(name, None)
        node = self.nodes.pop(name, None)
        if node is None:
            return None
        # Its pods may outlive it for a while; should it come back, they count again.
        if node.pods:
            self._waiting[name] = dict(node.pods)
            self.counters.rezone(node.pods.values(), node.zone, "")
        self.images.subtract(node.images.keys())
        self._changed(name)
        return obj

    def labels_of_namespace(self, name: str) -> Mapping[str, str]:
        return self.namespaces.get(name, {})

    # -- pods

    def pod(self, key: str) -> PodInfo | None:
        return self._pods.get(key)

    def pods(self) -> Iterable[PodInfo]:
        return self._pods.values()

    def place(self, pod: PodInfo, node: str) -> None:
        """The pod is on this node, assumed or for certain."""
        known = self._pods.get(pod.key)
        if known is not None:
            if _same(known, pod, node):
                known.start, known.preempted = pod.start, pod.preempted
                return
            self.displace(pod.key)
        pod.node = node
        self._pods[pod.key] = pod
        for label in pod.labels.items():
            self._labels.setdefault(label, {})[pod.key] = pod
        target = self.nodes.get(node)
        if target is not None:
            target.add(pod)
        else:
            self._waiting.setdefault(node, {})[pod.key] = pod
        self._count(pod, 1, target)

    def displace(self, key: str) -> PodInfo | None:
        """The pod takes up no room any more."""
        pod = self._pods.pop(key, None)
        if pod is None:
            return None
        for label in pod.labels.items():
            pods = self._labels[label]
            pods.pop(key, None)
            if not pods:
                del self._labels[label]
        target = self.nodes.get(pod.node)
        if target is not None:
            target.remove(pod)
        self._waiting.get(pod.node, {}).pop(key, None)
        self._count(pod, -1, target)
        return pod

    def _count(self, pod: PodInfo, sign: int, node: NodeInfo | None) -> None:
        self.counters.change(pod, sign, node.zone if node else "")
        self.volumes.count(pod.claims, sign)
        if pod.terms.any:
            self.terms.change(pod, sign)
        self._changed(pod.node)

    def _pods_about(self, term: Term) -> Iterable[Alike]:
        label = exact_label(term.selector)
        if label is None:
            return self._alike()
        pods = self._labels.get(label, {}).values()
        return [((pod, self._zone(pod)),) for pod in pods]

    def _zone(self, pod: PodInfo) -> str:
        node = self.nodes.get(pod.node)
        return node.zone if node else ""

    def _alike(self) -> Iterable[Alike]:
        """All pods, grouped once for all the counters that one decision may need."""
        if self._grouped[0] != self.version:
            groups: dict[object, list[tuple[PodInfo, str]]] = {}
            for pod in self._pods.values():
                key = (pod.namespace, pod.terminating, *pod.labels.items())
                groups.setdefault(key, []).append((pod, self._zone(pod)))
            self._grouped = (self.version, list(groups.values()))
        return self._grouped[1]

    # -- namespaces

    def set_namespace(self, name: str, labels: Mapping[str, str] | None) -> None:
        """None says that it is gone."""
        self._meant.clear()
        if labels is None:
            self.namespaces.pop(name, None)
        else:
            self.namespaces[name] = labels

    def namespaces_of(self, selector: LabelSelector) -> frozenset[str]:
        found = self._meant.get(selector)
        if found is None:
            if len(self._meant) > REMEMBERED:
                self._meant.clear()
            names = (name for name, labels in self.namespaces.items() if selector.matches(labels))
            found = self._meant[selector] = frozenset(names)
        return found

    # -- pods that were promised a node

    def nominate(self, pod: PodInfo, node: str) -> None:
        """Keep room for the pod on this node; an empty name keeps none."""
        old = self._nominees.pop(pod.uid, "")
        if old:
            promised = self.nominated[old]
            promised.pop(pod.uid, None)
            if not promised:
                del self.nominated[old]
            self._changed(old)
        if node:
            self._nominees[pod.uid] = node
            self.nominated.setdefault(node, {})[pod.uid] = pod
            self._changed(node)

    def nominee(self, uid: str) -> PodInfo | None:
        return self.nominated.get(self._nominees.get(uid, ""), {}).get(uid)

    def nomination_of(self, uid: str) -> str:
        return self._nominees.get(uid, "")

    # -- the log of changes

    def _changed(self, node: str) -> None:
        self.version += 1
        self._log.append(node)
        if len(self._log) > LOG_LIMIT:
            half = LOG_LIMIT // 2
            del self._log[:half]
            self._log_start += half

    @property
    def log_end(self) -> int:
        return self._log_start + len(self._log)

    def changed_since(self, position: int) -> Sequence[str] | None:
        """The nodes that changed after ``position``; None when the log no longer tells."""
        if position < self._log_start:
            return None
        return self._log[position - self._log_start :]
