"""What the kubelet's HTTP server asks of the kubelet: one narrow, read-only view of the node.

The kubelet implements it; tests fake it. Every synchronous method answers from memory and never
blocks: the server calls it on the event loop, once per request (and every poll of a followed log).
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from winkube.base.types import JsonObject


class ContainerState(StrEnum):
    """How far a container is; a followed log ends when its container has terminated."""

    WAITING = "waiting"
    RUNNING = "running"
    TERMINATED = "terminated"


class CriCaller(Protocol):
    """The one method of ``wire.cri_client.CriClient`` that the server needs."""

    async def call(self, method: str, request: Any, *, timeout: float | None = ...) -> Any: ...


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU time used so far and memory in use, both at one moment (seconds since the epoch)."""

    at: float
    cpu_ns: int
    working_set: int


@dataclass(frozen=True, slots=True)
class ContainerUsage:
    namespace: str
    pod: str
    container: str
    started: float
    usage: Usage


@dataclass(frozen=True, slots=True)
class NodeUsage:
    node: Usage
    containers: tuple[ContainerUsage, ...] = ()


class NodeView(Protocol):
    @property
    def cri(self) -> CriCaller: ...

    def sandbox_id(self, namespace: str, pod: str) -> str | None:
        """The pod's ready sandbox, None when the pod is unknown here or has none."""
        ...

    def container_id(self, namespace: str, pod: str, container: str) -> str | None:
        """The newest instance of this container, running or not; None when there is none."""
        ...

    def container_state(self, namespace: str, pod: str, container: str) -> ContainerState | None:
        """State of the newest instance; None when pod or container name is unknown."""
        ...

    def log_path(self, namespace: str, pod: str, container: str, previous: bool) -> Path | None:
        """The newest (or the one before it) instance's log file; None when there is none."""
        ...

    def pods(self) -> JsonObject:
        """A v1 PodList of what is assigned to this node, with status."""
        ...

    async def stats_summary(self) -> JsonObject:
        """The kubelet's Summary document: ``{"node": {...}, "pods": [...]}``."""
        ...

    async def resource_usage(self) -> NodeUsage:
        """What the node and its running containers use: the figures a scaler needs, no more."""
        ...

    def healthy(self) -> bool: ...


class ServerConfig(Protocol):
    """The part of KubeletConfig that the server reads."""

    @property
    def node_name(self) -> str: ...
    @property
    def node_ip(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def cert_file(self) -> Path: ...
    @property
    def key_file(self) -> Path: ...
    @property
    def client_ca_file(self) -> Path: ...
