"""A node as the scheduler sees it: what it has, and what the pods on it take."""

import itertools
from collections import Counter
from typing import Final

from winkube.api.meta import labels_of
from winkube.base.types import JsonObject
from winkube.scheduler.resources import CPU, MEMORY, PODS, resource_amount
from winkube.scheduler.shape import PodInfo, Port

ANY: Final = "0.0.0.0"
ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"
# Never the same number twice, also for a node that comes back under its old name.
_versions: Final = itertools.count(1)


class NodeInfo:
    __slots__ = (
        "allocatable",
        "cpu",
        "images",
        "labels",
        "memory",
        "name",
        "pod_limit",
        "pods",
        "ports",
        "priorities",
        "requested",
        "spec_version",
        "taints",
        "unschedulable",
        "weight_cpu",
        "weight_memory",
        "zone",
    )  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name = name
        self.spec_version = 0
        self.pods: dict[str, PodInfo] = {}
        self.ports: Counter[Port] = Counter()
        self.requested: Counter[str] = Counter()
        # How many pods of each priority it has: preemption asks for the lowest.
        self.priorities: Counter[int] = Counter()
        self.weight_cpu = self.weight_memory = 0
        self.update({"metadata": {"name": name}})

    def update(self, obj: JsonObject) -> None:
        """Take over the node object; the pods stay."""
        self.spec_version = next(_versions)
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        self.labels: dict[str, str] = labels_of(obj)
        self.taints: list[JsonObject] = spec.get("taints") or []
        self.unschedulable = bool(spec.get("unschedulable"))
        given = status.get("allocatable") or status.get("capacity") or {}
        self.allocatable = {name: resource_amount(name, value) for name, value in given.items()}
        self.cpu = self.allocatable.get(CPU, 0)
        self.memory = self.allocatable.get(MEMORY, 0)
        self.pod_limit = self.allocatable.get(PODS, 0)
        self.zone = self.labels.get(ZONE, "")
        self.images: dict[str, int] = {
            name: int(image.get("sizeBytes") or 0)
            for image in status.get("images") or ()
            for name in image.get("names") or ()
        }

    def add(self, pod: PodInfo) -> None:
        self._count(pod, 1)
        self.pods[pod.key] = pod

    def remove(self, pod: PodInfo) -> None:
        if self.pods.pop(pod.key, None) is not None:
            self._count(pod, -1)

    def _count(self, pod: PodInfo, sign: int) -> None:
        shape, requested = pod.shape, self.requested
        for name, amount in shape.requests.items():
            requested[name] += sign * amount
        self.weight_cpu += sign * shape.weight_cpu
        self.weight_memory += sign * shape.weight_memory
        self.priorities[shape.priority] += sign
        if not self.priorities[shape.priority]:
            del self.priorities[shape.priority]
        for port in shape.ports:
            self.ports[port] += sign
            if not self.ports[port]:
                del self.ports[port]

    def has_below(self, priority: int) -> bool:
        """Say whether a pod of this priority could push another one out."""
        return any(each < priority for each in self.priorities)

    def port_taken(self, port: Port) -> bool:
        """Every address and one address exclude each other."""
        if not self.ports:
            return False
        address, protocol, number = port
        if address != ANY:
            return port in self.ports or (ANY, protocol, number) in self.ports
        return any(taken[1:] == (protocol, number) for taken in self.ports)


_ASPECTS: Final = ("labels", "taints", "allocatable", "images")


def scheduling_facts(obj: JsonObject) -> tuple[object, ...]:
    """What of a node object can change a decision, in the order of ``_ASPECTS``."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return (
        labels_of(obj),
        (spec.get("taints") or [], bool(spec.get("unschedulable"))),
        status.get("allocatable") or status.get("capacity"),
        status.get("images"),
    )


def changed_aspects(old: JsonObject, new: JsonObject) -> frozenset[str]:
    pairs = zip(_ASPECTS, scheduling_facts(old), scheduling_facts(new), strict=True)
    return frozenset(name for name, before, after in pairs if before != after)
