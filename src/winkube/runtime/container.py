"""Containers as CRI objects: from a request to a record, and from a record to an answer."""

import asyncio
import logging
from typing import Any, Final

from winkube.base.clock import Clock
from winkube.machines.personality import Personality
from winkube.machines.wine.recipe import USERS
from winkube.runtime.account import find_account
from winkube.runtime.command_line import ImageCommand, plan_command_line
from winkube.runtime.environment import merge_env, windows_environment
from winkube.runtime.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    RuntimeServiceError,
    UnsupportedError,
)
from winkube.runtime.lifecycle import Lifecycle
from winkube.runtime.oci.builtin import personality_of
from winkube.runtime.oci.errors import (
    BuildMismatchError,
    InvalidReferenceError,
    PlatformError,
)
from winkube.runtime.oci.images import ImageService
from winkube.runtime.oci.model import Image
from winkube.runtime.oci.reference import parse_reference
from winkube.runtime.sandbox import SandboxService, labels_match, new_id
from winkube.runtime.state import Container, ContainerState, Records, Sandbox, SandboxState, pack
from winkube.wire import cri

log = logging.getLogger(__name__)

_CRI_STATES: Final = {
    ContainerState.CREATED: "CONTAINER_CREATED",
    ContainerState.RUNNING: "CONTAINER_RUNNING",
    ContainerState.EXITED: "CONTAINER_EXITED",
}


class ContainerService:
    def __init__(
        self,
        personality: Personality,
        records: Records[Container],
        sandboxes: SandboxService,
        images: ImageService,
        lifecycle: Lifecycle,
        clock: Clock,
    ) -> None:
        self._personality = personality
        self._records = records
        self._sandboxes = sandboxes
        self._images = images
        self._lifecycle = lifecycle
        self._clock = clock

    def get(self, container_id: str) -> Container:
        container = self._records.find(container_id)
        if container is None:
            raise NotFoundError("container", container_id)
        return container

    def find(self, container_id: str) -> Container | None:
        return self._records.find(container_id)

    def running(self, container_id: str) -> Container:
        container = self.get(container_id)
        if container.state is not ContainerState.RUNNING:
            state = _CRI_STATES[container.state]
            raise RuntimeServiceError(f"container is in {state} state")
        return container

    async def adopt(self) -> None:
        """Take over what an earlier process of ours has left."""
        for container in self._records:
            await self._lifecycle.adopt(container)

    def of_sandbox(self, sandbox_id: str) -> list[Container]:
        return [c for c in self._records if c.sandbox_id == sandbox_id]

    async def create(self, request: Any) -> Any:
        sandbox = self._sandboxes.get(request.pod_sandbox_id)
        if sandbox.state is not SandboxState.READY:
            raise FailedPreconditionError(f"sandbox {sandbox.id} is not running")
        config = request.config
        if not config.metadata.name:
            raise InvalidArgumentError("container config must include metadata with a name")
        image = self._images.get(config.image.image)
        container = self._plan(sandbox, config, image)
        container.layers = [str(layer) for layer in await self._images.layers(image)]
        self._records.save(container)
        env = merge_env(
            windows_environment(container.user),
            image.config.env,
            {item.key: item.value.decode(errors="replace") for item in config.envs},
        )
        try:
            self._lifecycle.prepare(container, sandbox, env)
        except BaseException:
            await asyncio.shield(self._lifecycle.remove(container))
            raise
        return cri.CreateContainerResponse(container_id=container.id)

    def _plan(self, sandbox: Sandbox, config: Any, image: Image) -> Container:
        personality = self._image_personality(image)
        settings = cri.ContainerConfig.FromString(config.SerializeToString())
        settings.working_dir = config.working_dir or image.config.working_dir
        command = ImageCommand(image.config.entrypoint, image.config.cmd, image.config.args_escaped)
        return Container(
            id=new_id(),
            sandbox_id=sandbox.id,
            config_data=pack(settings),
            image_id=image.id,
            image_ref=image.digests[0] if image.digests else image.id,
            personality=personality.key,
            user=_plan_user(sandbox, config, image),
            command=plan_command_line(command, list(config.command), list(config.args)),
            created_at=int(self._clock.now() * 1e9),
            resources=to_limits(config.windows.resources),
        )

    def _image_personality(self, image: Image) -> Personality:
        """Which Windows the container is; an image that does not say runs as the host does."""
        if image.config.os != "windows":
            raise PlatformError(self._personality.windows_build, image.config.os)
        build = image.config.build
        if build is None:
            return self._personality
        if not self._personality.runs_image_build(build):
            raise BuildMismatchError(build, self._personality.build)
        return personality_of(build) or self._personality

    async def start(self, container: Container) -> None:
        sandbox = self._sandboxes.get(container.sandbox_id)
        if container.state is not ContainerState.CREATED:
            raise RuntimeServiceError(
                f"failed to set starting state for container {container.id}: "
                f"container is in {_CRI_STATES[container.state]} state"
            )
        if sandbox.state is not SandboxState.READY:
            raise FailedPreconditionError(f"sandbox container {sandbox.id} is not running")
        await self._lifecycle.start(container, sandbox)

    def all(self) -> list[Container]:
        return list(self._records)

    def matching(self, filter_: Any) -> list[Any]:
        found = (container for container in self._records if _wanted(container, filter_))
        return [to_item(item) for item in sorted(found, key=lambda c: -c.created_at)]


