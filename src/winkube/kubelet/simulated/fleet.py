"""A fleet of simulated nodes in one process: one watch of pods, one of nodes, a few workers.

A node with the annotation ``simulation.winkube.dev/state: stopped`` is a machine whose power was
cut: its lease is not renewed and nothing happens to its pods until the annotation goes.
A node that is deleted registers again only when the process starts anew, as a kubelet does.
"""

import asyncio
import logging
from collections.abc import Iterable
from typing import Final

from winkube.aio.backoff import Backoff
from winkube.aio.queue import WorkQueue
from winkube.aio.supervise import work
from winkube.api.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from winkube.api.simulation import PREFIX
from winkube.base.clock import Clock, SystemClock, to_rfc3339_micro
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.events import EventRecorder
from winkube.client.informer import Informer
from winkube.client.resource import LEASES, NODES, PODS
from winkube.client.rest import ApiClient
from winkube.kubelet.errors import AdmissionError
from winkube.kubelet.node.reporter import LEASE_NAMESPACE, LEASE_SECONDS, RENEW_SECONDS
from winkube.kubelet.pod import identity
from winkube.kubelet.pod.status import Surroundings, rejected_status
from winkube.kubelet.pod.statuswriter import StatusWriter
from winkube.kubelet.simulated.life import Life
from winkube.kubelet.simulated.node import NodeSpec, SimulatedNode

STATE: Final = f"{PREFIX}state"
# Many requests under way: the server commits what waits together at once.
_WORKERS: Final = 64
_STATUS_WRITERS: Final = 6
# Leases of a large fleet are renewed less often, but always well within their time.
_RENEWALS_PER_SECOND: Final = 200
_LONGEST_RENEWAL: Final = LEASE_SECONDS * 0.6
_TICK_SECONDS: Final = 0.25

log = logging.getLogger(__name__)


