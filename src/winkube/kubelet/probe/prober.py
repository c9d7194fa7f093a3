"""Probe the running containers of one pod, one task per container and kind of probe.

A startup probe holds the other two back. The first probe runs at once (after the initial delay): a
pod that is ready is reported ready without waiting for a period to pass.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from winkube.base.types import JsonObject
from winkube.kubelet.errors import HookError
from winkube.kubelet.handler import Outcome, Target, run_exec, run_grpc, run_http, run_tcp
from winkube.kubelet.pod import identity
from winkube.kubelet.pod.plan import Verdicts
from winkube.kubelet.pod.state import Container, PodState
from winkube.kubelet.pod.tools import Tools
from winkube.kubelet.probe.verdict import FIELDS, Kind, Tally, Thresholds, count


@dataclass(slots=True)
class _Watched:
    """One running container: its verdicts, and the tasks that find them."""

    record: Container
    spec: JsonObject
    verdicts: dict[Kind, bool] = field(default_factory=dict)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)


class Prober:
    def __init__(self, tools: Tools, group: asyncio.TaskGroup, wake: Callable[[], None]) -> None:
        self._tools = tools
        self._group = group
        self._wake = wake
        self._watched: dict[str, _Watched] = {}

    def watch(self, pod: JsonObject, state: PodState) -> None:
        """Probe exactly the containers that run."""
        running = {record.id: record for record in state.running}
        for container_id in [known for known in self._watched if known not in running]:
            self._drop(container_id)
        ip = _address(pod, state, self._tools.config.node_ip)
        for container_id, record in running.items():
            spec = identity.find_container(pod, record.name)
            if container_id not in self._watched and spec is not None:
                self._begin(pod, record, spec, ip)

    def stop(self) -> None:
        for container_id in list(self._watched):
            self._drop(container_id)

    def verdicts(self) -> Verdicts:
        return Verdicts(
            failed_liveness=self._where(Kind.LIVENESS, False),
            failed_startup=self._where(Kind.STARTUP, False),
            started=self.started(),
        )

    def started(self) -> frozenset[str]:
        return frozenset(key for key, entry in self._watched.items() if entry.started.is_set())

    def ready(self) -> frozenset[str]:
        return self.started() & self._where(Kind.READINESS, True)

    def _where(self, kind: Kind, value: bool) -> frozenset[str]:
        return frozenset(
            key for key, entry in self._watched.items() if entry.verdicts.get(kind) is value
        )

    def _drop(self, container_id: str) -> None:
        for task in self._watched.pop(container_id).tasks:
            task.cancel()

    def _begin(self, pod: JsonObject, record: Container, spec: JsonObject, ip: str) -> None:
        entry = self._watched[record.id] = _Watched(record, spec)
        known = _reported(pod, record)
        # Without a probe a running container is started and ready; with one, a restarted kubelet
        # goes on from what was reported, so that a healthy pod does not blink.
        if not spec.get(FIELDS[Kind.STARTUP]) or known.get("started"):
            entry.started.set()
        if not spec.get(FIELDS[Kind.READINESS]) or known.get("ready"):
            entry.verdicts[Kind.READINESS] = True
        target = Target(record.id, ip, spec)
        for kind in Kind:
            if spec.get(FIELDS[kind]) and not (kind is Kind.STARTUP and entry.started.is_set()):
                entry.tasks.append(
                    self._group.create_task(
                        self._probe(pod, entry, kind, target), name=f"{kind}-{record.name}"
                    )
                )

    async def _probe(self, pod: JsonObject, entry: _Watched, kind: Kind, target: Target) -> None:
        probe = entry.spec[FIELDS[kind]]
        limits = Thresholds.of(probe)
        if kind is not Kind.STARTUP:
            await entry.started.wait()
        age = self._tools.clock.now() - entry.record.started_at
        await asyncio.sleep(max(0.0, limits.initial_delay - age))
        tally = Tally(verdict=entry.verdicts.get(kind))
        while True:
            began = self._tools.clock.monotonic()
            outcome = await self._ask(probe, target, limits.timeout)
            tally = count(tally, ok=outcome.ok, limits=limits)
            if not outcome.ok:
                self._complain(pod, entry, kind, outcome)
            self._note(entry, kind, tally)
            if kind is Kind.STARTUP and tally.verdict is not None:
                return
            if kind is Kind.LIVENESS and tally.verdict is False:
                return
            spent = self._tools.clock.monotonic() - began
            await asyncio.sleep(max(0.0, limits.period - spent))

    def _note(self, entry: _Watched, kind: Kind, tally: Tally) -> None:
        if tally.verdict is None or entry.verdicts.get(kind) is tally.verdict:
            return
        entry.verdicts[kind] = tally.verdict
        if kind is Kind.STARTUP and tally.verdict:
            entry.started.set()
        self._wake()

    async def _ask(self, probe: JsonObject, target: Target, timeout: float) -> Outcome:
        try:
            if "exec" in probe:
                command = probe["exec"].get("command") or []
                return await run_exec(self._tools.cri, target, command, timeout)
            if "httpGet" in probe:
                return await run_http(target, probe["httpGet"], timeout)
            if "tcpSocket" in probe:
                return await run_tcp(target, probe["tcpSocket"], timeout)
            if "grpc" in probe:
                return await run_grpc(target, probe["grpc"], timeout)
        except HookError as error:
            return Outcome(False, str(error))
        return Outcome(False, f"missing probe handler for {target.container['name']}")

    def _complain(self, pod: JsonObject, entry: _Watched, kind: Kind, outcome: Outcome) -> None:
        reference = identity.to_reference(pod, entry.spec)
        message = f"{kind.capitalize()} probe failed: {outcome.output}"
        self._tools.recorder.record(reference, "Warning", "Unhealthy", message)


def _address(pod: JsonObject, state: PodState, node_ip: str) -> str:
    if identity.is_host_network(pod):
        return node_ip
    sandbox = state.ready_sandbox
    return sandbox.ips[0] if sandbox is not None and sandbox.ips else ""


def _reported(pod: JsonObject, record: Container) -> JsonObject:
    """What the API already says about this very instance."""
    status = pod.get("status") or {}
    entries = (status.get("containerStatuses") or []) + (status.get("initContainerStatuses") or [])
    for entry in entries:
        if str(entry.get("containerID") or "").endswith(f"//{record.id}"):
            return dict(entry)
    return {}