def _plan_user(sandbox: Sandbox, config: Any, image: Image) -> str:
    """The container's choice, else the pod's, else the image's, else the administrator."""
    context = config.windows.security_context
    if context.host_process:
        raise UnsupportedError("HostProcess containers are not supported by this runtime yet")
    pod = sandbox.config.windows.security_context
    name = context.run_as_username or pod.run_as_username or image.config.user or USERS[0]
    return find_account(name) or str(name)


def to_limits(resources: Any) -> dict[str, int]:
    return {
        "cpu_maximum": resources.cpu_maximum,
        "cpu_count": resources.cpu_count,
        "cpu_shares": resources.cpu_shares,
        "memory_bytes": resources.memory_limit_in_bytes,
    }


def _wanted(container: Container, filter_: Any) -> bool:
    if filter_.id and not container.id.startswith(filter_.id):
        return False
    if filter_.pod_sandbox_id and not container.sandbox_id.startswith(filter_.pod_sandbox_id):
        return False
    if filter_.HasField("state") and filter_.state.state != to_state(container):
        return False
    return labels_match(container.config.labels, filter_.label_selector)


def to_state(container: Container) -> int:
    return int(getattr(cri, _CRI_STATES[container.state]))


def to_item(container: Container) -> Any:
    config = container.config
    return cri.Container(
        id=container.id,
        pod_sandbox_id=container.sandbox_id,
        metadata=config.metadata,
        image=_shown_image(config.image),
        image_ref=container.image_ref,
        image_id=container.image_id,
        state=to_state(container),
        created_at=container.created_at,
        labels=dict(config.labels),
        annotations=dict(config.annotations),
    )


def _shown_image(image: Any) -> Any:
    """By the name it was asked for with: the kubelet asks by id, people read a status."""
    try:
        return cri.ImageSpec(image=str(parse_reference(image.user_specified_image)))
    except InvalidReferenceError:
        return image


def to_status(container: Container, sandbox: Sandbox | None) -> Any:
    config = container.config
    limits = container.resources
    log_path = ""
    if config.log_path and sandbox is not None and sandbox.config.log_directory:
        log_path = f"{sandbox.config.log_directory.rstrip('/')}/{config.log_path}"
    return cri.ContainerStatus(
        id=container.id,
        metadata=config.metadata,
        state=to_state(container),
        created_at=container.created_at,
        started_at=container.started_at,
        finished_at=container.finished_at,
        exit_code=container.exit_code,
        image=_shown_image(config.image),
        image_ref=container.image_ref,
        image_id=container.image_id,
        reason=container.reason,
        message=container.message,
        labels=dict(config.labels),
        annotations=dict(config.annotations),
        mounts=list(config.mounts),
        log_path=log_path,
        resources=cri.ContainerResources(
            windows=cri.WindowsContainerResources(
                cpu_maximum=limits.get("cpu_maximum", 0),
                cpu_count=limits.get("cpu_count", 0),
                cpu_shares=limits.get("cpu_shares", 0),
                memory_limit_in_bytes=limits.get("memory_bytes", 0),
            )
        ),
    )
