"""What the runtime has of one pod, as plain values.

The reader lists by the pod's uid and remembers what cannot change any more: the details of a
container in a given state and the addresses of a sandbox. A pod at rest costs two list calls.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol

from winkube.kubelet.pod import identity
from winkube.wire import cri
from winkube.wire.cri_client import CriError

_NANO: Final = 1_000_000_000


class CriCaller(Protocol):
    async def call(self, method: str, request: Any, *, timeout: float | None = ...) -> Any: ...


class Phase(StrEnum):
    """A container's state in the runtime."""

    CREATED = "created"
    RUNNING = "running"
    EXITED = "exited"
    UNKNOWN = "unknown"


_PHASES: Final = {
    cri.CONTAINER_CREATED: Phase.CREATED,
    cri.CONTAINER_RUNNING: Phase.RUNNING,
    cri.CONTAINER_EXITED: Phase.EXITED,
    cri.CONTAINER_UNKNOWN: Phase.UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class Container:
    id: str
    name: str
    sandbox_id: str
    phase: Phase
    attempt: int = 0
    created_at: float = 0.0
    started_at: float = 0.0
    finished_at: float = 0.0
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    image: str = ""
    image_ref: str = ""
    hash: str = ""
    log_path: str = ""
    message_policy: str = "File"

    @property
    def is_running(self) -> bool:
        return self.phase is Phase.RUNNING


@dataclass(frozen=True, slots=True)
class Sandbox:
    id: str
    ready: bool
    attempt: int = 0
    created_at: float = 0.0
    ips: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PodState:
    """Newest first, both of them."""

    sandboxes: tuple[Sandbox, ...] = ()
    containers: tuple[Container, ...] = ()

    @property
    def ready_sandbox(self) -> Sandbox | None:
        newest = self.sandboxes[0] if self.sandboxes else None
        return newest if newest is not None and newest.ready else None

    def instances(self, name: str) -> list[Container]:
        return [container for container in self.containers if container.name == name]

    def latest(self, name: str) -> Container | None:
        return next(iter(self.instances(name)), None)

    @property
    def running(self) -> list[Container]:
        return [container for container in self.containers if container.is_running]


@dataclass(slots=True)
class StateReader:
    cri: CriCaller
    _containers: dict[tuple[str, int], Container] = field(default_factory=dict)
    _addresses: dict[str, tuple[str, ...]] = field(default_factory=dict)

    async def read(self, uid: str) -> PodState:
        selector = {identity.POD_UID: uid}
        boxes = await self.cri.call(
            "ListPodSandbox",
            cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(label_selector=selector)),
        )
        listed = await self.cri.call(
            "ListContainers",
            cri.ListContainersRequest(filter=cri.ContainerFilter(label_selector=selector)),
        )
        sandboxes = [await self._sandbox(item) for item in boxes.items]
        containers = [await self._container(item) for item in listed.containers]
        return PodState(
            sandboxes=tuple(sorted(sandboxes, key=lambda item: -item.created_at)),
            containers=tuple(
                sorted(
                    (item for item in containers if item is not None),
                    key=lambda item: (-item.created_at, -item.attempt),
                )
            ),
        )

    def forget(self, state: PodState) -> None:
        """The pod is gone: drop what was remembered of it."""
        gone = {container.id for container in state.containers}
        for key in [key for key in self._containers if key[0] in gone]:
            del self._containers[key]
        for sandbox in state.sandboxes:
            self._addresses.pop(sandbox.id, None)

    async def _sandbox(self, item: Any) -> Sandbox:
        ready = item.state == cri.SANDBOX_READY
        if ready and not self._addresses.get(item.id):
            self._addresses[item.id] = await self._read_addresses(item.id)
        return Sandbox(
            id=item.id,
            ready=ready,
            attempt=item.metadata.attempt,
            created_at=item.created_at / _NANO,
            ips=self._addresses.get(item.id, ()),
        )

    async def _read_addresses(self, sandbox: str) -> tuple[str, ...]:
        try:
            answer = await self.cri.call(
                "PodSandboxStatus", cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox)
            )
        except CriError as error:
            if error.not_found:
                return ()
            raise
        network = answer.status.network
        return tuple(filter(None, (network.ip, *(extra.ip for extra in network.additional_ips))))

    async def _container(self, item: Any) -> Container | None:
        key = (item.id, item.state)
        if key not in self._containers:
            try:
                answer = await self.cri.call(
                    "ContainerStatus", cri.ContainerStatusRequest(container_id=item.id)
                )
            except CriError as error:
                if error.not_found:
                    return None
                raise
            found = to_container(answer.status, item.pod_sandbox_id)
            # The state may have moved on since the list: remember under the state it has now.
            for old in [old for old in self._containers if old[0] == item.id]:
                del self._containers[old]
            self._containers[item.id, answer.status.state] = found
            return found
        return self._containers[key]


def to_container(status: Any, sandbox_id: str) -> Container:
    labels, notes = status.labels, status.annotations
    attempt = notes.get(identity.RESTART_COUNT) or str(status.metadata.attempt)
    return Container(
        id=status.id,
        name=labels.get(identity.CONTAINER_NAME) or status.metadata.name,
        sandbox_id=sandbox_id,
        phase=_PHASES.get(status.state, Phase.UNKNOWN),
        attempt=int(attempt) if attempt.isdigit() else 0,
        created_at=status.created_at / _NANO,
        started_at=status.started_at / _NANO,
        finished_at=status.finished_at / _NANO,
        exit_code=status.exit_code,
        reason=status.reason,
        message=status.message,
        image=status.image.image,
        image_ref=status.image_ref or status.image_id,
        hash=notes.get(identity.HASH, ""),
        log_path=status.log_path,
        message_policy=notes.get(identity.MESSAGE_POLICY) or "File",
    )
