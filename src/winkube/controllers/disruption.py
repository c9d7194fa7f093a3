"""PodDisruptionBudgets: how many pods may be taken away by choice, right now.

The eviction subresource spends from the budget and notes the pod; we count the rest. A pod noted as
going does not count as healthy; if it is still there after a while, the note was wrong.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from winkube.api.go.text import selector_in_go
from winkube.api.meta import (
    controller_of,
    find_condition,
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    split_key,
    uid_of,
)
from winkube.base.clock import parse_rfc3339, to_rfc3339
from winkube.base.errors import WinkubeError
from winkube.base.types import JsonObject
from winkube.client.resource import (
    DEPLOYMENTS,
    PODDISRUPTIONBUDGETS,
    PODS,
    REPLICASETS,
    REPLICATIONCONTROLLERS,
    STATEFULSETS,
)
from winkube.controllers.controller import Context, Controller
from winkube.controllers.indexes import add_label_index, selected
from winkube.controllers.pods import is_ready
from winkube.controllers.selecting import Selecting, read_selector

# A pod that was to be evicted and is there this much later was not evicted.
DELETION_SECONDS: Final = 120.0
# Owners of pods that have no size of their own.
_UNSCALED: Final[Mapping[tuple[str | None, str | None], str]] = {
    ("apps/v1", "DaemonSet"): "daemonsets.apps",
    ("batch/v1", "Job"): "jobs.batch",
    ("v1", "Node"): "nodes",
}
_PERCENT: Final = re.compile(r"([0-9]+)%")


class ScaleError(WinkubeError):
    """The wanted number of pods cannot be found out."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How many pods there should be, how many must be healthy, whose number nobody knows."""

    expected: int
    desired: int
    unmanaged: tuple[str, ...] = ()


FindScale = Callable[[JsonObject, str], tuple[str, int] | None]


def plan_scale(budget: JsonObject, pods: Sequence[JsonObject], find: FindScale) -> Scale:
    """``find`` gives the uid and wanted replicas of a pod's controller."""
    spec = budget["spec"]
    if spec.get("maxUnavailable") is not None:
        expected, unmanaged = _expected(pods, find)
        unavailable = _scaled(spec["maxUnavailable"], expected)
        return Scale(expected, max(0, expected - unavailable), unmanaged)
    least = spec.get("minAvailable")
    if isinstance(least, str):
        expected, unmanaged = _expected(pods, find)
        return Scale(expected, _scaled(least, expected), unmanaged)
    return Scale(len(pods), int(least or 0)) if least is not None else Scale(0, 0)


def _expected(pods: Iterable[JsonObject], find: FindScale) -> tuple[int, tuple[str, ...]]:
    scales: dict[str, int] = {}
    unmanaged = []
    for pod in pods:
        owner = controller_of(pod)
        if owner is None:
            unmanaged.append(name_of(pod))
            continue
        found = find(owner, namespace_of(pod))
        if found is None:
            raise ScaleError(f'found no controllers for pod "{name_of(pod)}"')
        scales[found[0]] = found[1]
    return sum(scales.values()), tuple(unmanaged)


