"""Stop containers and sandboxes: hooks, then a signal, then force, within the grace period."""

import asyncio
import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from winkube.base.types import JsonObject
from winkube.kubelet.errors import HookError
from winkube.kubelet.handler import Target, run_hook
from winkube.kubelet.pod import identity
from winkube.kubelet.pod.state import Container, PodState, Sandbox
from winkube.kubelet.pod.tools import Tools
from winkube.wire import cri
from winkube.wire.cri_client import CriError

# A container gets at least this long, however little its hook or others left (upstream's rule).
MIN_GRACE: Final = 2
RPC_MARGIN: Final = 120.0


@dataclass(frozen=True, slots=True)
class Stopper:
    tools: Tools

    async def kill(
        self,
        pod: JsonObject,
        container: JsonObject | None,
        container_id: str,
        *,
        message: str,
        grace: int,
        after: Collection[asyncio.Task[None]] = (),
    ) -> None:
        """Stop one container; ``message`` is what the Killing event says.

        Its hook runs at once; it is stopped when ``after`` are, if there is time left for that.
        """
        reference = identity.to_reference(pod, container)
        self.tools.recorder.record(reference, "Normal", "Killing", message)
        self.tools.heat()
        began = self.tools.clock.monotonic()
        if container is not None and grace > 0:
            await self._pre_stop(pod, container, container_id, grace)
        left = grace - int(self.tools.clock.monotonic() - began)
        if after and left > 0:
            await asyncio.wait(after, timeout=left)
            left = grace - int(self.tools.clock.monotonic() - began)
        await self._stop(container_id, max(left, MIN_GRACE))

    async def _stop(self, container_id: str, grace: int) -> None:
        try:
            await self.tools.cri.call(
                "StopContainer",
                cri.StopContainerRequest(container_id=container_id, timeout=grace),
                timeout=grace + RPC_MARGIN,
            )
        except CriError as error:
            if not error.not_found:
                raise

    async def _pre_stop(
        self, pod: JsonObject, container: JsonObject, container_id: str, grace: int
    ) -> None:
        action = (container.get("lifecycle") or {}).get("preStop")
        if not action:
            return
        ip = (pod.get("status") or {}).get("podIP") or self.tools.config.node_ip
        try:
            async with asyncio.timeout(grace):
                await run_hook(
                    self.tools.cri, Target(container_id, ip, container), action, float(grace)
                )
        except TimeoutError:
            return
        except HookError:
            # Without what the hook said: it may be a secret.
            reference = identity.to_reference(pod, container)
            text = "PreStopHook failed"
            self.tools.recorder.record(reference, "Warning", "FailedPreStopHook", text)

    async def stop_pod(self, pod: JsonObject, state: PodState, grace: int) -> None:
        """Main containers together, then sidecars last to first, then the sandboxes."""
        async with asyncio.TaskGroup() as tasks:
            before: list[asyncio.Task[None]] = []
            for group in _kill_groups(pod, state):
                before += [
                    tasks.create_task(
                        self._kill_quietly(pod, record, grace, tuple(before)),
                        name=f"kill-{record.name}",
                    )
                    for record in group
                ]
        for sandbox in state.sandboxes:
            if sandbox.ready:
                await self.tools.cri.call(
                    "StopPodSandbox", cri.StopPodSandboxRequest(pod_sandbox_id=sandbox.id)
                )

    async def _kill_quietly(
        self,
        pod: JsonObject,
        record: Container,
        grace: int,
        after: Collection[asyncio.Task[None]],
    ) -> None:
        spec = identity.find_container(pod, record.name)
        message = f"Stopping container {record.name}"
        # StopPodSandbox, next, kills what is left and reports the failure that counts.
        with contextlib.suppress(CriError):
            await self.kill(pod, spec, record.id, message=message, grace=grace, after=after)

    async def remove_pod(self, sandboxes: Sequence[Sandbox]) -> None:
        """Remove sandboxes with all their containers; absent is fine."""
        for sandbox in sandboxes:
            request = cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox.id)
            try:
                await self.tools.cri.call("RemovePodSandbox", request)
            except CriError as error:
                if not error.not_found:
                    raise


def _kill_groups(pod: JsonObject, state: PodState) -> list[list[Container]]:
    sidecars = [c["name"] for c in identity.init_containers(pod) if identity.is_sidecar(c)]
    main = [record for record in state.running if record.name not in sidecars]
    ordered = [
        [record for record in state.running if record.name == name] for name in reversed(sidecars)
    ]
    return [group for group in (main, *ordered) if group]
