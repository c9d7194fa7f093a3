"""ReplicaSets and ReplicationControllers: keep the wanted number of pods.

Theory of operation: a pod is counted while it is active and controlled by the set. Missing pods are
created in batches that double while they succeed, so that a template nobody accepts costs one
failure and not hundreds; surplus pods are deleted worst first. Between asking for a change and
seeing it in the cache the set is not touched again (expectations).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from winkube.api.meta import (
    controller_of,
    find_condition,
    is_deleting,
    labels_of,
    name_of,
)
from winkube.api.selector.labels import LabelSelector, from_match_labels
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.resource import PODS, REPLICASETS, REPLICATIONCONTROLLERS, Resource
from winkube.controllers.batch import Failure
from winkube.controllers.controller import Context, Controller
from winkube.controllers.dependents import Dependents
from winkube.controllers.expectations import Expectations
from winkube.controllers.indexes import OWNER
from winkube.controllers.pod_control import PodControl
from winkube.controllers.pods import (
    available_in,
    is_active,
    node_of,
    pod_from_template,
)
from winkube.controllers.selecting import read_selector
from winkube.controllers.victim import worst_first

BURST: Final = 500


@dataclass(frozen=True, slots=True)
class ReplicaPlan:
    create: int = 0
    delete: tuple[JsonObject, ...] = ()


def plan_replicas(
    wanted: int, pods: Sequence[JsonObject], related: Iterable[JsonObject], *, now: float
) -> ReplicaPlan:
    """How many to create, or which to delete; ``related`` are all pods of the same deployment."""
    missing = wanted - len(pods)
    if missing >= 0:
        return ReplicaPlan(create=min(missing, BURST))
    surplus = min(-missing, BURST)
    crowd = Counter(node_of(pod) for pod in related if is_active(pod))
    return ReplicaPlan(delete=tuple(worst_first(pods, crowd.__getitem__, now)[:surplus]))


def plan_status(
    replica_set: JsonObject, pods: Sequence[JsonObject], now: float, failure: Failure | None
) -> tuple[JsonObject, float | None]:
    """The status these pods make, and after how many seconds it may change by time alone."""
    spec = replica_set["spec"]
    wanted = (spec.get("template") or {}).get("metadata", {}).get("labels") or {}
    waits = [available_in(pod, spec.get("minReadySeconds") or 0, now) for pod in pods]
    pending = [wait for wait in waits if wait]
    status: JsonObject = {
        "replicas": len(pods),
        "fullyLabeledReplicas": sum(wanted.items() <= labels_of(pod).items() for pod in pods),
        "readyReplicas": sum(wait is not None for wait in waits),
        "availableReplicas": sum(wait == 0.0 for wait in waits),
        "observedGeneration": replica_set["metadata"].get("generation", 0),
    }
    conditions = _conditions(replica_set, failure, len(pods), now)
    kept = {key: value for key, value in status.items() if value or key == "replicas"}
    if conditions:
        kept["conditions"] = conditions
    return kept, min(pending) if pending else None


def _conditions(
    replica_set: JsonObject, failure: Failure | None, have: int, now: float
) -> list[JsonObject]:
    old = (replica_set.get("status") or {}).get("conditions") or []
    others = [entry for entry in old if entry["type"] != "ReplicaFailure"]
    if failure is None:
        return others
    present = find_condition(old, "ReplicaFailure")
    if present is not None:
        return [*others, present]
    short = have < (replica_set["spec"].get("replicas") or 0)
    return [
        *others,
        {
            "type": "ReplicaFailure",
            "status": "True",
            "reason": "FailedCreate" if short else "FailedDelete",
            "message": str(failure),
            "lastTransitionTime": to_rfc3339(now),
        },
    ]


class ReplicaSetController(Controller):
    name = "replicaset-controller"
    kind: ClassVar[str] = "ReplicaSet"
    resource: ClassVar[Resource] = REPLICASETS

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._sets = self.follow(self.resource)
        self._expected = Expectations(context.clock)
        self._control = PodControl(self, self._expected)
        self._pods = Dependents(self, PODS, self._sets, self.kind, read=self.selector)
        self._pods.follow(self._expected.observe)

    def selector(self, replica_set: JsonObject) -> LabelSelector:
        return read_selector(replica_set)

    async def reconcile(self, key: str) -> None:
        replica_set = self._sets.get(key)
        if replica_set is None:
            self._expected.forget(key)
            return
        ready = self._expected.satisfied(key)
        pods = [pod for pod in await self._pods.claim(replica_set) if is_active(pod)]
        failure = None
        if not ready:
            self.queue.add_after(key, self._expected.left(key))
        elif not is_deleting(replica_set):
            failure = await self._scale(replica_set, pods)
        await self._write_status(key, replica_set, pods, failure)
        if failure is not None:
            raise failure

    async def _scale(self, replica_set: JsonObject, pods: Sequence[JsonObject]) -> Failure | None:
        wanted = replica_set["spec"].get("replicas", 1)
        plan = plan_replicas(wanted, pods, self._related(replica_set), now=self.clock.now())
        if plan.create:
            template, prefix = replica_set["spec"]["template"], f"{name_of(replica_set)}-"
            new = (pod_from_template(template, replica_set, prefix) for _ in range(plan.create))
            return (await self._control.create(replica_set, plan.create, new))[1]
        return (await self._control.delete(replica_set, plan.delete))[1]

    def _related(self, replica_set: JsonObject) -> Iterable[JsonObject]:
        owner = controller_of(replica_set)
        if owner is None:
            return self._pods.of(replica_set)
        siblings = self._sets.by_index(OWNER, owner["uid"])
        return [pod for each in siblings for pod in self._pods.of(each)]

    async def _write_status(
        self,
        key: str,
        replica_set: JsonObject,
        pods: Sequence[JsonObject],
        failure: Failure | None,
    ) -> None:
        status, again = plan_status(replica_set, pods, self.clock.now(), failure)
        if again is not None:
            self.queue.add_after(key, again)
        await self.write_status(self.resource, replica_set, status)


class ReplicationController(ReplicaSetController):
    """The same for v1, whose selector is a plain map of labels."""

    name = "replication-controller"
    kind = "ReplicationController"
    resource = REPLICATIONCONTROLLERS

    def selector(self, replica_set: JsonObject) -> LabelSelector:
        return from_match_labels(replica_set["spec"].get("selector"))
