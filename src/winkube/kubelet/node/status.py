"""The Node object and its status, in upstream's words (kubernetes: pkg/kubelet/nodestatus)."""

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.node.machine import MachineFacts

MEBI: Final = 1 << 20
# evictionHard memory.available: what pods can never have (upstream defaults per system).
EVICTION_MEMORY: Final = {"linux": 100 * MEBI, "windows": 500 * MEBI}
NODEFS_SHARE: Final = 10  # nodefs.available<10%
MAX_IMAGES: Final = 50


@dataclass(frozen=True, slots=True)
class RuntimeHealth:
    """What the CRI says of itself; ``problems`` is empty when pods can run."""

    version: str = ""
    problems: tuple[str, ...] = ("container runtime is down",)

    @property
    def ready(self) -> bool:
        return not self.problems


@dataclass(frozen=True, slots=True)
class Pressure:
    memory: bool = False
    disk: bool = False


def node_labels(config: KubeletConfig, arch: str) -> dict[str, str]:
    own = {
        "beta.kubernetes.io/arch": arch,
        "beta.kubernetes.io/os": config.os,
        "kubernetes.io/arch": arch,
        "kubernetes.io/hostname": config.node_name,
        "kubernetes.io/os": config.os,
    }
    if config.personality is not None and config.is_windows:
        own["node.kubernetes.io/windows-build"] = config.personality.windows_build
        own["winkube.io/emulated"] = "true"
    return {**config.labels, **own}


def new_node(config: KubeletConfig, arch: str) -> JsonObject:
    node: JsonObject = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": config.node_name,
            "labels": node_labels(config, arch),
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
        },
        "spec": {},
    }
    if config.taints:
        node["spec"]["taints"] = list(config.taints)
    return node


def capacity(config: KubeletConfig, machine: MachineFacts) -> dict[str, str]:
    amounts = {
        "cpu": str(config.cpus or machine.cpus),
        "ephemeral-storage": f"{machine.disk_bytes // 1024}Ki",
        "memory": f"{(config.memory_bytes or machine.memory_bytes) // 1024}Ki",
        "pods": str(config.max_pods),
    }
    if not config.is_windows:
        amounts |= {"hugepages-1Gi": "0", "hugepages-2Mi": "0"}
    return dict(sorted(amounts.items()))


def allocatable(config: KubeletConfig, machine: MachineFacts) -> dict[str, str]:
    """Capacity less what eviction keeps back."""
    amounts = capacity(config, machine)
    memory = (config.memory_bytes or machine.memory_bytes) - EVICTION_MEMORY[config.os]
    amounts["memory"] = f"{max(memory, 0) // 1024}Ki"
    amounts["ephemeral-storage"] = str(machine.disk_bytes - machine.disk_bytes // NODEFS_SHARE)
    return amounts


def node_info(config: KubeletConfig, machine: MachineFacts, runtime_version: str) -> JsonObject:
    windows = config.personality if config.is_windows else None
    # Stable over restarts, and one per emulated host: they all share the machine's own ids.
    digest = hashlib.sha256(f"{machine.boot_id}/{config.node_name}".encode()).digest()
    seed = hashlib.sha256(config.node_name.encode()).digest()
    return {
        "machineID": config.node_name if windows else seed.hex()[:32],
        "systemUUID": str(uuid.UUID(bytes=seed[:16])).upper(),
        "bootID": str(digest[0]) if windows else str(uuid.UUID(bytes=digest[:16])),
        "kernelVersion": windows.kernel_version if windows else machine.kernel,
        "osImage": windows.product_name if windows else machine.os_image,
        "containerRuntimeVersion": runtime_version,
        "kubeletVersion": config.kube_version,
        "kubeProxyVersion": "",
        "operatingSystem": config.os,
        "architecture": machine.arch,
    }


def to_images(images: Sequence[Any]) -> list[JsonObject]:
    """The largest images, names by digest first, as the scheduler wants them."""
    largest = sorted(images, key=lambda image: -image.size)[:MAX_IMAGES]
    named = [
        {"names": [*image.repo_digests, *image.repo_tags][:5], "sizeBytes": int(image.size)}
        for image in largest
    ]
    return [entry for entry in named if entry["names"]]


def conditions(
    health: RuntimeHealth, pressure: Pressure, old: Mapping[str, JsonObject], now: float
) -> list[JsonObject]:
    ready = health.ready
    text = "kubelet is posting ready status"
    if not ready:
        problems = health.problems
        text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
    fresh = [
        _pressure("MemoryPressure", pressure.memory, "InsufficientMemory", "SufficientMemory"),
        _pressure("DiskPressure", pressure.disk, "DiskPressure", "NoDiskPressure"),
        _pressure("PIDPressure", False, "InsufficientPID", "SufficientPID"),
        _condition("Ready", ready, "KubeletReady" if ready else "KubeletNotReady", text),
    ]
    stamp = to_rfc3339(now)
    for entry in fresh:
        before = old.get(entry["type"]) or {}
        same = before.get("status") == entry["status"]
        entry["lastHeartbeatTime"] = stamp
        entry["lastTransitionTime"] = before.get("lastTransitionTime") or stamp if same else stamp
    return fresh


_TEXTS: Final = {
    "InsufficientMemory": "kubelet has insufficient memory available",
    "SufficientMemory": "kubelet has sufficient memory available",
    "DiskPressure": "kubelet has disk pressure",
    "NoDiskPressure": "kubelet has no disk pressure",
    "SufficientPID": "kubelet has sufficient PID available",
    "InsufficientPID": "kubelet has insufficient PID available",
}


def _pressure(kind: str, holds: bool, bad: str, good: str) -> JsonObject:
    word = bad if holds else good
    return _condition(kind, holds, f"KubeletHas{word}", _TEXTS[word])


def _condition(kind: str, holds: bool, reason: str, message: str) -> JsonObject:
    status = "True" if holds else "False"
    return {"type": kind, "status": status, "reason": reason, "message": message}


def node_status(
    config: KubeletConfig,
    machine: MachineFacts,
    health: RuntimeHealth,
    *,
    conditions: list[JsonObject],
    images: list[JsonObject],
) -> JsonObject:
    return {
        "addresses": [
            *({"type": "InternalIP", "address": ip} for ip in config.node_ips),
            {"type": "Hostname", "address": config.node_name},
        ],
        "allocatable": allocatable(config, machine),
        "capacity": capacity(config, machine),
        "conditions": conditions,
        "daemonEndpoints": {"kubeletEndpoint": {"Port": config.port}},
        "images": images,
        "nodeInfo": node_info(config, machine, health.version),
    }