def _scaled(value: int | str, total: int) -> int:
    """A number, or a percentage rounded up."""
    if isinstance(value, int):
        return value
    match = _PERCENT.fullmatch(value)
    if match is None:
        raise ScaleError(f"invalid value for IntOrString: invalid value {value!r}")
    return -(-int(match[1]) * total // 100)


@dataclass(frozen=True, slots=True)
class Disruptions:
    """Pods noted as going that still may be, those that should have gone, when to look again."""

    pending: Mapping[str, str]
    overdue: tuple[JsonObject, ...] = ()
    again: float | None = None


def plan_disruptions(budget: JsonObject, pods: Iterable[JsonObject], now: float) -> Disruptions:
    noted = (budget.get("status") or {}).get("disruptedPods") or {}
    pending: dict[str, str] = {}
    overdue = []
    waits = []
    for pod in pods:
        at = noted.get(name_of(pod))
        if at is None or is_deleting(pod) or _came_after(pod, at):
            continue
        left = parse_rfc3339(at) + DELETION_SECONDS - now
        if left < 0:
            overdue.append(pod)
        else:
            pending[name_of(pod)] = at
            waits.append(left)
    return Disruptions(pending, tuple(overdue), min(waits, default=None))


def _came_after(pod: JsonObject, noted: str) -> bool:
    """The pod that was noted is gone, and this one has its name, as pods of a StatefulSet do."""
    created = pod["metadata"].get("creationTimestamp")
    return bool(created) and parse_rfc3339(created) > parse_rfc3339(noted)


def plan_status(
    budget: JsonObject,
    pods: Iterable[JsonObject],
    scale: Scale,
    pending: Mapping[str, str],
    now: float,
) -> JsonObject:
    healthy = sum(
        is_ready(pod) and not is_deleting(pod) and name_of(pod) not in pending for pod in pods
    )
    allowed = max(0, healthy - scale.desired) if scale.expected > 0 else 0
    generation = budget["metadata"].get("generation") or 0
    status: JsonObject = {
        "currentHealthy": healthy,
        "desiredHealthy": scale.desired,
        "expectedPods": scale.expected,
        "disruptionsAllowed": allowed,
    }
    if generation:
        status["observedGeneration"] = generation
    if pending:
        status["disruptedPods"] = dict(pending)
    reason = ("SufficientPods", "") if allowed else ("InsufficientPods", "")
    status["conditions"] = _conditions(budget, reason, generation, now)
    return status


def plan_failure(budget: JsonObject, error: str, now: float) -> JsonObject:
    """Nothing may be taken away while we do not know how many there should be."""
    old = budget.get("status") or {}
    generation = old.get("observedGeneration") or 0
    counts = {key: old.get(key, 0) for key in ("currentHealthy", "desiredHealthy", "expectedPods")}
    conditions = _conditions(budget, ("SyncFailed", error), generation, now)
    return {**old, **counts, "disruptionsAllowed": 0, "conditions": conditions}


def _conditions(
    budget: JsonObject, reason: tuple[str, str], generation: int, now: float
) -> list[JsonObject]:
    listed = (budget.get("status") or {}).get("conditions") or []
    old = find_condition(listed, "DisruptionAllowed")
    status = "True" if reason[0] == "SufficientPods" else "False"
    since = to_rfc3339(now)
    if old is not None and old.get("status") == status:
        since = old.get("lastTransitionTime") or since
    condition: JsonObject = {
        "type": "DisruptionAllowed",
        "status": status,
        "reason": reason[0],
        "message": reason[1],
        "lastTransitionTime": since,
    }
    if generation:
        condition["observedGeneration"] = generation
    others = [entry for entry in listed if entry.get("type") != "DisruptionAllowed"]
    return [*others, condition]


class DisruptionController(Controller):
    name = "disruption-controller"
    event_source = "controllermanager"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._budgets = self.follow(PODDISRUPTIONBUDGETS)
        self._covering = Selecting(self._budgets, self._queue_covering)
        self._pods = self.informer(PODS)
        add_label_index(self._pods)
        self._pods.on_change(self._pod_changed)
        self._owners = {
            "ReplicaSet": self.informer(REPLICASETS),
            "Deployment": self.informer(DEPLOYMENTS),
            "StatefulSet": self.informer(STATEFULSETS),
            "ReplicationController": self.informer(REPLICATIONCONTROLLERS),
        }
        for informer in self._owners.values():
            informer.on_change(self._owner_changed)

    def _pod_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if old is not None and (new is None or labels_of(old) != labels_of(new)):
            self._covering.changed(namespace_of(old), labels_of(old))
        if new is not None:
            self._covering.changed(namespace_of(new), labels_of(new), new)

    def _queue_covering(self, keys: Sequence[str], pod: JsonObject | None) -> None:
        for key in keys:
            self.queue.add(key)
        if len(keys) > 1 and pod is not None:
            self._tell_ambiguous(pod, split_key(keys[0])[1])

    def _tell_ambiguous(self, pod: JsonObject, name: str) -> None:
        said = (
            f'Pod "{namespace_of(pod)}"/"{name_of(pod)}" matches multiple PodDisruptionBudgets.  '
            f'Chose "{name}" arbitrarily.'
        )
        self.event(pod, "Warning", "MultiplePodDisruptionBudgets", said)

    def _owner_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        """A change of size moves the budget before any pod does."""
        before, after = (
            None if each is None else each["spec"].get("replicas") for each in (old, new)
        )
        if before != after and new is not None:
            template = new["spec"].get("template") or {}
            self._covering.changed(namespace_of(new), labels_of(template))

    async def reconcile(self, key: str) -> None:
        budget = self._budgets.get(key)
        if budget is None:
            return
        pods = selected(self._pods, namespace_of(budget), read_selector(budget))
        now = self.clock.now()
        if not pods:
            self.event(budget, "Normal", "NoPods", "No matching pods found")
        try:
            scale = plan_scale(budget, pods, self._scale_of)
        except ScaleError as error:
            said = f"Failed to calculate the number of expected pods: {error}"
            self.event(budget, "Warning", "CalculateExpectedPodCountFailed", said)
            await self.write_status(
                PODDISRUPTIONBUDGETS, budget, plan_failure(budget, str(error), now)
            )
            return
        if scale.unmanaged:
            self._tell_unmanaged(budget)
        noted = plan_disruptions(budget, pods, now)
        for pod in noted.overdue:
            namespace = namespace_of(budget)
            said = f"Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't"
            self.event(pod, "Warning", "NotDeleted", said)
        await self.write_status(
            PODDISRUPTIONBUDGETS, budget, plan_status(budget, pods, scale, noted.pending, now)
        )
        if noted.again is not None:
            self.queue.add_after(key, noted.again)

    def _scale_of(self, owner: JsonObject, namespace: str) -> tuple[str, int] | None:
        resource = _UNSCALED.get((owner.get("apiVersion"), owner.get("kind")))
        if resource is not None:
            raise ScaleError(f"{resource} does not implement the scale subresource")
        found = self._find(owner, namespace)
        if found is None:
            return None
        above = controller_of(found)
        if owner.get("kind") == "ReplicaSet" and above is not None:
            # The size of a deployment counts, whichever of its sets has the pod.
            found = self._find(above, namespace) or found
        replicas = found["spec"].get("replicas")
        return uid_of(found), 1 if replicas is None else int(replicas)

    def _find(self, owner: JsonObject, namespace: str) -> JsonObject | None:
        informer = self._owners.get(owner.get("kind", ""))
        found = None if informer is None else informer.get(f"{namespace}/{owner['name']}")
        return found if found is not None and uid_of(found) == owner.get("uid") else None

    def _tell_unmanaged(self, budget: JsonObject) -> None:
        selector = selector_in_go(budget["spec"].get("selector") or {})
        self.event(
            budget,
            "Warning",
            "UnmanagedPods",
            f"Pods selected by this PodDisruptionBudget (selector: {selector}) were found to be "
            "unmanaged. As a result, the status of the PDB cannot be calculated correctly, which "
            "may result in undefined behavior. To account for these pods please set "
            '".spec.minAvailable" field of the PDB to an integer value.',
        )
