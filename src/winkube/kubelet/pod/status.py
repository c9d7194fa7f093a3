"""A pod's status: phase, conditions, addresses and QoS class, from plain values.

Words and order are upstream's (kubernetes: pkg/kubelet/kubelet_pods.go, status/generate.go).
"""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from winkube.api.qos import qos_class
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.kubelet.pod import identity
from winkube.kubelet.pod.containerstatus import Inputs, to_container_status
from winkube.kubelet.pod.state import PodState

OWN_CONDITIONS: Final = (
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
)
ONE_SHOT_SECONDS: Final = 0.8
TERMINAL: Final = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the node knows: its addresses and the time."""

    host_ips: tuple[str, ...]
    now: float


def known_status(pod: JsonObject, own: JsonObject) -> JsonObject:
    """Our newest status with the conditions others have written meanwhile."""
    theirs = (pod.get("status") or {}).get("conditions") or []
    kept = [entry for entry in own.get("conditions") or [] if entry["type"] in OWN_CONDITIONS]
    names = {entry["type"] for entry in kept}
    return {
        **(own or pod.get("status") or {}),
        "conditions": kept + [entry for entry in theirs if entry["type"] not in names],
    }


def to_status(pod: JsonObject, inputs: Inputs, around: Surroundings) -> JsonObject:
    init = [to_container_status(pod, c, inputs) for c in identity.init_containers(pod)]
    main = [to_container_status(pod, c, inputs) for c in identity.containers(pod)]
    old = pod.get("status") or {}
    phase = to_phase(pod, init, main, terminal=inputs.terminal)
    if old.get("phase") in TERMINAL:
        phase = old["phase"]
    status: JsonObject = {
        "phase": phase,
        "conditions": _conditions(pod, phase, init, main, inputs, around),
        "hostIP": around.host_ips[0],
        "hostIPs": [{"ip": ip} for ip in around.host_ips],
        "startTime": old.get("startTime") or to_rfc3339(around.now),
        "containerStatuses": main,
        "qosClass": old.get("qosClass") or qos_class(pod["spec"]),
    }
    if init:
        status["initContainerStatuses"] = init
    guests = identity.ephemeral_containers(pod)
    if guests:
        # Nobody probes them: they are never ready, nor said to have started.
        unprobed = dataclasses.replace(inputs, ready=frozenset())
        entries = [to_container_status(pod, c, unprobed) for c in guests]
        for entry in entries:
            entry.pop("started")
        status["ephemeralContainerStatuses"] = entries
    ips = _addresses(pod, inputs, around)
    if ips:
        status |= {"podIP": ips[0], "podIPs": [{"ip": ip} for ip in ips]}
    generation = pod["metadata"].get("generation")
    if generation:
        status["observedGeneration"] = generation
    for word in ("reason", "message"):
        if phase in TERMINAL and old.get(word):
            status[word] = old[word]
    return status


def hold_seconds(pod: JsonObject, state: PodState, now: float) -> float:
    """How long a new one-shot's start is kept back.

    ``kubectl run -i`` attaches as soon as it sees Running and loses what was written before; a
    command that ends within this time is seen as ended, and kubectl then reads its whole log.
    """
    started = [
        latest.started_at
        for container in identity.containers(pod)
        if container.get("stdinOnce")
        and (latest := state.latest(container["name"])) is not None
        and latest.is_running
    ]
    return max((at + ONE_SHOT_SECONDS - now for at in started), default=0.0)


def rejected_status(pod: JsonObject, reason: str, message: str, around: Surroundings) -> JsonObject:
    """The status of a pod this node refuses to run."""
    old = pod.get("status") or {}
    return {
        "phase": "Failed",
        "reason": reason,
        "message": f"Pod was rejected: {message}",
        "startTime": old.get("startTime") or to_rfc3339(around.now),
        "qosClass": old.get("qosClass") or qos_class(pod["spec"]),
        "conditions": old.get("conditions") or [],
    }


def to_phase(
    pod: JsonObject, init: list[JsonObject], main: list[JsonObject], *, terminal: bool
) -> str:
    """``terminal``: nothing will be started any more, so what stopped counts as the end."""
    policy = identity.restart_policy(pod)
    due, failed = _initialisation(pod, init)
    if failed and (policy == "Never" or terminal):
        return "Failed"
    endings = [_ending(status) for status in main]
    running = any("running" in status["state"] for status in main)
    fresh = any(
        "waiting" in status["state"] and ending is None
        for status, ending in zip(main, endings, strict=True)
    )
    if not terminal and (due or fresh):
        return "Pending"
    if running:
        return "Running"
    return _ended_phase(policy, endings, terminal=terminal)


def _ended_phase(policy: str, endings: list[int | None], *, terminal: bool) -> str:
    if policy == "Always" and not terminal:
        return "Running"
    if all(ending == 0 for ending in endings):
        return "Succeeded"
    return "Failed" if policy == "Never" or terminal else "Running"


def _ending(status: JsonObject) -> int | None:
    """The exit code of a stopped container, also of one that waits to be restarted."""
    ended = status["state"].get("terminated")
    if ended is None and "waiting" in status["state"]:
        ended = (status.get("lastState") or {}).get("terminated")
    return None if ended is None else int(ended["exitCode"])


def _initialisation(pod: JsonObject, statuses: list[JsonObject]) -> tuple[bool, bool]:
    """Whether some init container is still due, and whether one has failed."""
    pending = failed = False
    for container, status in zip(identity.init_containers(pod), statuses, strict=True):
        if identity.is_sidecar(container):
            # A sidecar that once started never holds the pod back again.
            begun = status.get("started") or status.get("restartCount") or _ending(status)
            pending = pending or begun is None or begun is False
            continue
        ended = status["state"].get("terminated")
        pending = pending or ended is None or ended["exitCode"] != 0
        failed = failed or (ended is not None and ended["exitCode"] != 0)
    return pending, failed


def _addresses(pod: JsonObject, inputs: Inputs, around: Surroundings) -> tuple[str, ...]:
    if identity.is_host_network(pod):
        return around.host_ips if inputs.state.sandboxes else ()
    for sandbox in inputs.state.sandboxes:
        if sandbox.ips:
            return sandbox.ips
    old = (pod.get("status") or {}).get("podIPs") or []
    return tuple(entry["ip"] for entry in old)


def _conditions(
    pod: JsonObject,
    phase: str,
    init: list[JsonObject],
    main: list[JsonObject],
    inputs: Inputs,
    around: Surroundings,
) -> list[JsonObject]:
    old = {entry["type"]: entry for entry in (pod.get("status") or {}).get("conditions") or []}
    containers_ready = _containers_ready(pod, phase, init, main)
    sandbox = inputs.state.ready_sandbox
    networked = sandbox is not None and (bool(sandbox.ips) or identity.is_host_network(pod))
    fresh = [
        _condition("PodReadyToStartContainers", networked),
        _initialized(pod, phase, init, main),
        _ready(pod, containers_ready, old),
        containers_ready,
        old.get("PodScheduled") or _condition("PodScheduled", True),
    ]
    generation = pod["metadata"].get("generation")
    now = to_rfc3339(around.now)
    result = []
    for entry in fresh:
        before = old.get(entry["type"])
        kept = before is not None and before.get("status") == entry["status"]
        when = before.get("lastTransitionTime") if before is not None and kept else now
        stamped = {**entry, "lastProbeTime": None, "lastTransitionTime": when}
        result.append({**stamped, "observedGeneration": generation} if generation else stamped)
    # Conditions of others (readiness gates, DisruptionTarget) are not ours to drop.
    return result + [entry for kind, entry in old.items() if kind not in OWN_CONDITIONS]


def _condition(kind: str, holds: bool, reason: str = "", message: str = "") -> JsonObject:
    entry = {"type": kind, "status": "True" if holds else "False"}
    entry |= {"reason": reason} if reason else {}
    return entry | ({"message": message} if message else {})


def _names(statuses: Iterable[JsonObject]) -> str:
    return f"[{' '.join(status['name'] for status in statuses)}]"


def _initialized(
    pod: JsonObject, phase: str, init: list[JsonObject], main: list[JsonObject]
) -> JsonObject:
    if phase == "Succeeded":
        return _condition("Initialized", True, "PodCompleted")
    if any("running" in status["state"] or _ending(status) is not None for status in main):
        return _condition("Initialized", True)
    due = [
        status
        for container, status in zip(identity.init_containers(pod), init, strict=True)
        if not (
            status.get("started")
            if identity.is_sidecar(container)
            else (status["state"].get("terminated") or {}).get("exitCode") == 0
        )
    ]
    if not due:
        return _condition("Initialized", True)
    message = f"containers with incomplete status: {_names(due)}"
    return _condition("Initialized", False, "ContainersNotInitialized", message)


def _containers_ready(
    pod: JsonObject, phase: str, init: list[JsonObject], main: list[JsonObject]
) -> JsonObject:
    kind = "ContainersReady"
    if phase == "Succeeded":
        return _condition(kind, False, "PodCompleted")
    if phase == "Failed":
        return _condition(kind, False, "PodFailed")
    sidecars = [
        status
        for container, status in zip(identity.init_containers(pod), init, strict=True)
        if identity.is_sidecar(container)
    ]
    unready = [status for status in (*sidecars, *main) if not status["ready"]]
    if not unready:
        return _condition(kind, True)
    message = f"containers with unready status: {_names(unready)}"
    return _condition(kind, False, "ContainersNotReady", message)


def _ready(pod: JsonObject, containers: JsonObject, old: dict[str, JsonObject]) -> JsonObject:
    if containers["status"] != "True":
        return {**containers, "type": "Ready"}
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates") or []]
    closed = [gate for gate in gates if (old.get(gate) or {}).get("status") != "True"]
    if not closed:
        return _condition("Ready", True)
    missing = [gate for gate in closed if gate not in old]
    texts = [f'corresponding condition of pod readiness gate "{gate}" does not exist.'
             for gate in missing]  # fmt: skip
    texts += [
        f'the status of pod readiness gate "{gate}" is not "True", but {old[gate].get("status")}'
        for gate in closed
        if gate in old
    ]
    return _condition("Ready", False, "ReadinessGatesNotReady", ", ".join(texts))
