"""One pod's worker: read the runtime, plan, apply, report; again whenever something changes.

Theory of operation: the worker is level-based. Its queue holds one key, the pod's uid; the API, the
runtime, the probes and timers add it. A pod is *running* until it is deleted (then it is stopped,
cleaned up and deleted from the API) or *over* (succeeded, failed or refused: what it left stays for
its logs until it is deleted). Deletion interrupts whatever waits: a pull, a hook, a stop.
"""

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from winkube.aio.backoff import Backoff
from winkube.aio.queue import WorkQueue
from winkube.aio.supervise import work
from winkube.api.errors import ConflictError, NotFoundError
from winkube.base.clock import parse_rfc3339
from winkube.base.types import JsonObject
from winkube.client.resource import PODS
from winkube.kubelet.errors import (
    AdmissionError,
    KubeletError,
    SandboxError,
    StartError,
    VolumeError,
)
from winkube.kubelet.pod import identity
from winkube.kubelet.pod.containerstatus import Inputs, Waiting
from winkube.kubelet.pod.launch import Launcher, backoff_key
from winkube.kubelet.pod.message import read_message
from winkube.kubelet.pod.plan import Plan, plan_pod
from winkube.kubelet.pod.presence import is_there
from winkube.kubelet.pod.state import Container, PodState, Sandbox
from winkube.kubelet.pod.status import (
    TERMINAL,
    Surroundings,
    hold_seconds,
    known_status,
    rejected_status,
    to_status,
)
from winkube.kubelet.pod.stop import Stopper
from winkube.kubelet.pod.tools import Tools
from winkube.kubelet.probe.prober import Prober
from winkube.kubelet.spec.sandbox import remove_cgroup
from winkube.kubelet.volume.payload import PROJECTED

# A pod's own trouble (a volume, a network) may last; a runtime that restarts is back in a moment.
RETRY: Final = Backoff(first=0.5, ceiling=120.0)
RUNTIME_RETRY: Final = Backoff(first=0.2, ceiling=5.0)
REFRESH_SECONDS: Final = 20.0
STUCK_SECONDS: Final = 5.0
# After a failed pull the status soon turns from ErrImagePull to ImagePullBackOff.
BACKOFF_SHOWN_AFTER: Final = 1.0

log = logging.getLogger(__name__)


class InterruptedByDeletionError(KubeletError):
    pass


