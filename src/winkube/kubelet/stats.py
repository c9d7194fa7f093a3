"""The Summary document: what the node and its pods use, from the runtime and the machine."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from winkube.base.clock import Clock, parse_rfc3339, to_rfc3339
from winkube.base.types import JsonObject
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.node.machine import read_meminfo
from winkube.kubelet.pod import identity
from winkube.kubelet.pod.state import CriCaller
from winkube.kubelet.server.view import ContainerUsage, NodeUsage, Usage
from winkube.linux import cgroup
from winkube.wire import cri
from winkube.wire.cri_client import CriError

_NANO: Final = 1_000_000_000


class HasPod(Protocol):
    @property
    def pod(self) -> JsonObject: ...
    @property
    def status(self) -> JsonObject: ...


@dataclass(slots=True)
class StatsReader:
    config: KubeletConfig
    cri: CriCaller
    clock: Clock
    # id -> (nanoseconds, CPU nanoseconds) of the last look: rates where the runtime has none.
    _last: dict[str, tuple[int, int]] = field(default_factory=dict)

    async def summary(self, pods: Sequence[HasPod]) -> JsonObject:
        by_pod = await self._containers()
        sandboxes = await self._list("ListPodSandboxStats", cri.ListPodSandboxStatsRequest())
        self._fill_rates([entry for entries in by_pod.values() for entry in entries])
        networks = {entry.attributes.metadata.uid: _network(entry) for entry in sandboxes}
        return {
            "node": self._node(),
            "pods": [
                self._pod(holder, by_pod.get(identity.uid_of(holder.pod), []), networks)
                for holder in pods
            ],
        }

    async def usage(self, pods: Sequence[HasPod]) -> NodeUsage:
        """The figures of /metrics/resource, to the nanosecond and without any others."""
        by_pod = await self._containers()
        containers = [
            _container_usage(holder, entry)
            for holder in pods
            for entry in by_pod.get(identity.uid_of(holder.pod), [])
        ]
        cpu, memory = self._node_usage()
        return NodeUsage(Usage(self.clock.now(), cpu, memory), tuple(containers))

    async def _containers(self) -> dict[str, list[Any]]:
        """What runs, by its pod's uid; what has ended uses nothing and is left out."""
        by_pod: dict[str, list[Any]] = {}
        for entry in await self._list("ListContainerStats", cri.ListContainerStatsRequest()):
            if entry.cpu.timestamp and (
                entry.cpu.usage_core_nano_seconds.value or entry.memory.working_set_bytes.value
            ):
                uid = entry.attributes.labels.get(identity.POD_UID, "")
                by_pod.setdefault(uid, []).append(entry)
        return by_pod

    def _fill_rates(self, entries: Sequence[Any]) -> None:
        """Where the runtime does not say them; what is gone is forgotten."""
        gone = self._last.keys() - {entry.attributes.id for entry in entries} - {""}
        for key in gone:
            del self._last[key]
        for entry in entries:
            if not entry.cpu.usage_nano_cores.value:
                entry.cpu.usage_nano_cores.value = self._rate(
                    entry.attributes.id,
                    entry.cpu.timestamp,
                    entry.cpu.usage_core_nano_seconds.value,
                )

    def _node_usage(self) -> tuple[int, int]:
        """CPU nanoseconds and bytes of this node: several nodes share the machine.

        They are those of the node's control group; where there is none, the machine's.
        """
        group = self.config.node_cgroup
        if cgroup.exists(group):
            return cgroup.cpu_usage_ns(group), cgroup.memory_working_set(group)
        memory = read_meminfo()
        return _machine_cpu(), memory["MemTotal"] - memory.get("MemAvailable", 0)

    async def _list(self, method: str, request: Any) -> list[Any]:
        try:
            return list((await self.cri.call(method, request)).stats)
        except CriError:
            # Not every runtime has every list; the rest of the document still helps.
            return []

    def _node(self) -> JsonObject:
        memory, moment = read_meminfo(), self.clock.now()
        now, (used, working_set) = to_rfc3339(moment), self._node_usage()
        disk = os.statvfs(self.config.root_dir)
        return {
            "nodeName": self.config.node_name,
            "startTime": to_rfc3339(moment - self.clock.monotonic()),
            "cpu": {
                "time": now,
                "usageNanoCores": self._rate("", int(moment * _NANO), used),
                "usageCoreNanoSeconds": used,
            },
            "memory": {
                "time": now,
                "availableBytes": memory.get("MemAvailable", 0),
                "usageBytes": cgroup.memory_usage(self.config.node_cgroup) or working_set,
                "workingSetBytes": working_set,
            },
            "fs": {
                "time": now,
                "capacityBytes": disk.f_blocks * disk.f_frsize,
                "availableBytes": disk.f_bavail * disk.f_frsize,
                "usedBytes": (disk.f_blocks - disk.f_bfree) * disk.f_frsize,
            },
        }

    def _rate(self, key: str, at: int, used: int) -> int:
        """CPU nanoseconds per second since the last look; 0 at the first."""
        before, spent = self._last.get(key, (at - _NANO, used))
        self._last[key] = (at, used)
        return max(0, (used - spent) * _NANO // max(at - before, 1))

    def _pod(
        self, holder: HasPod, containers: Iterable[Any], networks: dict[str, JsonObject]
    ) -> JsonObject:
        pod = holder.pod
        stats = [_container(entry, _started(holder, entry)) for entry in containers]
        start = holder.status.get("startTime") or to_rfc3339(self.clock.now())
        document: JsonObject = {
            "podRef": {
                "name": identity.name_of(pod),
                "namespace": identity.namespace_of(pod),
                "uid": identity.uid_of(pod),
            },
            "startTime": start,
            "containers": stats,
            "cpu": _total(stats, "cpu", ("usageNanoCores", "usageCoreNanoSeconds")),
            "memory": _total(stats, "memory", ("workingSetBytes", "usageBytes")),
        }
        network = networks.get(identity.uid_of(pod))
        return {**document, "network": network} if network else document


def _name(entry: Any) -> str:
    labels = entry.attributes.labels
    return str(labels.get(identity.CONTAINER_NAME) or entry.attributes.metadata.name)


def _started(holder: HasPod, entry: Any) -> float:
    """When the container began, by its pod's status; else when it was first seen using anything."""
    for kind in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for status in holder.status.get(kind) or ():
            running = (status.get("state") or {}).get("running") or {}
            if status.get("name") == _name(entry) and running.get("startedAt"):
                return parse_rfc3339(running["startedAt"])
    return float((entry.cpu.timestamp - entry.cpu.usage_core_nano_seconds.value) / _NANO)


def _container_usage(holder: HasPod, entry: Any) -> ContainerUsage:
    return ContainerUsage(
        namespace=identity.namespace_of(holder.pod),
        pod=identity.name_of(holder.pod),
        container=_name(entry),
        started=_started(holder, entry),
        usage=Usage(
            entry.cpu.timestamp / _NANO,
            entry.cpu.usage_core_nano_seconds.value,
            entry.memory.working_set_bytes.value,
        ),
    )


def _container(entry: Any, started: float) -> JsonObject:
    return {
        "name": _name(entry),
        "startTime": to_rfc3339(started),
        "cpu": {
            "time": to_rfc3339(entry.cpu.timestamp / _NANO),
            "usageNanoCores": entry.cpu.usage_nano_cores.value,
            "usageCoreNanoSeconds": entry.cpu.usage_core_nano_seconds.value,
        },
        "memory": {
            "time": to_rfc3339(entry.memory.timestamp / _NANO),
            "workingSetBytes": entry.memory.working_set_bytes.value,
            "usageBytes": entry.memory.usage_bytes.value or entry.memory.working_set_bytes.value,
        },
        "rootfs": {
            "time": to_rfc3339(entry.writable_layer.timestamp / _NANO),
            "usedBytes": entry.writable_layer.used_bytes.value,
        },
    }


def _total(stats: Sequence[JsonObject], part: str, keys: Sequence[str]) -> JsonObject:
    times = [entry[part]["time"] for entry in stats]
    sums = {key: sum(entry[part].get(key, 0) for entry in stats) for key in keys}
    return {"time": max(times), **sums} if times else sums


def _network(entry: Any) -> JsonObject:
    side = entry.windows if entry.HasField("windows") else entry.linux
    found = side.network.default_interface
    if not found.name:
        return {}
    return {
        "time": to_rfc3339(side.network.timestamp / _NANO),
        "name": found.name,
        "rxBytes": found.rx_bytes.value,
        "txBytes": found.tx_bytes.value,
    }


def _machine_cpu() -> int:
    with open("/proc/stat") as file:  # noqa: PTH123
        fields = file.readline().split()
    ticks = sum(int(value) for value in fields[1:4])
    return ticks * _NANO // os.sysconf("SC_CLK_TCK")
