"""The scheduler's picture of the cluster: nodes, the pods on them, and what changed when.

A pod we decided about is *assumed* on its node at once and stays so until the server's own word
about it arrives. Every change of a node is appended to a log; whoever keeps something derived from
nodes reads on from where it stopped, so one decision costs what changed since the last, not more.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import orjson

from winkube.api.selectors import from_label_selector
from winkube.base.types import JsonObject
from winkube.scheduler.counters import Counters, PodCounter
from winkube.scheduler.node import NodeInfo, scheduling_facts
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.volumes import Volumes

LOG_LIMIT: Final = 100_000


class AntiTerm:
    """One required anti-affinity term: whom it keeps away, and where pods that have it run."""

    def __init__(self, term: JsonObject, namespace: str) -> None:
        self.topology_key: str = term["topologyKey"]
        selector = from_label_selector(term.get("labelSelector"))
        # ``matches`` is about the pods kept away, ``by_node`` about the pods that keep away.
        self.counter = PodCounter(term_namespaces(term, namespace), selector)


def term_namespaces(term: JsonObject, own: str) -> frozenset[str] | None:
    """The namespaces a pod affinity term looks at: None is every one.

    Selecting namespaces by their labels is taken as all of them only when the selector is empty.
    """
    if term.get("namespaceSelector") == {}:
        return None
    return frozenset(term.get("namespaces") or (own,))


def _same(known: PodInfo, pod: PodInfo, node: str) -> bool:
    return (
        known.uid == pod.uid
        and known.node == node
        and known.shape is pod.shape
        and known.labels == pod.labels
    )


class World:
    def __init__(self) -> None:
        self.nodes: dict[str, NodeInfo] = {}
        self.counters = Counters()
        self.volumes = Volumes()
        self.zones: Counter[str] = Counter()
        # Grows with every change: equal numbers mean an unchanged picture.
        self.version = 0
        # Required anti-affinity of pods that run, each distinct term once.
        self.anti_terms: dict[bytes, AntiTerm] = {}
        self._pods: dict[str, PodInfo] = {}
        self._log: list[str] = []
        self._log_start = 0
        self._objects: dict[str, JsonObject] = {}
        self._waiting: dict[str, dict[str, PodInfo]] = {}

    # -- nodes

    def set_node(self, obj: JsonObject) -> bool:
        """Add or update; say whether it matters to scheduling."""
        name = obj["metadata"]["name"]
        old = self._objects.get(name)
        self._objects[name] = obj
        if old is not None and scheduling_facts(old) == scheduling_facts(obj):
            return False
        node = self.nodes.get(name)
        if node is None:
            node = self.nodes[name] = NodeInfo(name)
            for pod in self._waiting.pop(name, {}).values():
                node.add(pod)
        else:
            self._leave_zone(node.zone)
        zone = node.zone
        node.update(obj)
        self.counters.rezone(node.pods.values(), zone, node.zone)
        self.zones[node.zone] += 1
        self._changed(name)
        return True

    def remove_node(self, name: str) -> None:
        self._objects.pop(name, None)
        node = self.nodes.pop(name, None)
        if node is None:
            return
        # Its pods may outlive it for a while; should it come back, they count again.
        if node.pods:
            self._waiting[name] = dict(node.pods)
            self.counters.rezone(node.pods.values(), node.zone, "")
        self._leave_zone(node.zone)
        self._changed(name)

    def _leave_zone(self, zone: str) -> None:
        self.zones[zone] -= 1
        if self.zones[zone] <= 0:
            del self.zones[zone]

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
                return
            self.displace(pod.key)
        pod.node = node
        self._pods[pod.key] = pod
        target = self.nodes.get(node)
        if target is not None:
            target.add(pod)
        else:
            self._waiting.setdefault(node, {})[pod.key] = pod
        self.counters.change(pod, 1, target.zone if target else "")
        self._count_anti_terms(pod, 1)
        self._changed(node)

    def displace(self, key: str) -> PodInfo | None:
        """The pod takes up no room any more."""
        pod = self._pods.pop(key, None)
        if pod is None:
            return None
        target = self.nodes.get(pod.node)
        if target is not None:
            target.remove(pod)
        self._waiting.get(pod.node, {}).pop(key, None)
        self.counters.change(pod, -1, target.zone if target else "")
        self._count_anti_terms(pod, -1)
        self._changed(pod.node)
        return pod

    def _count_anti_terms(self, pod: PodInfo, sign: int) -> None:
        required = pod.shape.pod_anti_affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
        for term in required or ():
            key = orjson.dumps([pod.namespace, term], option=orjson.OPT_SORT_KEYS)
            found = self.anti_terms.get(key)
            if found is None:
                found = self.anti_terms[key] = AntiTerm(term, pod.namespace)
            found.counter.by_node[pod.node] += sign
            if found.counter.by_node[pod.node] <= 0:
                del found.counter.by_node[pod.node]
            if not found.counter.by_node:
                del self.anti_terms[key]

    def is_shunned(self, pod: PodInfo) -> bool:
        """Say whether a pod that runs wants this one kept away from it."""
        return any(term.counter.matches(pod) for term in self.anti_terms.values())

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

    def domains(self, topology_key: str) -> Mapping[str, list[NodeInfo]]:
        found: dict[str, list[NodeInfo]] = {}
        for node in self.nodes.values():
            value = node.labels.get(topology_key)
            if value is not None:
                found.setdefault(value, []).append(node)
        return found
