"""The CRI methods, each a few lines over the services; ``table`` is what the server binds."""

import asyncio
import base64
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from winkube.runtime import container as containers_of
from winkube.runtime import sandbox as sandboxes_of
from winkube.runtime.config import RegistryAuth
from winkube.runtime.container import ContainerService
from winkube.runtime.errors import FailedPreconditionError, InvalidArgumentError
from winkube.runtime.exec import Executor
from winkube.runtime.lifecycle import Lifecycle
from winkube.runtime.network import PodNetwork
from winkube.runtime.oci.images import ImageService
from winkube.runtime.oci.model import Image
from winkube.runtime.sandbox import SandboxService, labels_match
from winkube.runtime.state import SandboxState
from winkube.runtime.stats import Stats
from winkube.runtime.streaming import StreamingServer
from winkube.wire import cri
from winkube.wire.cri_table import METHODS

RUNTIME_NAME: Final = "winkube"
ARCHIVE: Final = "archive:"
# Streams of events are not served: the kubelet looks instead.
_METHODS: Final = tuple(
    method for methods in METHODS.values() for method in methods if not method.endswith("*")
)


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of the runtime that the methods call."""

    sandboxes: SandboxService
    containers: ContainerService
    images: ImageService
    lifecycle: Lifecycle
    executor: Executor
    network: PodNetwork
    stats: Stats


class Handlers:
    def __init__(self, services: Services, streaming: StreamingServer) -> None:
        self._sandboxes = services.sandboxes
        self._containers = services.containers
        self._images = services.images
        self._lifecycle = services.lifecycle
        self._executor = services.executor
        self._network = services.network
        self._stats = services.stats
        self._streaming = streaming
        # Calls about one object follow one another; others do not wait.
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def table(self) -> Mapping[str, Callable[[Any], Awaitable[Any]]]:
        return {name: getattr(self, _to_snake(name)) for name in _METHODS}

    async def version(self, request: Any) -> Any:
        return cri.VersionResponse(
            version="0.1.0",
            runtime_name=RUNTIME_NAME,
            runtime_version=version("winkube"),
            runtime_api_version="v1",
        )

    async def status(self, request: Any) -> Any:
        problem = await self._network.problem()
        conditions = [
            cri.RuntimeCondition(type="RuntimeReady", status=True),
            cri.RuntimeCondition(
                type="NetworkReady",
                status=not problem,
                reason="NetworkPluginNotReady" if problem else "",
                message=f"Network plugin returns error: {problem}" if problem else "",
            ),
        ]
        return cri.StatusResponse(status=cri.RuntimeStatus(conditions=conditions))

    async def run_pod_sandbox(self, request: Any) -> Any:
        return await self._sandboxes.run(request)

    async def stop_pod_sandbox(self, request: Any) -> Any:
        sandbox = self._sandboxes.find(request.pod_sandbox_id)
        if sandbox is not None:
            async with self._locks[sandbox.id]:
                for container in self._containers.of_sandbox(sandbox.id):
                    await self._lifecycle.stop(container, 0)
                await self._sandboxes.stop(sandbox)
        return cri.StopPodSandboxResponse()

    async def remove_pod_sandbox(self, request: Any) -> Any:
        sandbox = self._sandboxes.find(request.pod_sandbox_id)
        if sandbox is not None:
            async with self._locks[sandbox.id]:
                for container in self._containers.of_sandbox(sandbox.id):
                    await self._lifecycle.remove(container)
                    self._locks.pop(container.id, None)
                await self._sandboxes.remove(sandbox)
            self._locks.pop(sandbox.id, None)
        return cri.RemovePodSandboxResponse()

    async def pod_sandbox_status(self, request: Any) -> Any:
        sandbox = self._sandboxes.get(request.pod_sandbox_id)
        return cri.PodSandboxStatusResponse(status=sandboxes_of.to_status(sandbox))

    async def list_pod_sandbox(self, request: Any) -> Any:
        return cri.ListPodSandboxResponse(items=self._sandboxes.matching(request.filter))

    async def create_container(self, request: Any) -> Any:
        return await self._containers.create(request)

    async def start_container(self, request: Any) -> Any:
        container = self._containers.get(request.container_id)
        async with self._locks[container.id]:
            await self._containers.start(container)
        return cri.StartContainerResponse()

    async def stop_container(self, request: Any) -> Any:
        container = self._containers.find(request.container_id)
        if container is not None:
            async with self._locks[container.id]:
                await self._lifecycle.stop(container, max(0, request.timeout))
        return cri.StopContainerResponse()

    async def remove_container(self, request: Any) -> Any:
        container = self._containers.find(request.container_id)
        if container is not None:
            async with self._locks[container.id]:
                await self._lifecycle.remove(container)
            self._locks.pop(container.id, None)
        return cri.RemoveContainerResponse()

    async def list_containers(self, request: Any) -> Any:
        return cri.ListContainersResponse(containers=self._containers.matching(request.filter))

    async def container_status(self, request: Any) -> Any:
        container = self._containers.get(request.container_id)
        sandbox = self._sandboxes.find(container.sandbox_id)
        return cri.ContainerStatusResponse(status=containers_of.to_status(container, sandbox))

    async def reopen_container_log(self, request: Any) -> Any:
        self._lifecycle.reopen_log(self._containers.get(request.container_id))
        return cri.ReopenContainerLogResponse()

    async def exec_sync(self, request: Any) -> Any:
        container = self._containers.running(request.container_id)
        result = await self._executor.run(container, list(request.cmd), max(0, request.timeout))
        return cri.ExecSyncResponse(
            stdout=result.stdout, stderr=result.stderr, exit_code=result.code
        )

    async def exec(self, request: Any) -> Any:
        self._containers.running(request.container_id)
        return cri.ExecResponse(url=self._streaming.url_for_exec(request))

    async def attach(self, request: Any) -> Any:
        self._containers.running(request.container_id)
        return cri.AttachResponse(url=self._streaming.url_for_attach(request))

    async def port_forward(self, request: Any) -> Any:
        sandbox = self._sandboxes.get(request.pod_sandbox_id)
        if sandbox.state is not SandboxState.READY:
            raise FailedPreconditionError(f'sandbox container "{sandbox.id}" is not running')
        return cri.PortForwardResponse(url=self._streaming.url_for_portforward(request))

    async def update_container_resources(self, request: Any) -> Any:
        container = self._containers.get(request.container_id)
        async with self._locks[container.id]:
            limits = containers_of.to_limits(request.windows)
            await self._lifecycle.update(container, limits)
        return cri.UpdateContainerResourcesResponse()

    async def container_stats(self, request: Any) -> Any:
        container = self._containers.get(request.container_id)
        return cri.ContainerStatsResponse(
            stats=await asyncio.to_thread(self._stats.container, container)
        )

    async def list_container_stats(self, request: Any) -> Any:
        wanted = cri.ContainerFilter(
            id=request.filter.id,
            pod_sandbox_id=request.filter.pod_sandbox_id,
            label_selector=dict(request.filter.label_selector),
            state=cri.ContainerStateValue(state=cri.CONTAINER_RUNNING),
        )
        found = [self._containers.get(item.id) for item in self._containers.matching(wanted)]
        pods, containers = self._sandboxes.all(), self._containers.all()
        self._stats.keep_only({pod.id for pod in pods} | {each.id for each in containers})
        stats = await asyncio.to_thread(lambda: [self._stats.container(c) for c in found])
        return cri.ListContainerStatsResponse(stats=stats)

    async def pod_sandbox_stats(self, request: Any) -> Any:
        sandbox = self._sandboxes.get(request.pod_sandbox_id)
        containers = self._containers.of_sandbox(sandbox.id)
        return cri.PodSandboxStatsResponse(
            stats=await asyncio.to_thread(self._stats.sandbox, sandbox, containers)
        )

    async def list_pod_sandbox_stats(self, request: Any) -> Any:
        wanted = request.filter
        found = [
            (sandbox, self._containers.of_sandbox(sandbox.id))
            for sandbox in self._sandboxes.all()
            if sandbox.id.startswith(wanted.id)
            and labels_match(sandbox.config.labels, wanted.label_selector)
        ]
        stats = await asyncio.to_thread(lambda: [self._stats.sandbox(*pair) for pair in found])
        return cri.ListPodSandboxStatsResponse(stats=stats)

    async def update_runtime_config(self, request: Any) -> Any:
        # The pod CIDR reaches the pods through the CNI configuration, not through the runtime.
        return cri.UpdateRuntimeConfigResponse()

    async def runtime_config(self, request: Any) -> Any:
        return cri.RuntimeConfigResponse()

    async def image_fs_info(self, request: Any) -> Any:
        size = sum(image.size for image in self._images.all())
        return await asyncio.to_thread(self._stats.filesystems, size)

    async def list_images(self, request: Any) -> Any:
        images = self._images.all()
        wanted = request.filter.image.image
        if wanted:
            found = self._images.find(wanted)
            images = [] if found is None else [found]
        return cri.ListImagesResponse(images=[to_image(image) for image in images])

    async def image_status(self, request: Any) -> Any:
        image = self._images.find(request.image.image)
        return cri.ImageStatusResponse(image=None if image is None else to_image(image))

    async def pull_image(self, request: Any) -> Any:
        name = request.image.image
        if name.startswith(ARCHIVE):
            # Not a reference the kubelet lets through: only who owns this socket can ask for it.
            loaded = await self._images.load_archive(Path(name.removeprefix(ARCHIVE)))
            names = [next(iter(image.tags), image.id) for image in loaded]
            return cri.PullImageResponse(image_ref=",".join(names))
        image = await self._images.pull(request.image.image, to_auth(request.auth))
        return cri.PullImageResponse(image_ref=image.id)

    async def remove_image(self, request: Any) -> Any:
        await self._images.remove(request.image.image)
        return cri.RemoveImageResponse()


def _to_snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


def to_auth(auth: Any) -> RegistryAuth | None:
    """Credentials as the kubelet sends them: in two fields, or as one base64 word."""
    if auth.username or auth.password:
        return RegistryAuth(auth.username, auth.password)
    if not auth.auth:
        return None
    try:
        text = base64.b64decode(auth.auth, validate=True).decode()
    except ValueError:
        raise InvalidArgumentError("the registry credentials are not base64") from None
    username, _, password = text.partition(":")
    return RegistryAuth(username, password.rstrip("\0"))


def to_image(image: Image) -> Any:
    return cri.Image(
        id=image.id,
        repo_tags=list(image.tags),
        repo_digests=list(image.digests),
        size=image.size,
        username=image.config.user,
        spec=cri.ImageSpec(image=image.id),
    )