class PodWorker:
    def __init__(
        self, pod: JsonObject, tools: Tools, admit: Callable[[JsonObject], Awaitable[None]]
    ) -> None:
        self.pod = pod
        self.uid = identity.uid_of(pod)
        self.state = PodState()
        self.status: JsonObject = dict(pod.get("status") or {})
        self.over = self.status.get("phase") in TERMINAL
        self.admitted = False
        self.gone = False  # from the API, without waiting for us
        self._tools = tools
        self._admit = admit
        self._launcher = Launcher(tools, tools.clock.monotonic())
        self._stopper = Stopper(tools)
        self._queue: WorkQueue[str] = WorkQueue(RUNTIME_RETRY)
        self._waiting: dict[str, Waiting] = {}
        self._failures = 0
        self._refreshed = tools.clock.monotonic()
        self._leash: asyncio.Timeout | None = None
        self._finished = asyncio.Event()
        self._prober: Prober | None = None

    @property
    def deleting(self) -> bool:
        return self.gone or bool(self.pod["metadata"].get("deletionTimestamp"))

    def update(self, pod: JsonObject | None) -> None:
        """The API's newest version; None when the pod is gone from it."""
        before = (self.deleting, identity.grace_seconds(self.pod))
        if pod is None:
            self.gone = True
        else:
            self.pod = pod
        if self.deleting and before != (self.deleting, identity.grace_seconds(self.pod)):
            self._interrupt()
        self.wake()

    def wake(self) -> None:
        self._queue.add(self.uid)

    async def run(self) -> None:
        """Live until the pod is gone and cleaned up."""
        async with asyncio.TaskGroup() as group:
            self._prober = Prober(self._tools, group, self.wake)
            self.wake()
            serving = group.create_task(
                work(self._queue, self._reconcile), name=f"pod-{identity.key_of(self.pod)}"
            )
            await self._finished.wait()
            serving.cancel()
            self._prober.stop()

    def _interrupt(self) -> None:
        if self._leash is not None and not self._leash.expired():
            self._leash.reschedule(asyncio.get_running_loop().time())

    @asynccontextmanager
    async def _interruptible(self) -> AsyncIterator[None]:
        """What waits in here is cut short when the pod is deleted, or deleted faster."""
        try:
            async with asyncio.timeout(None) as self._leash:
                yield
        except TimeoutError:
            raise InterruptedByDeletionError("the pod was deleted") from None
        finally:
            self._leash = None

    async def _reconcile(self, _: str) -> None:
        await self._tools.may_start.wait()
        try:
            self.state = await self._tools.reader.read(self.uid)
            if self.deleting:
                await self._terminate()
            elif self.over:
                await self._stop_leftovers()
            else:
                await self._advance()
        except InterruptedByDeletionError:
            self.wake()

    async def _advance(self) -> None:
        if not await self._enter():
            return
        if self._past_deadline():
            await self._fail(
                "DeadlineExceeded",
                "Pod was active on the node longer than the specified deadline",
            )
            return
        prober = self._probes()
        plan = plan_pod(self.pod, self.state, prober.verdicts())
        if not plan.idle:
            self.publish()
            await self._apply(plan)
            self.state = await self._tools.reader.read(self.uid)
        prober.watch(self.pod, self.state)
        self._forget_started()
        await self._refresh_volumes()
        self.publish()
        if self.status["phase"] in TERMINAL:
            self.over = True
            self.wake()
        self._plan_next_look()

    async def _enter(self) -> bool:
        """Admit the pod once; a pod that has a sandbox was admitted by an earlier kubelet."""
        if self.admitted:
            return True
        if not self.state.sandboxes:
            try:
                await self._admit(self.pod)
            except AdmissionError as refusal:
                self._reject(refusal)
                return False
        self.admitted = True
        return True

    def _reject(self, refusal: AdmissionError) -> None:
        log.info("pod refused", extra={"pod": identity.key_of(self.pod), "reason": refusal.reason})
        reference = identity.to_reference(self.pod)
        self._tools.recorder.record(reference, "Warning", refusal.reason, refusal.message)
        self.status = rejected_status(self.pod, refusal.reason, refusal.message, self._around())
        self.over = True
        self._tools.statuses.set(self.pod, self.status)

    async def _apply(self, plan: Plan) -> None:
        try:
            await self._apply_steps(plan)
        except (VolumeError, SandboxError) as error:
            reason = "FailedMount" if isinstance(error, VolumeError) else "FailedCreatePodSandBox"
            reference = identity.to_reference(self.pod)
            self._tools.recorder.record(reference, "Warning", reason, str(error))
            self._failures += 1
            self._queue.add_after(self.uid, RETRY.delay(self._failures))
        else:
            self._failures = 0

    async def _apply_steps(self, plan: Plan) -> None:
        if plan.kill_pod:
            await self._stop_all()
        for kill in plan.kill:
            spec = identity.find_container(self.pod, kill.container.name)
            async with self._interruptible():
                await self._stopper.kill(
                    self.pod,
                    spec,
                    kill.container.id,
                    message=kill.message,
                    grace=self._kill_grace(spec, kill.probe),
                )
        if plan.kill:
            self.state = await self._tools.reader.read(self.uid)
        if plan.create_sandbox or (plan.start and self.state.ready_sandbox is not None):
            await self._start_all(plan)

    async def _start_all(self, plan: Plan) -> None:
        sandbox = self.state.ready_sandbox
        volumes = await self._launcher.volumes(self.pod, self._ips(sandbox))
        if plan.create_sandbox or sandbox is None:
            self._tools.heat()
            sandbox = await self._launcher.start_sandbox(self.pod, plan.attempt)
        for name in plan.start:
            spec = identity.find_container(self.pod, name)
            if spec is None:
                continue
            try:
                async with self._interruptible():
                    await self._launcher.start_container(
                        self.pod, spec, sandbox, self.state, volumes
                    )
            except StartError as error:
                self._waiting[name] = Waiting(error.reason, error.message)
            else:
                self._waiting.pop(name, None)
        if plan.create_sandbox:
            # The last dead one stays: its containers' logs and restart counts are still of use.
            await self._stopper.remove_pod(self.state.sandboxes[1:])

    def _kill_grace(self, spec: JsonObject | None, probe: str) -> int:
        """A failed probe may allow another time than the pod's own grace period."""
        own = ((spec or {}).get(probe) or {}).get("terminationGracePeriodSeconds")
        return identity.grace_seconds(self.pod) if own is None else int(own)

    async def _stop_all(self) -> None:
        async with self._interruptible():
            # A deletion that asks for less time interrupts this, and it begins anew.
            await self._stopper.stop_pod(self.pod, self.state, identity.grace_seconds(self.pod))
        self.state = await self._tools.reader.read(self.uid)

    async def _stop_leftovers(self) -> None:
        if self.state.running or self.state.ready_sandbox is not None:
            await self._stop_all()
        self._probes().watch(self.pod, self.state)
        if self.state.sandboxes:
            self.publish()
        else:
            self._tools.statuses.set(self.pod, self.status)

    async def _fail(self, reason: str, message: str) -> None:
        reference = identity.to_reference(self.pod)
        self._tools.recorder.record(reference, "Normal", reason, message)
        await self._stop_all()
        self.over = True
        self.publish()
        self.status |= {"phase": "Failed", "reason": reason, "message": message}
        self._tools.statuses.set(self.pod, self.status)

    def _past_deadline(self) -> bool:
        seconds, start = self.pod["spec"].get("activeDeadlineSeconds"), self.status.get("startTime")
        if seconds is None or not start:
            return False
        left = parse_rfc3339(start) + int(seconds) - self._tools.clock.now()
        if left > 0:
            self._queue.add_after(self.uid, left)
        return left <= 0

    async def _terminate(self) -> None:
        self._probes().watch(self.pod, self.state)
        await self._stop_all()
        self._probes().stop()
        if not self.gone:
            self.over = True
            if self.state.sandboxes or self.status.get("phase") != "Failed":
                self.publish()
            await self._tools.statuses.settle(self.uid)
        await self._clean_up()
        if not self.gone:
            await self._delete()
        log.info("pod gone", extra={"pod": identity.key_of(self.pod), "uid": self.uid})
        self._tools.statuses.forget(self.uid)
        self._finished.set()

    async def _clean_up(self) -> None:
        await self._stopper.remove_pod(self.state.sandboxes)
        config = self._tools.config
        logs = config.log_dir(identity.namespace_of(self.pod), identity.name_of(self.pod), self.uid)
        await asyncio.to_thread(self._tools.volumes.teardown, self.uid)
        await asyncio.to_thread(shutil.rmtree, logs, ignore_errors=True)
        if not config.is_windows:
            await asyncio.to_thread(remove_cgroup, self.uid, config)
        self._tools.reader.forget(self.state)
        self._tools.tokens.forget(self.uid)
        self._tools.images.forget(self.uid)
        self._tools.backoffs.forget(f"{self.uid}/")

    async def _delete(self) -> None:
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": self.uid}}
        try:
            await self._tools.client.delete(
                PODS,
                identity.name_of(self.pod),
                namespace=identity.namespace_of(self.pod),
                options=options,
            )
        except NotFoundError:
            return
        except ConflictError:
            # The name belongs to a new pod already; or else we have to ask again.
            if await is_there(self._tools.client, self.pod):
                raise

    async def _refresh_volumes(self) -> None:
        now = self._tools.clock.monotonic()
        if not self.state.running or now - self._refreshed < REFRESH_SECONDS:
            return
        self._refreshed = now
        launcher = Launcher(self._tools, 0.0)
        source = launcher.payload_source(self._ips(self.state.ready_sandbox))
        await self._tools.volumes.refresh(self.pod, source)

    def _plan_next_look(self) -> None:
        """Timers: back-offs that end, containers that are stuck, volumes to refresh."""
        for name, waiting in self._waiting.items():
            self._queue.add_after(self.uid, self._retry_delay(name, waiting))
        volumes = self.pod["spec"].get("volumes") or []
        if any(kind in volume for volume in volumes for kind in PROJECTED):
            self._queue.add_after(self.uid, REFRESH_SECONDS)

    def _retry_delay(self, name: str, waiting: Waiting) -> float:
        spec = identity.find_container(self.pod, name)
        latest = self.state.latest(name)
        if spec is None:
            return STUCK_SECONDS
        if waiting.reason == "CrashLoopBackOff" and latest is not None:
            now = self._tools.clock.now()
            key = backoff_key(self.pod, spec)
            return self._tools.backoffs.wait(key, latest.finished_at, now) + 0.01
        if waiting.reason == "ErrImagePull":
            return BACKOFF_SHOWN_AFTER
        if waiting.reason == "ImagePullBackOff":
            return self._tools.images.wait(self.uid, str(spec.get("image"))) + 0.01
        return STUCK_SECONDS

    def _forget_started(self) -> None:
        for record in self.state.running:
            if self.state.latest(record.name) is record:
                self._waiting.pop(record.name, None)

    def publish(self) -> None:
        """Work the status out and hand it to the writer."""
        hold = hold_seconds(self.pod, self.state, self._tools.clock.now())
        if hold > 0:
            self._queue.add_after(self.uid, hold)
            return
        prober = self._probes()
        inputs = Inputs(
            state=self.state,
            waiting=self._waiting,
            ready=prober.ready(),
            started=prober.started(),
            runtime=self._tools.machine().runtime,
            messages=self._message,
            terminal=self.over,
        )
        known = {**self.pod, "status": known_status(self.pod, self.status)}
        self.status = to_status(known, inputs, self._around())
        self._tools.statuses.set(self.pod, self.status)

    def _message(self, container: Container) -> str:
        return read_message(self._tools.config, self.uid, container)

    def _around(self) -> Surroundings:
        return Surroundings(self._tools.config.node_ips, self._tools.clock.now())

    def _ips(self, sandbox: Sandbox | None) -> tuple[str, ...]:
        if identity.is_host_network(self.pod):
            return self._tools.config.node_ips
        return () if sandbox is None else sandbox.ips

    def _probes(self) -> Prober:
        assert self._prober is not None  # made by run(), which is what calls us
        return self._prober
