"""A simulated node: its Node object, what it has given away, its pods' addresses."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.facts.version import SERVED
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.node.machine import MachineFacts
from winkube.kubelet.node.status import (
    Pressure,
    RuntimeHealth,
    conditions,
    new_node,
    node_status,
)
from winkube.kubelet.pod.admission import Host, check_pod, host_ports
from winkube.kubelet.spec.resources import pod_requests
from winkube.machines.personality import find_personality

GIBI: Final = 1 << 30
RUNTIME: Final = RuntimeHealth("containerd://1.7.0", ())
# RFC 2544's range for measurements: no real host answers there.
NODE_NETWORK: Final = ipaddress.ip_network("198.18.0.0/15")
# Where pods of a node without podCIDR live: RFC 6598's shared space.
_POD_NETWORK: Final = ipaddress.ip_network("100.64.0.0/10")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NOWHERE: Final = Path("/nonexistent")


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """``windows`` names a Windows version, e.g. ``ltsc2022``; empty is a Linux node.

    Addresses follow from ``number``, or from a node's place among the others. With ``own_range``
    a node brings its pod range along; else the control plane gives it one of the cluster's.
    """

    name: str
    windows: str = ""
    cpus: int = 32
    memory_bytes: int = 256 * GIBI
    max_pods: int = 110
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[JsonObject, ...] = ()
    number: int | None = None
    own_range: bool = False
    kube_version: str = f"v{SERVED}.0"


class SimulatedNode:
    def __init__(self, spec: NodeSpec, place: int) -> None:
        number = place if spec.number is None else spec.number
        self.name = spec.name
        self.ip = str(NODE_NETWORK[1 + number])
        # The newest Node object of the API; empty until it is registered.
        self.object: JsonObject = {}
        self.renewed = 0.0
        self.lease: JsonObject | None = None
        self._spare = _POD_NETWORK[256 * (1 + number)]
        self._own_range = f"{self._spare}/24" if spec.own_range else ""
        self._config = _config(spec, self.ip)
        self._machine = MachineFacts(
            cpus=spec.cpus,
            memory_bytes=spec.memory_bytes,
            disk_bytes=100 * GIBI,
            arch="amd64",
            boot_id=spec.name,
            kernel="6.1.0",
            os_image="Debian GNU/Linux 12 (bookworm)",
        )
        self._requests: dict[str, dict[str, Fraction]] = {}
        self._used: dict[str, Fraction] = {}
        self._ports: dict[str, frozenset[tuple[str, str, int]]] = {}
        self._addresses: dict[str, str] = {}
        self._next_host = 2

    def registration(self, now: float) -> JsonObject:
        """Created with its status: the API takes both at once."""
        node = {**new_node(self._config, self._machine.arch), "status": self.status(now)}
        if self._own_range:
            node["spec"] |= {"podCIDR": self._own_range, "podCIDRs": [self._own_range]}
        return node

    def status(self, now: float) -> JsonObject:
        known = (self.object.get("status") or {}).get("conditions") or []
        old = {entry["type"]: entry for entry in known}
        beats = conditions(RUNTIME, Pressure(), old, now)
        return node_status(self._config, self._machine, RUNTIME, conditions=beats, images=[])

    def admit(self, uid: str, pod: JsonObject) -> None:
        """AdmissionError when the pod may not run here, else it is counted until released."""
        metadata, spec = self.object.get("metadata") or {}, self.object.get("spec") or {}
        allocatable: Mapping[str, Any] = (self.object.get("status") or {}).get("allocatable") or {}
        check_pod(
            pod,
            Host(
                os=self._config.os,
                name=self.name,
                labels=metadata.get("labels") or {},
                taints=tuple(spec.get("taints") or ()),
                allocatable=allocatable,
                used=self._used,
                pods=len(self._requests),
                ports=frozenset().union(*self._ports.values()),
                kube_version=self._config.kube_version,
            ),
        )
        self.count(uid, pod)

    def count(self, uid: str, pod: JsonObject) -> None:
        if uid in self._requests:
            return
        self._requests[uid] = requests = pod_requests(pod)
        for resource, amount in requests.items():
            self._used[resource] = self._used.get(resource, Fraction(0)) + amount
        ports = frozenset(host_ports(pod))
        if ports:
            self._ports[uid] = ports
        known = (pod.get("status") or {}).get("podIP")
        if known:
            self._addresses[known] = uid

    def release(self, uid: str) -> None:
        """The pod is over: what it had is free again, its address only when it is gone."""
        for resource, amount in self._requests.pop(uid, {}).items():
            self._used[resource] -= amount
        self._ports.pop(uid, None)

    def forget(self, uid: str) -> None:
        self.release(uid)
        for address in [ip for ip, owner in self._addresses.items() if owner == uid]:
            del self._addresses[address]

    def address(self, uid: str) -> str:
        """A free address of the node's range, as host-local gives them: round and round."""
        cidr = (self.object.get("spec") or {}).get("podCIDR")
        base, size = _read_range(cidr) if cidr else (self._spare, 256)
        for _ in range(size):
            host = self._next_host
            self._next_host = host + 1 if host + 2 < size else 2
            ip = str(base + host)
            if ip not in self._addresses:
                break
        else:
            ip = str(base + self._next_host)
        self._addresses[ip] = uid
        return ip


@lru_cache(maxsize=16384)
def _read_range(cidr: str) -> tuple[Address, int]:
    network = ipaddress.ip_network(cidr)
    return network[0], network.num_addresses


def _config(spec: NodeSpec, ip: str) -> KubeletConfig:
    return KubeletConfig(
        node_name=spec.name,
        os="windows" if spec.windows else "linux",
        node_ip=ip,
        cri_socket=_NOWHERE,
        root_dir=_NOWHERE,
        pod_logs_dir=_NOWHERE,
        cert_file=_NOWHERE,
        key_file=_NOWHERE,
        client_ca_file=_NOWHERE,
        personality=find_personality(spec.windows) if spec.windows else None,
        c_drive=_NOWHERE if spec.windows else None,
        labels=spec.labels,
        taints=spec.taints,
        max_pods=spec.max_pods,
        cpus=spec.cpus,
        memory_bytes=spec.memory_bytes,
        kube_version=spec.kube_version,
    )
