"""One pod on a simulated node: the real kubelet's plan and status over containers that are records.

Theory of operation: ``Life`` holds what a runtime would hold, a ``PodState``. ``advance`` moves it
to a point in time: containers whose time is over end, then the kubelet's own plan is applied until
nothing is left to do. It answers when to look again. No I/O, no tasks: a pod at rest costs memory.
"""

import dataclasses
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from winkube.base.clock import parse_rfc3339
from winkube.base.types import JsonObject
from winkube.kubelet.pod import identity
from winkube.kubelet.pod.backoff import Backoffs, to_duration
from winkube.kubelet.pod.containerstatus import Inputs, Waiting
from winkube.kubelet.pod.launch import backoff_key
from winkube.kubelet.pod.plan import Plan, Verdicts, plan_pod
from winkube.kubelet.pod.state import Container, Phase, PodState, Sandbox
from winkube.kubelet.pod.status import TERMINAL, Surroundings, known_status, to_status
from winkube.kubelet.simulated.script import NEVER, Script, is_first, read_script

KILLED: Final = 137
_ROUNDS: Final = 32
_PULL_BACKOFF: Final = "ImagePullBackOff"
_DEADLINE_TEXT: Final = "Pod was active on the node longer than the specified deadline"


@dataclass(slots=True)
class Life:
    pod: JsonObject
    began: float
    state: PodState = field(default_factory=PodState)
    status: JsonObject = field(default_factory=dict)
    admitted: bool = False
    over: bool = False
    deleted: bool = False
    stop_at: float | None = None
    _waiting: dict[str, Waiting] = field(default_factory=dict)
    _backoffs: Backoffs = field(default_factory=Backoffs)

    @classmethod
    def adopt(cls, pod: JsonObject, now: float) -> "Life":
        """Begin with what an earlier process has reported of this pod."""
        status = dict(pod.get("status") or {})
        life = cls(pod, now, status=status, over=status.get("phase") in TERMINAL)
        known = status.get("containerStatuses") or []
        if any(entry.get("containerID") for entry in known):
            life.admitted = True
            life.state = _state_of(pod, status)
        return life

    @property
    def deleting(self) -> bool:
        return bool(self.pod["metadata"].get("deletionTimestamp"))

    def advance(self, now: float, address: Callable[[], str]) -> float | None:
        """Let everything happen that is due; when to look again."""
        script = read_script(self.pod)
        due = [self._expire(script, now)]
        if now < self.began + script.start_after and not self.state.containers:
            self._begin(now, address)
            return self.began + script.start_after
        for _ in range(_ROUNDS):
            started = _ids(self.state.running)
            plan = plan_pod(self.pod, self.state, Verdicts(started=started))
            if plan.idle or not self._apply(plan, script, now, address):
                break
            due.append(self._expire(script, now))
        due += [self._next_retry(now), self._next_ready(script, now)]
        return min((when for when in due if when is not None and when > now), default=None)

    def stop(self, now: float) -> float | None:
        """A deletion: when its containers will have ended, None when they have."""
        script = read_script(self.pod)
        grace = identity.grace_seconds(self.pod)
        if not self.state.running:
            self._close()
            return None
        wanted = now + min(script.stop.after, grace)
        self.stop_at = wanted if self.stop_at is None else min(self.stop_at, wanted)
        if now < self.stop_at:
            return self.stop_at
        self._end_all(now, script.stop.code)
        self._close()
        return None

    def fail(self, now: float, reason: str, message: str, around: Surroundings) -> None:
        self._end_all(now, KILLED)
        self._close()
        self.over = True
        self.report(around)
        self.status |= {"phase": "Failed", "reason": reason, "message": message}

    def past_deadline(self, now: float) -> bool:
        due = self.deadline()
        return due is not None and due <= now

    def deadline(self) -> float | None:
        """When the pod has been active for long enough; known once its start was reported."""
        seconds, start = self.pod["spec"].get("activeDeadlineSeconds"), self.status.get("startTime")
        if seconds is None or not start or self.over:
            return None
        return parse_rfc3339(start) + int(seconds)

    def deadline_words(self) -> tuple[str, str]:
        return "DeadlineExceeded", _DEADLINE_TEXT

    def report(self, around: Surroundings) -> JsonObject:
        script = read_script(self.pod)
        ready = [
            container
            for container in self.state.running
            if around.now >= container.started_at + script.ready_after
        ]
        inputs = Inputs(
            state=self.state,
            waiting=self._waiting,
            ready=_ids(ready),
            started=_ids(self.state.running),
            terminal=self.over,
        )
        known = {**self.pod, "status": known_status(self.pod, self.status)}
        self.status = to_status(known, inputs, around)
        if self.status["phase"] in TERMINAL:
            self.over = True
        return self.status

    # -- time

    def _expire(self, script: Script, now: float) -> float | None:
        """End the containers whose time is over; when the next one ends."""
        following: float | None = None
        for container in self.state.running:
            spec = identity.find_container(self.pod, container.name)
            if spec is None:
                continue
            first = is_first(self.pod, spec)
            ending = script.ending(spec, first=first, attempt=container.attempt)
            if ending is None:
                continue
            when = container.started_at + ending.after
            if when <= now:
                self._end(container, when, ending.code)
            else:
                following = when if following is None else min(following, when)
        return following

    def _next_retry(self, now: float) -> float | None:
        """Only restarts are tried again: a missing image stays missing."""
        waits = []
        for name, waiting in self._waiting.items():
            latest, spec = self.state.latest(name), identity.find_container(self.pod, name)
            if waiting.reason == "CrashLoopBackOff" and latest is not None and spec is not None:
                key = backoff_key(self.pod, spec)
                waits.append(now + self._backoffs.wait(key, latest.finished_at, now) + 0.001)
        return min(waits, default=None)

    def _next_ready(self, script: Script, now: float) -> float | None:
        if script.ready_after in (0.0, NEVER):
            return None
        times = [container.started_at + script.ready_after for container in self.state.running]
        return min((when for when in times if when > now), default=None)

    # -- the runtime's part

    def _apply(self, plan: Plan, script: Script, now: float, address: Callable[[], str]) -> bool:
        """Do what the kubelet planned; whether anything changed."""
        changed = plan.kill_pod or plan.create_sandbox or bool(plan.kill)
        if plan.kill_pod:
            self._end_all(now, KILLED)
            self._close()
        for kill in plan.kill:
            self._end(kill.container, now, KILLED)
        if plan.create_sandbox:
            self._open(plan.attempt, now, address)
        for name in plan.start:
            spec = identity.find_container(self.pod, name)
            changed = (spec is not None and self._start(spec, script, now)) or changed
        return changed

    def _begin(self, now: float, address: Callable[[], str]) -> None:
        if self.state.ready_sandbox is None:
            self._open(0, now, address)

    def _open(self, attempt: int, now: float, address: Callable[[], str]) -> None:
        ips = () if identity.is_host_network(self.pod) else (address(),)
        box = Sandbox(_digest(identity.uid_of(self.pod), "", attempt), True, attempt, now, ips)
        self.state = dataclasses.replace(self.state, sandboxes=(box, *self.state.sandboxes[:1]))

    def _close(self) -> None:
        boxes = tuple(dataclasses.replace(box, ready=False) for box in self.state.sandboxes)
        self.state = dataclasses.replace(self.state, sandboxes=boxes)

    def _start(self, spec: JsonObject, script: Script, now: float) -> bool:
        name = spec["name"]
        waiting = self._obstacle(spec, script, now)
        if waiting is not None:
            self._waiting[name] = waiting
            return False
        self._waiting.pop(name, None)
        instances = self.state.instances(name)
        latest = instances[0] if instances else None
        sandbox = self.state.ready_sandbox
        if sandbox is None:
            return False
        if latest is not None:
            self._backoffs.advance(backoff_key(self.pod, spec), latest.finished_at, now)
        attempt = 0 if latest is None else latest.attempt + 1
        image = str(spec.get("image", ""))
        fresh = Container(
            id=_digest(identity.uid_of(self.pod), name, attempt),
            name=name,
            sandbox_id=sandbox.id,
            phase=Phase.RUNNING,
            attempt=attempt,
            created_at=now,
            started_at=now,
            image=image,
            image_ref=f"sha256:{hashlib.sha256(image.encode()).hexdigest()}",
            hash=identity.container_hash(spec),
        )
        kept = tuple(old for old in self.state.containers if old not in instances[1:])
        self.state = dataclasses.replace(self.state, containers=(fresh, *kept))
        return True

    def _obstacle(self, spec: JsonObject, script: Script, now: float) -> Waiting | None:
        image = spec.get("image", "")
        if script.image_missing and not is_first(self.pod, spec):
            return Waiting(_PULL_BACKOFF, f'Back-off pulling image "{image}"')
        latest = self.state.latest(spec["name"])
        key = backoff_key(self.pod, spec)
        if latest is None or self._backoffs.wait(key, latest.finished_at, now) <= 0:
            return None
        delay = to_duration(self._backoffs.delay(key))
        text = (
            f"back-off {delay} restarting failed container={spec['name']} "
            f"pod={identity.full_name(self.pod)}"
        )
        return Waiting("CrashLoopBackOff", text)

    def _end(self, container: Container, when: float, code: int) -> None:
        ended = dataclasses.replace(container, phase=Phase.EXITED, finished_at=when, exit_code=code)
        self.state = dataclasses.replace(
            self.state,
            containers=tuple(
                ended if entry.id == container.id else entry for entry in self.state.containers
            ),
        )

    def _end_all(self, now: float, code: int) -> None:
        for container in self.state.running:
            self._end(container, now, code)


