"""What every pod worker shares: the node's services, handed over once."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from winkube.base.clock import Clock
from winkube.base.types import JsonObject
from winkube.client.rest import ApiClient
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.image import ImagePuller
from winkube.kubelet.objects import ObjectCache
from winkube.kubelet.pod.backoff import Backoffs
from winkube.kubelet.pod.state import CriCaller, StateReader
from winkube.kubelet.pod.statuswriter import StatusWriter
from winkube.kubelet.spec.fields import NodeFacts
from winkube.kubelet.volume.token import TokenCache
from winkube.kubelet.volume.volumes import VolumeSetup


class Recorder(Protocol):
    def record(self, obj: JsonObject, type: str, reason: str, message: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Machine:
    """The size of this node and the name of its runtime."""

    cpus: int
    memory_bytes: int
    runtime: str = "containerd"


@dataclass(frozen=True, slots=True)
class Tools:
    config: KubeletConfig
    clock: Clock
    client: ApiClient
    cri: CriCaller
    recorder: Recorder
    reader: StateReader
    images: ImagePuller
    volumes: VolumeSetup
    objects: ObjectCache
    tokens: TokenCache
    statuses: StatusWriter
    facts: Callable[[], NodeFacts]
    machine: Callable[[], Machine]
    services: Callable[[], Iterable[JsonObject]]
    # Called when containers are about to change, so that the runtime is watched closely.
    heat: Callable[[], None]
    backoffs: Backoffs = field(default_factory=Backoffs)
    # Set while pods may start: the runtime and its network are up and the services are known.
    may_start: asyncio.Event = field(default_factory=asyncio.Event)