class SimulatedNodes:
    def __init__(
        self,
        client: ApiClient,
        specs: Iterable[NodeSpec],
        *,
        renew_seconds: float = RENEW_SECONDS,
        clock: Clock | None = None,
    ) -> None:
        self.ready = asyncio.Event()
        self._client = client
        self._renew_seconds = renew_seconds
        self._clock: Clock = clock or SystemClock()
        self._nodes = {spec.name: SimulatedNode(spec, number) for number, spec in enumerate(specs)}
        self._lives: dict[str, Life] = {}
        self._statuses = StatusWriter(client)
        self._recorder = EventRecorder(client, "kubelet", clock=self._clock)
        self._queue: WorkQueue[str] = WorkQueue(Backoff(first=0.1, ceiling=5.0))
        self._registry: WorkQueue[str] = WorkQueue(Backoff(first=0.1, ceiling=5.0))
        self._unregistered = set(self._nodes)
        # Those the control plane has given up.
        self._ill: set[str] = set()
        self._registered = asyncio.Event()
        self._node_cache = Informer(client, NODES)
        self._node_cache.on_change(self._node_changed)
        self._pods = Informer(client, PODS, field_selector="spec.nodeName!=")
        self._pods.on_change(self._pod_changed)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._node_cache.run(), name="nodes")
            await self._node_cache.synced.wait()
            for name in self._nodes:
                self._registry.add(name)
            for number in range(_WORKERS):
                group.create_task(work(self._registry, self._keep), name=f"node {number}")
            # One that cannot register keeps none of the others from living.
            group.create_task(self._beat(), name="heartbeats")
            group.create_task(self._pods.run(), name="pods")
            for number in range(_STATUS_WRITERS):
                # Each brings workers of one node's kubelet to the same queue.
                group.create_task(self._statuses.run(), name=f"statuses {number}")
            group.create_task(self._recorder.run(), name="events")
            for number in range(_WORKERS):
                group.create_task(work(self._queue, self._reconcile), name=f"pod {number}")
            await self._pods.synced.wait()
            if self._nodes:
                await self._registered.wait()
            self.ready.set()

    # -- nodes

    def _node_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        node = self._nodes.get(key)
        if node is None:
            return
        was_stopped = _is_stopped(node.object)
        node.object = new or {}
        (self._ill.add if _is_ill(node.object) else self._ill.discard)(key)
        if was_stopped and not _is_stopped(node.object):
            node.renewed = 0.0
            for uid, life in self._lives.items():
                if life.pod["spec"].get("nodeName") == key:
                    self._queue.add(uid)

    async def _keep(self, name: str) -> None:
        """Register the node, or renew its lease."""
        node = self._nodes[name]
        if name in self._unregistered:
            node.object = await self._register(node)
            self._unregistered.discard(name)
            node.renewed = self._clock.monotonic()
            if not self._unregistered:
                self._registered.set()
        elif not node.object or _is_stopped(node.object):
            return
        elif _is_ill(node.object):
            await self._client.patch(
                NODES, name, {"status": node.status(self._clock.now())}, subresource="status"
            )
        await self._renew(node)

    async def _register(self, node: SimulatedNode) -> JsonObject:
        fresh = node.registration(self._clock.now())
        try:
            return await self._client.create(NODES, fresh)
        except AlreadyExistsError:
            labels = {"metadata": {"labels": fresh["metadata"]["labels"]}}
            await self._client.patch(NODES, node.name, labels)
            status = {"status": fresh["status"]}
            return await self._client.patch(NODES, node.name, status, subresource="status")

    async def _beat(self) -> None:
        """Renew all leases, spread over the interval as the nodes came."""
        load = len(self._nodes) / _RENEWALS_PER_SECOND
        seconds = min(max(self._renew_seconds, load), _LONGEST_RENEWAL)
        while True:
            now = self._clock.monotonic()
            for node in self._nodes.values():
                if node.name in self._unregistered:
                    continue  # its first lease comes with it
                if now - node.renewed >= seconds or (now > node.renewed and node.name in self._ill):
                    node.renewed = now
                    self._registry.add(node.name)
            await asyncio.sleep(_TICK_SECONDS)

    async def _renew(self, node: SimulatedNode) -> None:
        spec = {
            "holderIdentity": node.name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": to_rfc3339_micro(self._clock.now()),
        }
        if node.lease is not None:
            try:
                node.lease = await self._client.update(LEASES, {**node.lease, "spec": spec})
            except (ConflictError, NotFoundError):
                node.lease = None
            else:
                return
        owner = {"apiVersion": "v1", "kind": "Node", "name": node.name}
        owner["uid"] = node.object["metadata"]["uid"]
        metadata = {"name": node.name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]}
        lease = {"metadata": metadata, "spec": spec}
        try:
            node.lease = await self._client.create(LEASES, lease, namespace=LEASE_NAMESPACE)
        except AlreadyExistsError:
            node.lease = await self._client.patch(
                LEASES, node.name, {"spec": spec}, namespace=LEASE_NAMESPACE
            )

    # -- pods

    def _pod_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if old is not None and (new is None or identity.uid_of(old) != identity.uid_of(new)):
            self._forget(identity.uid_of(old))
        if new is None or new["spec"].get("nodeName") not in self._nodes:
            return
        uid = identity.uid_of(new)
        life = self._lives.get(uid)
        if life is None:
            life = self._lives[uid] = Life.adopt(new, self._clock.now())
            if life.admitted and not life.over:
                self._nodes[new["spec"]["nodeName"]].count(uid, new)
            if life.over and not life.deleting:
                return
        else:
            before, life.pod = life.pod, new
            if not _matters(before, new):
                return
        self._queue.add(uid)

    def _forget(self, uid: str) -> None:
        life = self._lives.pop(uid, None)
        if life is not None:
            self._nodes[life.pod["spec"]["nodeName"]].forget(uid)
            self._statuses.forget(uid)

    async def _reconcile(self, uid: str) -> None:
        life = self._lives.get(uid)
        if life is None or life.deleted:
            return
        node = self._nodes[life.pod["spec"]["nodeName"]]
        if _is_stopped(node.object):
            return
        now = self._clock.now()
        around = Surroundings((node.ip,), now)
        if life.deleting:
            await self._end(life, node, around)
            return
        if life.over:
            return
        if not life.admitted and not self._admit(life, node, around):
            return
        if life.past_deadline(now):
            reason, message = life.deadline_words()
            life.fail(now, reason, message, around)
        else:
            later = life.advance(now, lambda: node.address(uid))
            life.report(around)
            for when in (later, life.deadline()):
                if when is not None and not life.over:
                    self._queue.add_after(uid, max(when - now, 0.0) + 0.001)
        self._statuses.set(life.pod, life.status)
        if life.over:
            node.release(uid)

    def _admit(self, life: Life, node: SimulatedNode, around: Surroundings) -> bool:
        try:
            node.admit(identity.uid_of(life.pod), life.pod)
        except AdmissionError as refusal:
            reference = identity.to_reference(life.pod)
            self._recorder.record(reference, "Warning", refusal.reason, refusal.message)
            life.status = rejected_status(life.pod, refusal.reason, refusal.message, around)
            life.over = True
            self._statuses.set(life.pod, life.status)
            return False
        life.admitted = True
        return True

    async def _end(self, life: Life, node: SimulatedNode, around: Surroundings) -> None:
        uid = identity.uid_of(life.pod)
        later = life.stop(around.now)
        if later is not None:
            self._queue.add_after(uid, later - around.now + 0.001)
            return
        refused = life.over and not life.state.sandboxes
        life.over = True
        if not refused:
            life.report(around)
            self._statuses.set(life.pod, life.status)
            await self._statuses.settle(uid)
        node.release(uid)
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}
        try:
            await self._client.delete(
                PODS,
                identity.name_of(life.pod),
                namespace=identity.namespace_of(life.pod),
                options=options,
            )
        except NotFoundError:
            log.debug("pod was gone already", extra={"pod": identity.key_of(life.pod)})
        except (ApiError, TransportError):
            # Also if the name belongs to another by now: we hear of it, and look no more.
            self._queue.add_after(uid, 1.0)
            return
        life.deleted = True


def _is_stopped(node: JsonObject) -> bool:
    notes = (node.get("metadata") or {}).get("annotations") or {}
    return bool(notes.get(STATE) == "stopped")


def _is_ill(node: JsonObject) -> bool:
    """Whether the control plane has given the node up, so that its status must be sent anew."""
    conditions = (node.get("status") or {}).get("conditions") or []
    return any(entry["type"] == "Ready" and entry["status"] != "True" for entry in conditions)


def _matters(old: JsonObject, new: JsonObject) -> bool:
    """Whether a change is another's doing: what we reported ourselves needs no second look."""
    before, after = old["metadata"], new["metadata"]
    return (
        before.get("deletionTimestamp") != after.get("deletionTimestamp")
        or before.get("annotations") != after.get("annotations")
        or before.get("generation") != after.get("generation")
        or old["spec"] != new["spec"]
        or _foreign(old) != _foreign(new)
    )


def _foreign(pod: JsonObject) -> list[JsonObject]:
    """Conditions readiness gates wait for."""
    gates = {gate["conditionType"] for gate in pod["spec"].get("readinessGates") or []}
    conditions = (pod.get("status") or {}).get("conditions") or []
    return [entry for entry in conditions if entry["type"] in gates]
