"""The Summary document: what the node and its pods use, from the runtime and the machine."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from winkube.base.clock import Clock, to_rfc3339
from winkube.base.types import JsonObject
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.node.machine import read_meminfo
from winkube.kubelet.pod import identity
from winkube.kubelet.pod.state import CriCaller
from winkube.wire import cri
from winkube.wire.cri_client import CriError

_NANO: Final = 1_000_000_000


class HasPod(Protocol):
    @property
    def pod(self) -> JsonObject: ...


@dataclass(slots=True)
class StatsReader:
    config: KubeletConfig
    cri: CriCaller
    clock: Clock
    # id -> (nanoseconds, CPU nanoseconds) of the last look: rates where the runtime has none.
    _last: dict[str, tuple[int, int]] = field(default_factory=dict)

    async def summary(self, pods: Sequence[HasPod]) -> JsonObject:
        containers = await self._list("ListContainerStats", cri.ListContainerStatsRequest())
        sandboxes = await self._list("ListPodSandboxStats", cri.ListPodSandboxStatsRequest())
        by_pod: dict[str, list[Any]] = {}
        for entry in containers:
            if not entry.cpu.timestamp:
                continue  # it does not run
            if not entry.cpu.usage_nano_cores.value:
                entry.cpu.usage_nano_cores.value = self._rate(
                    entry.attributes.id,
                    entry.cpu.timestamp,
                    entry.cpu.usage_core_nano_seconds.value,
                )
            uid = entry.attributes.labels.get(identity.POD_UID, "")
            by_pod.setdefault(uid, []).append(entry)
        networks = {entry.attributes.metadata.uid: _network(entry) for entry in sandboxes}
        return {
            "node": self._node(),
            "pods": [
                self._pod(holder.pod, by_pod.get(identity.uid_of(holder.pod), []), networks)
                for holder in pods
            ],
        }

    async def _list(self, method: str, request: Any) -> list[Any]:
        try:
            return list((await self.cri.call(method, request)).stats)
        except CriError:
            # Not every runtime has every list; the rest of the document still helps.
            return []

    def _node(self) -> JsonObject:
        memory, moment = read_meminfo(), self.clock.now()
        now, used = to_rfc3339(moment), _machine_cpu()
        total, available = memory["MemTotal"], memory.get("MemAvailable", 0)
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
                "availableBytes": available,
                "usageBytes": total - memory.get("MemFree", 0),
                "workingSetBytes": total - available,
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
        self, pod: JsonObject, containers: Iterable[Any], networks: dict[str, JsonObject]
    ) -> JsonObject:
        stats = [_container(entry) for entry in containers]
        start = (pod.get("status") or {}).get("startTime") or to_rfc3339(self.clock.now())
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


def _container(entry: Any) -> JsonObject:
    return {
        "name": entry.attributes.labels.get(identity.CONTAINER_NAME)
        or entry.attributes.metadata.name,
        "startTime": to_rfc3339(entry.cpu.timestamp / _NANO),
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
