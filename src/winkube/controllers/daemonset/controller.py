"""The DaemonSet controller: revisions, placement, updates, status."""

import dataclasses
from collections.abc import Sequence
from typing import Final

from winkube.api.errors import AlreadyExistsError
from winkube.api.meta import (
    is_deleting,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    uid_of,
)
from winkube.base.types import JsonObject
from winkube.client.resource import CONTROLLERREVISIONS, DAEMONSETS, NODES, PODS
from winkube.controllers.batch import Failure
from winkube.controllers.controller import Context, Controller
from winkube.controllers.daemonset import history
from winkube.controllers.daemonset.backoff import FailedPodBackoff
from winkube.controllers.daemonset.placement import HASH_LABEL, daemon_pod, fit
from winkube.controllers.daemonset.plan import (
    BURST,
    Daemon,
    DaemonPlan,
    plan_placement,
    plan_status,
    plan_update,
)
from winkube.controllers.dependents import Dependents
from winkube.controllers.expectations import Expectations
from winkube.controllers.pod_control import PodControl

_NO_SELECTOR: Final = "This daemon set is selecting all pods. A non-empty selector is required."


class DaemonSetController(Controller):
    name = "daemonset-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._sets = self.follow(DAEMONSETS)
        self._expected = Expectations(context.clock)
        self._control = PodControl(self, self._expected)
        self._pods = Dependents(self, PODS, self._sets, "DaemonSet")
        self._pods.follow(self._expected.observe)
        self._revisions = Dependents(self, CONTROLLERREVISIONS, self._sets, "DaemonSet")
        self._revisions.follow()
        self._nodes = self.informer(NODES)
        self._nodes.on_change(self._node_changed)
        self._backoff = FailedPodBackoff(context.clock)

    def _node_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        """Heartbeats are many: only a change of who fits is work."""
        if old is not None and new is not None and _placing(old) == _placing(new):
            return
        for daemon_set in self._sets.list():
            before = old is not None and fit(daemon_set, old)
            after = new is not None and fit(daemon_set, new)
            if before != after:
                self.queue.add(key_of(daemon_set))

    async def reconcile(self, key: str) -> None:
        daemon_set = self._sets.get(key)
        if daemon_set is None:
            self._expected.forget(key)
            return
        if daemon_set["spec"].get("selector") == {}:
            self.event(daemon_set, "Warning", "SelectingAll", _NO_SELECTOR)
            return
        if is_deleting(daemon_set):
            # Its history may be gone already, and without it nothing can be told.
            return
        pods = await self._pods.claim(daemon_set)
        current, old = await self._current_revision(daemon_set, pods)
        digest = history.digest_of(current)
        daemon = Daemon(daemon_set, self._nodes.list(), pods, digest, self.clock.now())
        if not self._expected.satisfied(key):
            await self._write_status(key, daemon, observed=False)
            self.queue.add_after(key, self._expected.left(key))
            return
        failure = await self._update(key, daemon)
        if failure is None:
            await self._clean_up(daemon, old)
        # The pods just made are not in the cache yet; their events bring us back.
        await self._write_status(key, daemon, observed=True)
        if failure is not None:
            raise failure

    async def _update(self, key: str, daemon: Daemon) -> Failure | None:
        uid = uid_of(daemon.daemon_set)
        observed = (daemon.daemon_set.get("status") or {}).get("observedGeneration", 0)
        scope = f"{uid}/{observed}"
        waiting = self._backoff.waiting(scope)
        if waiting:
            self.queue.add_after(key, min(waiting.values()))
        plan = plan_placement(daemon, frozenset(waiting))
        for node in plan.failed:
            self._backoff.failed(scope, node)
        failure = await self._apply(daemon, plan)
        if failure is None and daemon.rolling and self._expected.satisfied(key):
            if plan.create or plan.delete:
                # What was just done is not in this snapshot; decide on a fresh one.
                self.queue.add(key)
                return None
            return await self._apply(daemon, plan_update(daemon))
        return failure

    async def _apply(self, daemon: Daemon, plan: DaemonPlan) -> Failure | None:
        daemon_set = daemon.daemon_set
        for note in plan.notes:
            self.event(daemon_set, note.type, note.reason, note.message)
        nodes = plan.create[:BURST]
        new = (daemon_pod(daemon_set, node, daemon.digest) for node in nodes)
        _, not_made = await self._control.create(daemon_set, len(nodes), new)
        _, not_deleted = await self._control.delete(daemon_set, plan.delete[:BURST])
        return not_deleted or not_made

    async def _current_revision(
        self, daemon_set: JsonObject, pods: Sequence[JsonObject]
    ) -> tuple[JsonObject, tuple[JsonObject, ...]]:
        claimed = await self._revisions.claim(daemon_set)
        found = history.sort_history(daemon_set, claimed)
        current = found.kept
        if current is None:
            current = await self._snapshot(daemon_set, found.next_number)
            return current, found.old
        await self._drop_duplicates(found, current, pods)
        if history.revision_number(current) < found.next_number:
            raised = {**current, "revision": found.next_number}
            current = await self.client.update(CONTROLLERREVISIONS, raised)
        return current, found.old

    async def _snapshot(self, daemon_set: JsonObject, number: int) -> JsonObject:
        wanted = history.new_revision(daemon_set, number)
        namespace = namespace_of(daemon_set)
        try:
            return await self.client.create(CONTROLLERREVISIONS, wanted, namespace=namespace)
        except AlreadyExistsError:
            found = await self.client.get(CONTROLLERREVISIONS, name_of(wanted), namespace=namespace)
            if history.is_of(daemon_set, found):
                return found
            # Another template has this hash: the next attempt uses another name.
            status = daemon_set.get("status") or {}
            counted = {**status, "collisionCount": (status.get("collisionCount") or 0) + 1}
            await self.client.update(
                DAEMONSETS, {**daemon_set, "status": counted}, subresource="status"
            )
            raise

    async def _drop_duplicates(
        self, found: history.History, kept: JsonObject, pods: Sequence[JsonObject]
    ) -> None:
        doubles = [each for each in found.current if each is not kept]
        if not doubles:
            return
        body = {"metadata": {"labels": {HASH_LABEL: history.digest_of(kept)}}}
        stale = {history.digest_of(each) for each in doubles}
        for pod in pods:
            if labels_of(pod).get(HASH_LABEL) in stale:
                await self.client.patch(PODS, name_of(pod), body, namespace=namespace_of(pod))
        for each in doubles:
            await self.remove(CONTROLLERREVISIONS, each)

    async def _clean_up(self, daemon: Daemon, old: Sequence[JsonObject]) -> None:
        for revision in history.plan_cleanup(daemon.daemon_set, old, daemon.pods):
            await self.remove(CONTROLLERREVISIONS, revision)

    async def _write_status(self, key: str, daemon: Daemon, *, observed: bool) -> None:
        fresh = dataclasses.replace(daemon, now=self.clock.now())
        status, again = plan_status(fresh, observed=observed)
        if again is not None:
            self.queue.add_after(key, again)
        await self.write_status(DAEMONSETS, daemon.daemon_set, status)


def _placing(node: JsonObject) -> tuple[object, object]:
    """What placement reads of a node."""
    return labels_of(node), (node.get("spec") or {}).get("taints") or []
