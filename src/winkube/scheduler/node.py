"""A node as the scheduler sees it: what it has, and what the pods on it take."""

from collections import Counter
from typing import Any, Final

from winkube.api.meta import labels_of, name_of
from winkube.base.types import JsonObject
from winkube.scheduler.shape import CPU, MEMORY, PODS, PodInfo, Port, resource_amount

ANY: Final = "0.0.0.0"
ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"


class NodeInfo:
    __slots__ = (
        "allocatable",
        "cpu",
        "labels",
        "memory",
        "name",
        "pod_limit",
        "pods",
        "ports",
        "requested",
        "spec_version",
        "taints",
        "unschedulable",
        "used_cpu",
        "used_memory",
        "version",
        "weight_cpu",
        "weight_memory",
        "zone",
    )  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name = name
        self.version = self.spec_version = 0
        self.pods: dict[str, PodInfo] = {}
        self.ports: Counter[Port] = Counter()
        self.requested: Counter[str] = Counter()
        self.used_cpu = self.used_memory = self.weight_cpu = self.weight_memory = 0
        self.update({"metadata": {"name": name}})

    def update(self, obj: JsonObject) -> None:
        """Take over the node object; the pods stay."""
        self.spec_version += 1
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

    def add(self, pod: PodInfo) -> None:
        self._count(pod, 1)
        self.pods[pod.key] = pod

    def remove(self, pod: PodInfo) -> None:
        if self.pods.pop(pod.key, None) is not None:
            self._count(pod, -1)

    def _count(self, pod: PodInfo, sign: int) -> None:
        shape = pod.shape
        for name, amount in shape.requests.items():
            self.requested[name] += sign * amount
        self.used_cpu = self.requested[CPU]
        self.used_memory = self.requested[MEMORY]
        self.weight_cpu += sign * shape.weight_cpu
        self.weight_memory += sign * shape.weight_memory
        for port in shape.ports:
            self.ports[port] += sign
        self.version += 1

    def port_taken(self, port: Port) -> bool:
        """Every address and one address exclude each other."""
        address, protocol, number = port
        if not self.ports:
            return False
        if address != ANY:
            return self.ports[port] > 0 or self.ports[(ANY, protocol, number)] > 0
        return any(
            count > 0 and taken[1:] == (protocol, number) for taken, count in self.ports.items()
        )


def scheduling_facts(obj: JsonObject) -> Any:
    """What of a node object can change a decision; heartbeats do not."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return (
        name_of(obj),
        labels_of(obj),
        spec.get("taints"),
        spec.get("unschedulable"),
        status.get("allocatable") or status.get("capacity"),
    )
