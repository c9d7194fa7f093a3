"""``containerStatuses`` of a pod: pure, from the spec, the runtime's state and what went wrong."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.kubelet.pod import identity
from winkube.kubelet.pod.plan import should_restart
from winkube.kubelet.pod.state import Container, Phase, PodState

CREATING: Final = "ContainerCreating"
INITIALIZING: Final = "PodInitializing"
# What the API server reports for a container the kubelet has lost (upstream's word and code).
LOST_EXIT_CODE: Final = 137


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a container does not start."""

    reason: str
    message: str = ""

    def to_json(self) -> JsonObject:
        entry = {"reason": self.reason}
        return {"waiting": {**entry, "message": self.message} if self.message else entry}


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything a status is made of, besides the spec."""

    state: PodState
    waiting: Mapping[str, Waiting] = field(default_factory=dict)
    ready: Collection[str] = frozenset()
    started: Collection[str] = frozenset()
    runtime: str = "containerd"
    messages: Callable[[Container], str] = lambda container: container.message
    terminal: bool = False


def to_container_status(pod: JsonObject, container: JsonObject, inputs: Inputs) -> JsonObject:
    name = container["name"]
    instances = inputs.state.instances(name)
    old = _old_status(pod, container)
    if not instances:
        return _unborn(pod, container, inputs, old)
    latest, *earlier = instances
    current = to_state(latest, inputs)
    last: JsonObject = to_state(earlier[0], inputs) if earlier else _last_of(old, latest, inputs)
    waiting = inputs.waiting.get(name)
    if not latest.is_running and waiting and not inputs.terminal:
        if should_restart(pod, container, latest) and latest.phase is Phase.EXITED:
            current, last = waiting.to_json(), current
        elif latest.phase is not Phase.EXITED:
            current = waiting.to_json()
    return {
        "name": name,
        "state": current or {"waiting": {"reason": CREATING}},
        "lastState": last if "terminated" in last else {},
        "ready": _is_ready(pod, container, current, inputs),
        "restartCount": latest.attempt,
        "image": latest.image or container.get("image", ""),
        "imageID": latest.image_ref,
        "containerID": _container_id(latest, inputs),
        "started": latest.is_running and latest.id in inputs.started,
        **_details(container),
    }


def _is_ready(pod: JsonObject, container: JsonObject, state: JsonObject, inputs: Inputs) -> bool:
    """An init container is as ready as it gets when it has done its work."""
    in_turn = identity.folder_of(pod, container) == "initContainers"
    if in_turn and not identity.is_sidecar(container):
        return (state.get("terminated") or {}).get("exitCode") == 0
    latest = inputs.state.latest(container["name"])
    return latest is not None and latest.is_running and latest.id in inputs.ready


def to_state(container: Container, inputs: Inputs) -> JsonObject:
    if container.phase is Phase.RUNNING:
        return {"running": {"startedAt": to_rfc3339(container.started_at)}}
    if container.phase is not Phase.EXITED:
        return {}
    ended: dict[str, Any] = {
        "exitCode": container.exit_code,
        "reason": container.reason or ("Error" if container.exit_code else "Completed"),
        "startedAt": to_rfc3339(container.started_at) if container.started_at > 0 else None,
        "finishedAt": to_rfc3339(container.finished_at),
        "containerID": _container_id(container, inputs),
    }
    message = inputs.messages(container)
    if message:
        ended["message"] = message
    return {"terminated": ended}


def _container_id(container: Container, inputs: Inputs) -> str:
    return f"{inputs.runtime}://{container.id}"


def _old_status(pod: JsonObject, container: JsonObject) -> JsonObject:
    folder = identity.folder_of(pod, container).replace("Containers", "ContainerStatuses")
    folder = folder.replace("containers", "containerStatuses")
    statuses = (pod.get("status") or {}).get(folder) or []
    return next((entry for entry in statuses if entry.get("name") == container["name"]), {})


def _last_of(old: JsonObject, latest: Container, inputs: Inputs) -> JsonObject:
    """What was reported as last, when the runtime has forgotten the earlier instance."""
    last: JsonObject = old.get("lastState") or {}
    ended = last.get("terminated") or {}
    return {} if ended.get("containerID") == _container_id(latest, inputs) else last


def _unborn(pod: JsonObject, container: JsonObject, inputs: Inputs, old: JsonObject) -> JsonObject:
    """No instance in the runtime: not yet created, or lost with its sandbox's files."""
    state: JsonObject = old.get("state") or {}
    last: JsonObject = old.get("lastState") or {}
    waiting = inputs.waiting.get(container["name"])
    if inputs.terminal and "terminated" in state:
        return old
    if inputs.terminal and "running" in state:
        state = {"terminated": {"exitCode": LOST_EXIT_CODE, "reason": "ContainerStatusUnknown",
                                "message": "The container could not be located when the pod was "
                                "terminated", "startedAt": None, "finishedAt": None}}  # fmt: skip
    else:
        if "terminated" in state:
            last = state
        initial = INITIALIZING if identity.init_containers(pod) else CREATING
        state = (waiting or Waiting(initial)).to_json()
    return {
        "name": container["name"],
        "state": state,
        "lastState": last,
        "ready": False,
        "restartCount": int(old.get("restartCount") or 0),
        "image": container.get("image", ""),
        "imageID": str(old.get("imageID") or ""),
        "started": False,
        **_details(container),
    }


def _details(container: JsonObject) -> JsonObject:
    """Resources and mounts as the container got them (kubernetes 1.33 and later)."""
    extra: JsonObject = {}
    resources = container.get("resources") or {}
    if resources:
        extra["resources"] = resources
    if resources.get("requests"):
        extra["allocatedResources"] = resources["requests"]
    mounts = [
        {
            "name": mount["name"],
            "mountPath": mount["mountPath"],
            **(
                {"readOnly": True, "recursiveReadOnly": "Disabled"} if mount.get("readOnly") else {}
            ),
        }
        for mount in container.get("volumeMounts") or []
    ]
    if mounts:
        extra["volumeMounts"] = mounts
    return extra
