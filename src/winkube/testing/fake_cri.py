"""A container runtime in memory: CRI semantics without processes.

It answers ``call`` like a CriClient and, by ``handlers``, behind a gRPC server. Tests play the part
of the processes: ``exit``, ``exec_results``, ``fail``.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import grpc

from winkube.base.clock import Clock, SystemClock
from winkube.wire import cri
from winkube.wire.cri_client import CriError

_NANO = 1_000_000_000


@dataclass(slots=True)
class FakeSandbox:
    id: str
    config: Any
    created_at: int
    ip: str
    ready: bool = True


@dataclass(slots=True)
class FakeContainer:
    id: str
    sandbox_id: str
    config: Any
    created_at: int
    state: int = 0
    started_at: int = 0
    finished_at: int = 0
    exit_code: int = 0
    reason: str = ""
    message: str = ""


@dataclass(slots=True)
class FakeCri:
    clock: Clock = field(default_factory=SystemClock)
    images: dict[str, Any] = field(default_factory=dict)
    registry: dict[str, Any] = field(default_factory=dict)
    network_ready: bool = True
    # method -> message of the error the next call answers with; consumed by that call.
    fail: dict[str, str] = field(default_factory=dict)
    # container name -> exit code and output of ExecSync, or a function of the command.
    exec_results: dict[str, Callable[[list[str]], tuple[int, str]]] = field(default_factory=dict)
    # Containers by name that end the moment they start, with this code.
    exits_at_once: dict[str, int] = field(default_factory=dict)
    stop_delay: float = 0.0
    pull_delay: float = 0.0
    calls: list[tuple[str, Any]] = field(default_factory=list)
    sandboxes: dict[str, FakeSandbox] = field(default_factory=dict)
    containers: dict[str, FakeContainer] = field(default_factory=dict)
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    def add_image(self, name: str, *, user: str = "", uid: int | None = None) -> None:
        """An image that is here already."""
        self.images[name] = self.make_image(name, user=user, uid=uid)

    def make_image(self, name: str, *, user: str = "", uid: int | None = None) -> Any:
        image = cri.Image(
            id=f"sha256:{abs(hash(name)):064x}", repo_tags=[name], size=1000, username=user
        )
        if uid is not None:
            image.uid.value = uid
        return image

    def methods(self, name: str) -> list[Any]:
        """The requests of one method, in order."""
        return [request for method, request in self.calls if method == name]

    def running(self) -> list[str]:
        """Names of the containers that run."""
        found = [c for c in self.containers.values() if c.state == cri.CONTAINER_RUNNING]
        return sorted(c.config.metadata.name for c in found)

    def find(self, name: str) -> FakeContainer:
        """The newest container with this name."""
        return [c for c in self.containers.values() if c.config.metadata.name == name][-1]

    def exit(self, name: str, code: int = 0, reason: str = "") -> None:
        """The process of this container ends."""
        self._finish(self.find(name), code, reason)

    async def call(self, method: str, request: Any, *, timeout: float | None = 120.0) -> Any:
        self.calls.append((method, request))
        await asyncio.sleep(0)
        if method in self.fail:
            raise CriError(method, grpc.StatusCode.UNKNOWN, self.fail.pop(method))
        return await self._table()[method](request)

    def handlers(self) -> dict[str, Callable[[Any, Any], Awaitable[Any]]]:
        """For ``wire.cri_server.add_cri_services``."""

        def bind(method: str) -> Callable[[Any, Any], Awaitable[Any]]:
            async def handle(request: Any, context: Any) -> Any:
                try:
                    return await self.call(method, request)
                except CriError as error:
                    await context.abort(error.code, error.message)

            return handle

        return {method: bind(method) for method in self._table()}

    def _table(self) -> dict[str, Callable[[Any], Awaitable[Any]]]:
        return {
            "Version": self._version,
            "Status": self._status,
            "RunPodSandbox": self._run_sandbox,
            "StopPodSandbox": self._stop_sandbox,
            "RemovePodSandbox": self._remove_sandbox,
            "PodSandboxStatus": self._sandbox_status,
            "ListPodSandbox": self._list_sandboxes,
            "CreateContainer": self._create,
            "StartContainer": self._start,
            "StopContainer": self._stop,
            "RemoveContainer": self._remove,
            "ReopenContainerLog": self._reopen,
            "ContainerStatus": self._container_status,
            "ListContainers": self._list_containers,
            "ExecSync": self._exec,
            "ListImages": self._list_images,
            "ImageStatus": self._image_status,
            "PullImage": self._pull,
            "ListContainerStats": self._container_stats,
            "ListPodSandboxStats": self._sandbox_stats,
        }

    async def _version(self, _: Any) -> Any:
        return cri.VersionResponse(
            version="0.1.0", runtime_name="fake", runtime_version="1.0", runtime_api_version="v1"
        )

    async def _status(self, _: Any) -> Any:
        network = cri.RuntimeCondition(type="NetworkReady", status=self.network_ready)
        if not self.network_ready:
            network.reason, network.message = "NetworkPluginNotReady", "no network"
        runtime = cri.RuntimeCondition(type="RuntimeReady", status=True)
        return cri.StatusResponse(status=cri.RuntimeStatus(conditions=[runtime, network]))

    async def _run_sandbox(self, request: Any) -> Any:
        number = next(self._numbers)
        key = f"sandbox-{number}"
        self.sandboxes[key] = FakeSandbox(key, request.config, self._now(), f"10.244.1.{number}")
        return cri.RunPodSandboxResponse(pod_sandbox_id=key)

    async def _stop_sandbox(self, request: Any) -> Any:
        sandbox = self.sandboxes.get(request.pod_sandbox_id)
        if sandbox is not None:
            sandbox.ready = False
            for container in self._of(sandbox.id):
                if container.state == cri.CONTAINER_RUNNING:
                    self._finish(container, 137, "Error")
        return cri.StopPodSandboxResponse()

    async def _remove_sandbox(self, request: Any) -> Any:
        for container in self._of(request.pod_sandbox_id):
            del self.containers[container.id]
        self.sandboxes.pop(request.pod_sandbox_id, None)
        return cri.RemovePodSandboxResponse()

    async def _sandbox_status(self, request: Any) -> Any:
        sandbox = self.sandboxes.get(request.pod_sandbox_id)
        if sandbox is None:
            raise _not_found("PodSandboxStatus", request.pod_sandbox_id)
        status = cri.PodSandboxStatus(
            id=sandbox.id,
            metadata=sandbox.config.metadata,
            state=cri.SANDBOX_READY if sandbox.ready else cri.SANDBOX_NOTREADY,
            created_at=sandbox.created_at,
            network=cri.PodSandboxNetworkStatus(ip=sandbox.ip),
            labels=dict(sandbox.config.labels),
        )
        return cri.PodSandboxStatusResponse(status=status)

    async def _list_sandboxes(self, request: Any) -> Any:
        wanted = dict(request.filter.label_selector)
        items = [
            cri.PodSandbox(
                id=sandbox.id,
                metadata=sandbox.config.metadata,
                state=cri.SANDBOX_READY if sandbox.ready else cri.SANDBOX_NOTREADY,
                created_at=sandbox.created_at,
                labels=dict(sandbox.config.labels),
            )
            for sandbox in self.sandboxes.values()
            if _selected(wanted, sandbox.config.labels)
        ]
        return cri.ListPodSandboxResponse(items=items)

    async def _create(self, request: Any) -> Any:
        if request.pod_sandbox_id not in self.sandboxes:
            raise _not_found("CreateContainer", request.pod_sandbox_id)
        if not self.sandboxes[request.pod_sandbox_id].ready:
            text = "sandbox container is not running"
            raise CriError("CreateContainer", grpc.StatusCode.UNKNOWN, text)
        key = f"container-{next(self._numbers)}"
        self.containers[key] = FakeContainer(
            key, request.pod_sandbox_id, request.config, self._now(), cri.CONTAINER_CREATED
        )
        return cri.CreateContainerResponse(container_id=key)

    async def _start(self, request: Any) -> Any:
        container = self._get("StartContainer", request.container_id)
        container.state, container.started_at = cri.CONTAINER_RUNNING, self._now()
        code = self.exits_at_once.get(container.config.metadata.name)
        if code is not None:
            self._finish(container, code, "")
        return cri.StartContainerResponse()

    async def _stop(self, request: Any) -> Any:
        container = self._get("StopContainer", request.container_id)
        if self.stop_delay and container.state == cri.CONTAINER_RUNNING:
            await asyncio.sleep(min(self.stop_delay, request.timeout))
        if container.state == cri.CONTAINER_RUNNING:
            self._finish(container, 137 if request.timeout == 0 else 143, "Error")
        return cri.StopContainerResponse()

    async def _remove(self, request: Any) -> Any:
        self.containers.pop(request.container_id, None)
        return cri.RemoveContainerResponse()

    async def _reopen(self, request: Any) -> Any:
        self._get("ReopenContainerLog", request.container_id)
        return cri.ReopenContainerLogResponse()

    async def _container_status(self, request: Any) -> Any:
        container = self._get("ContainerStatus", request.container_id)
        config = container.config
        image = config.image.user_specified_image or config.image.image
        status = cri.ContainerStatus(
            id=container.id,
            metadata=config.metadata,
            state=container.state,
            created_at=container.created_at,
            started_at=container.started_at,
            finished_at=container.finished_at,
            exit_code=container.exit_code,
            image=cri.ImageSpec(image=image),
            image_ref=config.image.image,
            reason=container.reason,
            message=container.message,
            labels=dict(config.labels),
            annotations=dict(config.annotations),
            mounts=config.mounts,
            log_path=f"{self.sandboxes[container.sandbox_id].config.log_directory}/"
            f"{config.log_path}",
        )
        return cri.ContainerStatusResponse(status=status)

    async def _list_containers(self, request: Any) -> Any:
        wanted, box = dict(request.filter.label_selector), request.filter.pod_sandbox_id
        items = [
            cri.Container(
                id=container.id,
                pod_sandbox_id=container.sandbox_id,
                metadata=container.config.metadata,
                state=container.state,
                created_at=container.created_at,
                labels=dict(container.config.labels),
                annotations=dict(container.config.annotations),
            )
            for container in self.containers.values()
            if _selected(wanted, container.config.labels) and box in ("", container.sandbox_id)
        ]
        return cri.ListContainersResponse(containers=items)

    async def _exec(self, request: Any) -> Any:
        container = self._get("ExecSync", request.container_id)
        answer = self.exec_results.get(container.config.metadata.name)
        code, output = answer(list(request.cmd)) if answer else (0, "")
        return cri.ExecSyncResponse(exit_code=code, stdout=output.encode())

    async def _list_images(self, _: Any) -> Any:
        return cri.ListImagesResponse(images=self.images.values())

    async def _image_status(self, request: Any) -> Any:
        wanted = request.image.image
        for name, image in self.images.items():
            if wanted in (name, image.id):
                return cri.ImageStatusResponse(image=image)
        return cri.ImageStatusResponse()

    async def _pull(self, request: Any) -> Any:
        name = request.image.image
        if self.pull_delay:
            await asyncio.sleep(self.pull_delay)
        if name not in self.registry:
            text = f'failed to resolve reference "{name}": not found'
            raise CriError("PullImage", grpc.StatusCode.NOT_FOUND, text)
        self.images[name] = self.registry[name]
        return cri.PullImageResponse(image_ref=self.images[name].id)

    async def _container_stats(self, _: Any) -> Any:
        return cri.ListContainerStatsResponse(
            stats=[
                cri.ContainerStats(
                    attributes=cri.ContainerAttributes(
                        id=container.id,
                        metadata=container.config.metadata,
                        labels=dict(container.config.labels),
                    ),
                    cpu=cri.CpuUsage(
                        timestamp=self._now(), usage_core_nano_seconds=cri.UInt64Value(value=7)
                    ),
                    memory=cri.MemoryUsage(
                        timestamp=self._now(), working_set_bytes=cri.UInt64Value(value=4096)
                    ),
                )
                for container in self.containers.values()
            ]
        )

    async def _sandbox_stats(self, _: Any) -> Any:
        return cri.ListPodSandboxStatsResponse()

    def _of(self, sandbox: str) -> list[FakeContainer]:
        return [c for c in self.containers.values() if c.sandbox_id == sandbox]

    def _get(self, method: str, container: str) -> FakeContainer:
        if container not in self.containers:
            raise _not_found(method, container)
        return self.containers[container]

    def _finish(self, container: FakeContainer, code: int, reason: str) -> None:
        container.state, container.finished_at = cri.CONTAINER_EXITED, self._now()
        container.exit_code = code
        container.reason = reason or ("Error" if code else "Completed")

    def _now(self) -> int:
        # Strictly growing, so that "newest" is always decided.
        return int(self.clock.now() * _NANO) + next(self._numbers)


def _selected(wanted: dict[str, str], labels: Any) -> bool:
    return all(labels.get(key) == value for key, value in wanted.items())


def _not_found(method: str, key: str) -> CriError:
    return CriError(method, grpc.StatusCode.NOT_FOUND, f"{key} not found")
