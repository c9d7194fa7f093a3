"""Start sandboxes and containers: the effects of a plan, one call at a time."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.kubelet.errors import HookError, KubeletError, SandboxError, StartError
from winkube.kubelet.handler import Target, run_hook
from winkube.kubelet.image import find_credentials
from winkube.kubelet.pod import identity
from winkube.kubelet.pod.backoff import to_duration
from winkube.kubelet.pod.state import Container, Phase, PodState, Sandbox
from winkube.kubelet.pod.stop import Stopper
from winkube.kubelet.pod.tools import Tools
from winkube.kubelet.spec.container import Ingredients, build_container
from winkube.kubelet.spec.env import EnvSource, build_env, service_variables
from winkube.kubelet.spec.sandbox import build_sandbox, ensure_log_dir
from winkube.kubelet.spec.security import check_non_root
from winkube.kubelet.volume.mounts import build_mounts, hosts_mount, message_mount
from winkube.kubelet.volume.payload import PayloadSource
from winkube.kubelet.volume.volumes import Volume
from winkube.wire import cri
from winkube.wire.cri_client import CriError

SANDBOX_SECONDS: Final = 240.0
# Of a container's dead instances one is kept, for logs --previous.
KEPT_INSTANCES: Final = 2
HOOK_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True)
class Launcher:
    tools: Tools
    # Objects fetched before this monotonic time may not be used: the pod may refer to newer ones.
    not_before: float

    async def volumes(self, pod: JsonObject, ips: tuple[str, ...]) -> dict[str, Volume]:
        return await self.tools.volumes.ensure(pod, self.payload_source(ips))

    def payload_source(self, ips: tuple[str, ...]) -> PayloadSource:
        return PayloadSource(self._lookup, self.tools.tokens.get, self.tools.facts(), ips)

    async def start_sandbox(self, pod: JsonObject, attempt: int) -> Sandbox:
        ensure_log_dir(pod, self.tools.config)
        config = build_sandbox(pod, attempt, self.tools.config)
        handler = await self._handler(pod)
        try:
            answer = await self.tools.cri.call(
                "RunPodSandbox",
                cri.RunPodSandboxRequest(config=config, runtime_handler=handler),
                timeout=SANDBOX_SECONDS,
            )
            status = await self.tools.cri.call(
                "PodSandboxStatus",
                cri.PodSandboxStatusRequest(pod_sandbox_id=answer.pod_sandbox_id),
            )
        except CriError as error:
            raise SandboxError(f"Failed to create pod sandbox: {to_rpc_text(error)}") from error
        network = status.status.network
        ips = tuple(filter(None, (network.ip, *(extra.ip for extra in network.additional_ips))))
        return Sandbox(answer.pod_sandbox_id, ready=True, attempt=attempt, ips=ips)

    async def start_container(
        self,
        pod: JsonObject,
        container: JsonObject,
        sandbox: Sandbox,
        state: PodState,
        volumes: Mapping[str, Volume],
    ) -> None:
        """Create and start one container; StartError says why it has to wait."""
        latest = state.latest(container["name"])
        self._check_backoff(pod, container, latest)
        sandbox_config = build_sandbox(pod, sandbox.attempt, self.tools.config)
        image = await self._image(pod, container, sandbox_config)
        target = state.latest(str(container.get("targetContainerName") or ""))
        parts = Ingredients(
            image_ref=image.id or str(container["image"]),
            attempt=next_attempt(pod, container, latest),
            target_id="" if target is None else target.id,
        )
        with self._telling(pod, container):
            check_non_root(pod, container, image, windows=self.tools.config.is_windows)
            config = await self._config(pod, container, sandbox, volumes, parts)
        container_id = await self._create(pod, container, sandbox, config, sandbox_config)
        await self._start(pod, container, container_id)
        await self._post_start(pod, container, sandbox, container_id)
        await self._remove_old(state.instances(container["name"]))

    def _check_backoff(
        self, pod: JsonObject, container: JsonObject, latest: Container | None
    ) -> None:
        if latest is None or latest.phase is not Phase.EXITED:
            return
        key, now = backoff_key(pod, container), self.tools.clock.now()
        backoffs = self.tools.backoffs
        if backoffs.wait(key, latest.finished_at, now) > 0:
            name, pod_name = container["name"], identity.full_name(pod)
            self._event(
                pod, container, "Warning", "BackOff",
                f"Back-off restarting failed container {name} in pod {pod_name}",
            )  # fmt: skip
            delay = to_duration(backoffs.delay(key))
            raise StartError(
                "CrashLoopBackOff",
                f"back-off {delay} restarting failed container={name} pod={pod_name}",
            )
        backoffs.advance(key, latest.finished_at, now)

    async def _image(self, pod: JsonObject, container: JsonObject, sandbox_config: Any) -> Any:
        secrets = []
        for reference in pod["spec"].get("imagePullSecrets") or []:
            found = await self._lookup(
                "secret", identity.namespace_of(pod), reference.get("name") or ""
            )
            secrets += [found] if found is not None else []
        credentials = find_credentials(secrets, str(container.get("image") or ""))
        reference = identity.to_reference(pod, container)
        try:
            return await self.tools.images.ensure(
                container,
                sandbox_config,
                credentials,
                key=identity.uid_of(pod),
                say=lambda *what: self.tools.recorder.record(reference, *what),
            )
        except CriError as error:
            fault = StartError("ImageInspectError", f"Failed to inspect image: {error}")
            self._event(pod, container, "Warning", "Failed", f"Error: {fault.reason}")
            raise fault from error
        except StartError as error:
            self._event(pod, container, "Warning", "Failed", f"Error: {error.reason}")
            raise

    async def _config(
        self,
        pod: JsonObject,
        container: JsonObject,
        sandbox: Sandbox,
        volumes: Mapping[str, Volume],
        parts: Ingredients,
    ) -> Any:
        config, machine = self.tools.config, self.tools.machine()
        ips = config.node_ips if identity.is_host_network(pod) else sandbox.ips
        namespace = identity.namespace_of(pod)
        links = pod["spec"].get("enableServiceLinks", True) is not False
        source = EnvSource(
            self._lookup,
            self.tools.facts(),
            service_variables(self.tools.services(), namespace, links=links),
            ips,
        )
        env = await build_env(pod, container, source)
        mounts = build_mounts(pod, container, volumes, env, config)
        mounts += hosts_mount(pod, container, ips, config)
        mounts += message_mount(pod, container, parts.attempt, config)
        parts = replace(
            parts,
            env=env,
            mounts=mounts,
            cpus=machine.cpus,
            memory_bytes=machine.memory_bytes,
        )
        return build_container(pod, container, parts, config)

    @contextlib.contextmanager
    def _telling(self, pod: JsonObject, container: JsonObject) -> Iterator[None]:
        """What is wrong with a container's settings is said in an event too."""
        try:
            yield
        except KubeletError as error:
            self._event(pod, container, "Warning", "Failed", f"Error: {error}")
            if isinstance(error, StartError):
                raise
            raise StartError("CreateContainerConfigError", str(error)) from error

    async def _create(
        self,
        pod: JsonObject,
        container: JsonObject,
        sandbox: Sandbox,
        config: Any,
        sandbox_config: Any,
    ) -> str:
        folder = ensure_log_dir(pod, self.tools.config) / container["name"]
        folder.mkdir(exist_ok=True)
        request = cri.CreateContainerRequest(
            pod_sandbox_id=sandbox.id, config=config, sandbox_config=sandbox_config
        )
        try:
            answer = await self.tools.cri.call("CreateContainer", request)
        except CriError as error:
            self._event(pod, container, "Warning", "Failed", f"Error: {error}")
            raise StartError("CreateContainerError", str(error)) from error
        name = container["name"]
        self._event(pod, container, "Normal", "Created", f"Created container: {name}")
        return str(answer.container_id)

    async def _start(self, pod: JsonObject, container: JsonObject, container_id: str) -> None:
        try:
            await self.tools.cri.call(
                "StartContainer", cri.StartContainerRequest(container_id=container_id)
            )
        except CriError as error:
            self._event(pod, container, "Warning", "Failed", f"Error: {error}")
            raise StartError("RunContainerError", str(error)) from error
        finally:
            self.tools.heat()
        name = container["name"]
        self._event(pod, container, "Normal", "Started", f"Started container {name}")

    async def _post_start(
        self, pod: JsonObject, container: JsonObject, sandbox: Sandbox, container_id: str
    ) -> None:
        action = (container.get("lifecycle") or {}).get("postStart")
        if not action:
            return
        ip = (
            self.tools.config.node_ip
            if identity.is_host_network(pod)
            else next(iter(sandbox.ips), "")
        )
        try:
            await run_hook(
                self.tools.cri, Target(container_id, ip, container), action, HOOK_SECONDS
            )
        except HookError as error:
            # Not what the hook said: more people read events than may read the pod's secrets.
            self._event(pod, container, "Warning", "FailedPostStartHook", "PostStartHook failed")
            stopper = Stopper(self.tools)
            with contextlib.suppress(CriError):
                await stopper.kill(
                    pod,
                    container,
                    container_id,
                    message="FailedPostStartHook",
                    grace=identity.grace_seconds(pod),
                )
            raise StartError("PostStartHookError", f"PostStartHook failed: {error}") from error

    async def _remove_old(self, instances: list[Container]) -> None:
        """Keep one dead instance besides the new one."""
        logs = self.tools.config.pod_logs_dir
        for old in instances[KEPT_INSTANCES - 1 :]:
            with contextlib.suppress(CriError):
                await self.tools.cri.call(
                    "RemoveContainer", cri.RemoveContainerRequest(container_id=old.id)
                )
            path = logs / old.log_path
            if old.log_path and path.is_file():
                path.unlink(missing_ok=True)

    async def _handler(self, pod: JsonObject) -> str:
        name = pod["spec"].get("runtimeClassName")
        if not name:
            return ""
        found = await self._lookup("runtimeClass", "", name)
        if found is None:
            raise SandboxError(
                f'failed to get sandbox runtime: RuntimeClass.node.k8s.io "{name}" not found'
            )
        return str(found.get("handler") or "")

    async def _lookup(self, kind: str, namespace: str, name: str) -> JsonObject | None:
        return await self.tools.objects.get(kind, namespace, name, not_before=self.not_before)

    def _event(
        self, pod: JsonObject, container: JsonObject, kind: str, reason: str, message: str
    ) -> None:
        reference = identity.to_reference(pod, container)
        self.tools.recorder.record(reference, kind, reason, message)


def backoff_key(pod: JsonObject, container: JsonObject) -> str:
    return f"{identity.uid_of(pod)}/{container['name']}"


def next_attempt(pod: JsonObject, container: JsonObject, latest: Container | None) -> int:
    """The restart count of the new instance; the API knows it when the runtime has forgotten."""
    if latest is not None:
        return latest.attempt + 1
    status = pod.get("status") or {}
    for entry in (status.get("containerStatuses") or []) + (
        status.get("initContainerStatuses") or []
    ):
        if entry.get("name") == container["name"] and entry.get("containerID"):
            return int(entry.get("restartCount") or 0) + 1
    return 0


def to_rpc_text(error: CriError) -> str:
    """As Go prints a gRPC error; users search for these words."""
    code = "".join(word.capitalize() for word in error.code.name.split("_"))
    return f"rpc error: code = {code} desc = {error.message}"
