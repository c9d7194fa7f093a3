"""Which sandbox and containers to stop and to start: a pure decision over spec and runtime state.

The rules are those of upstream's computePodActions (kubernetes: pkg/kubelet/kuberuntime):
a pod has one live sandbox; init containers run in order, each to success, sidecars (init containers
with restartPolicy Always) until they have started; the others start when initialisation is over and
restart by the pod's policy. A new sandbox starts the pod from its first init container again.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from winkube.base.types import JsonObject
from winkube.kubelet.pod import identity
from winkube.kubelet.pod.state import Container, Phase, PodState, Sandbox


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What the probes say, by container id."""

    failed_liveness: Collection[str] = frozenset()
    failed_startup: Collection[str] = frozenset()
    started: Collection[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Kill:
    """``probe`` names the probe that failed, as the container calls it."""

    container: Container
    message: str
    probe: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """``kill_pod`` stops the old sandbox and all in it before anything else happens."""

    kill_pod: bool = False
    create_sandbox: bool = False
    attempt: int = 0
    kill: tuple[Kill, ...] = ()
    start: tuple[str, ...] = ()

    @property
    def idle(self) -> bool:
        return not (self.kill_pod or self.create_sandbox or self.kill or self.start)


@dataclass(slots=True)
class _Draft:
    kill: list[Kill] = field(default_factory=list)
    start: list[str] = field(default_factory=list)
    failed: bool = False


def plan_pod(pod: JsonObject, state: PodState, verdicts: Verdicts) -> Plan:
    sandbox = state.ready_sandbox
    if sandbox is None or _has_rivals(state):
        return _plan_sandbox(pod, state)
    draft = _Draft()
    # Debugging may begin at any time, and never restarts.
    draft.start += [
        container["name"]
        for container in identity.ephemeral_containers(pod)
        if state.latest(container["name"]) is None
    ]
    initialised = _plan_init(pod, state, sandbox, verdicts, draft)
    if draft.failed:
        return Plan(kill_pod=True)
    if initialised:
        kept = _plan_main(pod, state, verdicts, draft)
        if not kept and not _main_starts(pod, draft):
            return Plan(kill_pod=True)
    return Plan(kill=tuple(draft.kill), start=tuple(draft.start))


def should_restart(pod: JsonObject, container: JsonObject, latest: Container | None) -> bool:
    """Whether a container that does not run ought to."""
    if latest is None or latest.phase in (Phase.CREATED, Phase.UNKNOWN):
        return True
    if latest.is_running:
        return False
    if identity.is_sidecar(container):
        return True
    policy = identity.restart_policy(pod)
    return policy == "Always" or (policy == "OnFailure" and latest.exit_code != 0)


def _has_rivals(state: PodState) -> bool:
    return sum(sandbox.ready for sandbox in state.sandboxes) > 1


def _plan_sandbox(pod: JsonObject, state: PodState) -> Plan:
    newest = state.sandboxes[0] if state.sandboxes else None
    attempt = 0 if newest is None else newest.attempt + 1
    alive = bool(state.running) or any(sandbox.ready for sandbox in state.sandboxes)
    stop_only = Plan(kill_pod=alive)
    if identity.restart_policy(pod) == "Never" and attempt and state.containers:
        return stop_only
    wanted = [
        container["name"]
        for container in identity.containers(pod)
        if not _succeeded_for_good(pod, state.latest(container["name"]))
    ]
    if not wanted and state.containers:
        return stop_only
    start = wanted
    if identity.init_containers(pod):
        start = [identity.init_containers(pod)[0]["name"]]
    return Plan(
        kill_pod=alive,
        create_sandbox=True,
        attempt=attempt,
        start=tuple(start),
    )


def _succeeded_for_good(pod: JsonObject, latest: Container | None) -> bool:
    return (
        identity.restart_policy(pod) == "OnFailure"
        and latest is not None
        and latest.phase is Phase.EXITED
        and latest.exit_code == 0
    )


def _plan_init(
    pod: JsonObject, state: PodState, sandbox: Sandbox, verdicts: Verdicts, draft: _Draft
) -> bool:
    """Whether initialisation is over; what to do about init containers goes into the draft."""
    # Once a main container exists in this sandbox, init containers are never run again.
    over = any(
        found.sandbox_id == sandbox.id
        for container in identity.containers(pod)
        for found in state.instances(container["name"])
    )
    for container in identity.init_containers(pod):
        latest = _in_sandbox(state, container["name"], sandbox)
        if identity.is_sidecar(container):
            done = _plan_sidecar(container, latest, verdicts, draft)
        else:
            done = over or _plan_step(pod, container, latest, draft)
        if not done and not over:
            return False
    return True


def _in_sandbox(state: PodState, name: str, sandbox: Sandbox) -> Container | None:
    """The newest instance, if it belongs to the live sandbox."""
    latest = state.latest(name)
    return latest if latest is not None and latest.sandbox_id == sandbox.id else None


def _plan_step(
    pod: JsonObject, container: JsonObject, latest: Container | None, draft: _Draft
) -> bool:
    if latest is None or latest.phase in (Phase.CREATED, Phase.UNKNOWN):
        draft.start.append(container["name"])
        return False
    if latest.is_running:
        return False
    if latest.exit_code == 0:
        return True
    if identity.restart_policy(pod) == "Never":
        draft.failed = True
    else:
        draft.start.append(container["name"])
    return False


def _plan_sidecar(
    container: JsonObject, latest: Container | None, verdicts: Verdicts, draft: _Draft
) -> bool:
    if latest is None or not latest.is_running:
        draft.start.append(container["name"])
        return False
    fault, probe = _fault(container, latest, verdicts)
    if fault:
        draft.kill.append(Kill(latest, f"{fault}, will be restarted", probe))
        draft.start.append(container["name"])
        return False
    return latest.id in verdicts.started


def _plan_main(pod: JsonObject, state: PodState, verdicts: Verdicts, draft: _Draft) -> int:
    """How many main containers stay as they are."""
    kept = 0
    for container in identity.containers(pod):
        latest = state.latest(container["name"])
        if latest is None or not latest.is_running:
            if should_restart(pod, container, latest):
                draft.start.append(container["name"])
            continue
        fault, probe = _fault(container, latest, verdicts)
        if not fault:
            kept += 1
            continue
        changed = latest.hash and latest.hash != identity.container_hash(container)
        if changed or identity.restart_policy(pod) != "Never":
            fault += ", will be restarted"
            draft.start.append(container["name"])
        draft.kill.append(Kill(latest, fault, probe))
    return kept


def _main_starts(pod: JsonObject, draft: _Draft) -> bool:
    names = {container["name"] for container in identity.containers(pod)}
    return bool(names.intersection(draft.start))


def _fault(container: JsonObject, running: Container, verdicts: Verdicts) -> tuple[str, str]:
    """What is wrong with it, and the probe that says so."""
    name = container["name"]
    if running.hash and running.hash != identity.container_hash(container):
        return f"Container {name} definition changed", ""
    if running.id in verdicts.failed_liveness:
        return f"Container {name} failed liveness probe", "livenessProbe"
    if running.id in verdicts.failed_startup:
        return f"Container {name} failed startup probe", "startupProbe"
    return "", ""
