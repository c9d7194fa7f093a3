"""The pod row: one word for a whole state machine.

The STATUS cell tells the most telling thing: the phase, overruled by the pod's own reason, by the
init container in progress, by the last container that is not well, and at the end by deletion.
"""

from typing import Any

from winkube.api.meta import conditions_of, find_condition, is_condition_true, is_deleting, metadata
from winkube.api.printing.age import age_of
from winkube.api.printing.printer import NONE, Printer, age, named, spec_of, status_of
from winkube.base.types import JsonObject


class _Tally:
    """What the container statuses add up to while they are read."""

    def __init__(self, reason: str, total: int) -> None:
        self.reason = reason
        self.total = total
        self.ready = 0
        self.restarts = 0
        self.last_restart = ""

    def count(self, status: JsonObject) -> None:
        self.restarts += status.get("restartCount") or 0
        finished = ((status.get("lastState") or {}).get("terminated") or {}).get("finishedAt")
        self.last_restart = max(self.last_restart, finished or "")

    def restarts_text(self, now: float) -> str:
        if not self.restarts or not self.last_restart:
            return str(self.restarts)
        return f"{self.restarts} ({age_of(self.last_restart, now)} ago)"


def _pod(obj: JsonObject, now: float) -> list[Any]:
    spec, status = spec_of(obj), status_of(obj)
    tally = _tally(obj, spec, status)
    ips = status.get("podIPs") or [{"ip": status.get("podIP")}]
    return [
        named(obj),
        f"{tally.ready}/{tally.total}",
        _final_reason(obj, status, tally.reason),
        tally.restarts_text(now),
        age(obj, now),
        ips[0].get("ip") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(obj, spec),
    ]


def _tally(obj: JsonObject, spec: JsonObject, status: JsonObject) -> _Tally:
    reason = status.get("reason") or status.get("phase") or ""
    scheduled = find_condition(conditions_of(obj), "PodScheduled") or {}
    if scheduled.get("reason") == "SchedulingGated":
        reason = "SchedulingGated"
    sidecars = {
        container.get("name")
        for container in spec.get("initContainers") or ()
        if container.get("restartPolicy") == "Always"
    }
    tally = _Tally(reason, len(spec.get("containers") or ()) + len(sidecars))
    initializing = _read_init(spec, status, sidecars, tally)
    if not initializing or is_condition_true(obj, "Initialized"):
        _read_main(obj, status, sidecars, tally)
    return tally


def _read_init(spec: JsonObject, status: JsonObject, sidecars: set[Any], tally: _Tally) -> bool:
    """Stop at the first init container that is not through; say whether there is one."""
    for index, container in enumerate(status.get("initContainerStatuses") or ()):
        tally.count(container)
        state = container.get("state") or {}
        terminated, waiting = state.get("terminated"), state.get("waiting") or {}
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if container.get("name") in sidecars and container.get("started"):
            tally.ready += bool(container.get("ready"))
            continue
        if terminated is not None:
            tally.reason = "Init:" + _exit_text(terminated)
        elif waiting.get("reason") not in (None, "", "PodInitializing"):
            tally.reason = f"Init:{waiting['reason']}"
        else:
            tally.reason = f"Init:{index}/{len(spec.get('initContainers') or ())}"
        return True
    return False


def _read_main(obj: JsonObject, status: JsonObject, sidecars: set[Any], tally: _Tally) -> None:
    tally.restarts, tally.last_restart = 0, ""
    for container in status.get("initContainerStatuses") or ():
        if container.get("name") in sidecars:
            tally.count(container)
    running = False
    for container in reversed(status.get("containerStatuses") or ()):
        tally.count(container)
        state = container.get("state") or {}
        waiting, terminated = state.get("waiting") or {}, state.get("terminated")
        if waiting.get("reason"):
            tally.reason = waiting["reason"]
        elif terminated is not None:
            tally.reason = _exit_text(terminated)
        elif container.get("ready") and state.get("running") is not None:
            running = True
            tally.ready += 1
    if tally.reason == "Completed" and running:
        tally.reason = "Running" if is_condition_true(obj, "Ready") else "NotReady"


def _exit_text(terminated: JsonObject) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode') or 0}"


def _final_reason(obj: JsonObject, status: JsonObject, reason: str) -> str:
    if not is_deleting(obj):
        return reason
    if status.get("reason") == "NodeLost":
        return "Unknown"
    return reason if status.get("phase") in ("Succeeded", "Failed") else "Terminating"


def _gates(obj: JsonObject, spec: JsonObject) -> str:
    gates = spec.get("readinessGates") or ()
    passed = sum(is_condition_true(obj, gate.get("conditionType", "")) for gate in gates)
    return f"{passed}/{len(gates)}" if gates else NONE


def row_conditions(obj: JsonObject) -> list[JsonObject]:
    """A finished pod's row says so, and kubectl may hide it."""
    phase = status_of(obj).get("phase")
    messages = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}
    if phase not in messages or "name" not in metadata(obj):
        return []
    message = messages[phase]
    return [{"type": "Completed", "status": "True", "reason": phase, "message": message}]


POD = Printer(
    (
        "Name", "Ready", "Status", "Restarts", "Age",
        "+IP", "+Node", "+Nominated Node", "+Readiness Gates",
    ),
    _pod,
)  # fmt: skip
