"""All pods of this node: a worker for each, and clean-up of what belongs to none."""

import asyncio
import contextlib
import logging
from fractions import Fraction
from typing import Any, Final

from winkube.aio.supervise import repeat
from winkube.base.types import JsonObject
from winkube.kubelet.errors import AdmissionError
from winkube.kubelet.node.own import OwnNode
from winkube.kubelet.pod import identity
from winkube.kubelet.pod.admission import Host, check_pod, host_ports
from winkube.kubelet.pod.state import Container
from winkube.kubelet.pod.tools import Tools
from winkube.kubelet.pod.worker import PodWorker
from winkube.kubelet.spec.resources import pod_requests
from winkube.wire import cri
from winkube.wire.cri_client import CriError

SWEEP_SECONDS: Final = 10.0
RPC_MARGIN: Final = 120.0

log = logging.getLogger(__name__)


class PodWorkers:
    def __init__(self, tools: Tools, node: OwnNode) -> None:
        self._tools = tools
        self._node = node
        self._workers: dict[str, PodWorker] = {}
        self._group: asyncio.TaskGroup | None = None
        self._early: list[PodWorker] = []

    def on_change(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        """An informer's handler: the API's view of one pod changed."""
        if old is not None and (new is None or identity.uid_of(old) != identity.uid_of(new)):
            gone = self._workers.get(identity.uid_of(old))
            if gone is not None:
                gone.update(None)
        if new is None:
            return
        worker = self._workers.get(identity.uid_of(new))
        if worker is not None:
            worker.update(new)
        else:
            self._add(PodWorker(new, self._tools, self._admit))

    def wake(self, uid: str) -> None:
        worker = self._workers.get(uid)
        if worker is not None:
            worker.wake()

    def get(self, namespace: str, name: str) -> PodWorker | None:
        """The worker of the newest pod with this name."""
        found = [
            worker
            for worker in self._workers.values()
            if identity.namespace_of(worker.pod) == namespace
            and identity.name_of(worker.pod) == name
        ]
        return max(found, key=lambda worker: not worker.gone, default=None)

    def all(self) -> list[PodWorker]:
        return [*self._workers.values()]

    def running_containers(self) -> list[Container]:
        return [found for worker in self._workers.values() for found in worker.state.running]

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            self._group = group
            early, self._early = self._early, []
            for worker in early:
                group.create_task(self._serve(worker), name=f"pod-{worker.uid}")
            group.create_task(
                repeat(SWEEP_SECONDS, self._sweep, name="sweep orphans"), name="sweep"
            )

    def _add(self, worker: PodWorker) -> None:
        self._workers[worker.uid] = worker
        if self._group is None:
            self._early.append(worker)
        else:
            self._group.create_task(self._serve(worker), name=f"pod-{worker.uid}")

    async def _serve(self, worker: PodWorker) -> None:
        try:
            await worker.run()
        finally:
            self._workers.pop(worker.uid, None)

    async def _admit(self, pod: JsonObject) -> None:
        try:
            check_pod(pod, self._host(self._node.known()))
        except AdmissionError as refusal:
            # The scheduler may have seen a label before us.
            if refusal.reason != "NodeAffinity":
                raise
            check_pod(pod, self._host(await self._node.fetch()))

    def _host(self, node: JsonObject) -> Host:
        used: dict[str, Fraction] = {}
        ports: set[tuple[str, str, int]] = set()
        running = [
            worker for worker in self._workers.values() if worker.admitted and not worker.over
        ]
        for worker in running:
            for resource, amount in pod_requests(worker.pod).items():
                used[resource] = used.get(resource, Fraction(0)) + amount
            ports |= host_ports(worker.pod)
        config = self._tools.config
        reported = (node.get("status") or {}).get("allocatable") or {}
        return Host(
            os=config.os,
            name=config.node_name,
            labels=node["metadata"].get("labels") or {},
            taints=tuple((node.get("spec") or {}).get("taints") or ()),
            allocatable={**reported, **self._tools.facts().allocatable},
            used=used,
            pods=len(running),
            ports=frozenset(ports),
            kube_version=config.kube_version,
        )

    async def _sweep(self) -> None:
        """Stop and remove sandboxes, folders and logs of pods the API no longer has."""
        await self._tools.may_start.wait()
        listed = await self._tools.cri.call("ListPodSandbox", cri.ListPodSandboxRequest())
        for item in listed.items:
            uid = item.labels.get(identity.POD_UID, "")
            if uid and uid not in self._workers:
                await self._remove_sandbox(item)
        self._sweep_folders()

    async def _remove_sandbox(self, item: Any) -> None:
        log.info("orphan removed", extra={"sandbox": item.id, "pod": item.metadata.name})
        call = self._tools.cri.call
        selector = cri.ContainerFilter(pod_sandbox_id=item.id)
        found = await call("ListContainers", cri.ListContainersRequest(filter=selector))
        for container in found.containers:
            grace = int(container.annotations.get(identity.GRACE_PERIOD) or 0)
            if container.state == cri.CONTAINER_RUNNING:
                with contextlib.suppress(CriError):
                    await call(
                        "StopContainer",
                        cri.StopContainerRequest(container_id=container.id, timeout=grace),
                        timeout=grace + RPC_MARGIN,
                    )
        with contextlib.suppress(CriError):
            await call("StopPodSandbox", cri.StopPodSandboxRequest(pod_sandbox_id=item.id))
            await call("RemovePodSandbox", cri.RemovePodSandboxRequest(pod_sandbox_id=item.id))

    def _sweep_folders(self) -> None:
        folder = self._tools.config.root_dir / "pods"
        if not folder.is_dir():
            return
        for entry in folder.iterdir():
            if entry.name not in self._workers:
                self._tools.volumes.teardown(entry.name)