def _ids(containers: list[Container]) -> frozenset[str]:
    return frozenset(container.id for container in containers)


def _digest(uid: str, name: str, attempt: int) -> str:
    return hashlib.sha256(f"{uid}/{name}/{attempt}".encode()).hexdigest()


def _state_of(pod: JsonObject, status: JsonObject) -> PodState:
    uid = identity.uid_of(pod)
    box = Sandbox(
        _digest(uid, "", 0),
        ready=status.get("phase") == "Running",
        ips=tuple(entry["ip"] for entry in status.get("podIPs") or []),
    )
    entries = (status.get("containerStatuses") or []) + (status.get("initContainerStatuses") or [])
    found = (_container_of(entry, box.id) for entry in entries)
    return PodState((box,), tuple(entry for entry in found if entry is not None))


def _container_of(entry: JsonObject, sandbox: str) -> Container | None:
    state = entry.get("state") or {}
    running, ended = state.get("running"), state.get("terminated")
    if not entry.get("containerID") or not (running or ended):
        return None
    times: JsonObject = running or ended or {}
    return Container(
        id=str(entry["containerID"]).partition("://")[2],
        name=entry["name"],
        sandbox_id=sandbox,
        phase=Phase.RUNNING if running else Phase.EXITED,
        attempt=int(entry.get("restartCount") or 0),
        started_at=parse_rfc3339(times["startedAt"]) if times.get("startedAt") else 0.0,
        finished_at=parse_rfc3339(times["finishedAt"]) if times.get("finishedAt") else 0.0,
        exit_code=int(times.get("exitCode") or 0),
        image=entry.get("image", ""),
        image_ref=entry.get("imageID", ""),
    )
