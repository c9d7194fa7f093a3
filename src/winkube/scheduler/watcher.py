"""The scheduler's eyes: informers that keep the picture and the queue up to date."""

from collections.abc import Mapping

from winkube.api.meta import labels_of, uid_of
from winkube.base.types import JsonObject
from winkube.client.informer import Informer
from winkube.client.resource import (
    NAMESPACES,
    NODES,
    PODDISRUPTIONBUDGETS,
    PODS,
    REPLICASETS,
    REPLICATIONCONTROLLERS,
    SERVICES,
    STATEFULSETS,
)
from winkube.client.rest import ApiClient
from winkube.scheduler.events import ClusterEvent
from winkube.scheduler.profile import Profile
from winkube.scheduler.queue import SchedulingQueue, Waiting
from winkube.scheduler.shape import DEFAULT_SCHEDULER, Owner, PodInfo, ShapeCache
from winkube.scheduler.volume_binder import VolumeBinder
from winkube.scheduler.world import World

LIVE_PODS = "status.phase!=Succeeded,status.phase!=Failed"
_BY_NAMESPACE = "namespace"


class Watcher:
    def __init__(
        self,
        client: ApiClient,
        world: World,
        queue: SchedulingQueue,
        profiles: Mapping[str, Profile],
    ) -> None:
        self._world = world
        self._queue = queue
        self._profiles = profiles
        self._shapes = ShapeCache()
        self.volumes = VolumeBinder(client, world.volumes)
        self.nodes = Informer(client, NODES)
        self.pods = Informer(client, PODS, field_selector=LIVE_PODS)
        self._services = Informer(client, SERVICES)
        self._controllers = {
            "ReplicationController": Informer(client, REPLICATIONCONTROLLERS),
            "ReplicaSet": Informer(client, REPLICASETS),
            "StatefulSet": Informer(client, STATEFULSETS),
        }
        self._namespaces = Informer(client, NAMESPACES)
        self._budgets = Informer(client, PODDISRUPTIONBUDGETS)
        self._listen()

    def _listen(self) -> None:
        world = self._world
        self._services.add_index(_BY_NAMESPACE, lambda obj: [obj["metadata"]["namespace"]])
        world.spreading.services = lambda name: self._services.by_index(_BY_NAMESPACE, name)
        world.spreading.find = self._find_controller
        world.budgets = self._budgets.list
        for informer in (self._services, *self._controllers.values()):
            informer.on_change(self._selector_changed)
        for informer in self.volumes.informers:
            informer.on_change(self._volume_changed)
        self._namespaces.on_change(self._namespace_changed)
        self.nodes.on_change(self._node_changed)
        self.pods.on_change(self._pod_changed)

    @property
    def informers(self) -> tuple[Informer, ...]:
        """In the order they are to be filled: pods last."""
        return (
            self.nodes,
            *self.volumes.informers,
            self._services,
            *self._controllers.values(),
            self._namespaces,
            self._budgets,
            self.pods,
        )

    def _find_controller(self, owner: Owner, namespace: str) -> JsonObject | None:
        return self._controllers[owner[1]].get(f"{namespace}/{owner[2]}")

    # -- what the informers say

    def _selector_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        before, after = ((each or {}).get("spec") or {} for each in (old, new))
        if old is None or new is None or before.get("selector") != after.get("selector"):
            self._world.spreading.changed()

    def _namespace_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        self._world.set_namespace(key, None if new is None else labels_of(new))

    def _node_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is None:
            gone = self._world.remove_node(key)
            self._queue.happened(ClusterEvent(node=frozenset(("removed",)), old_node=gone))
            return
        changed = self._world.set_node(new) - {"images"}
        if changed:
            was = None if "added" in changed else old
            self._queue.happened(ClusterEvent(node=changed, old_node=was, new_node=new))

    def _volume_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        self._world.volumes.changed()
        self._queue.happened(ClusterEvent(others="volume"))

    def _pod_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is None:
            self._left(key, uid_of(old or {}))
        elif new["spec"].get("nodeName"):
            self._placed(key, old, new)
        elif self._is_ours(new):
            self._offered(key, old, new)
        else:
            self._queue.remove(key)

    def _left(self, key: str, uid: str) -> None:
        self._queue.remove(key)
        self._world.volumes.changed()
        promised = self._world.nominee(uid)
        if promised is not None:
            self._unpromise(promised)
        gone = self._world.displace(key)
        if gone is not None:
            self._queue.happened(ClusterEvent(old_pod=gone))

    def _unpromise(self, pod: PodInfo) -> None:
        """Room that was kept for the pod is free for others that had to yield to it."""
        self._world.nominate(pod, "")
        self._queue.happened(ClusterEvent(old_pod=pod, at_most=pod.priority))

    def _placed(self, key: str, old: JsonObject | None, new: JsonObject) -> None:
        self._queue.remove(key)
        world = self._world
        known, node = world.pod(key), new["spec"]["nodeName"]
        same = known is not None and (known.uid, known.node) == (uid_of(new), node)
        if same and old is not None and _needs(old) == _needs(new):
            return
        pod = self._shapes.pod(new)
        world.nominate(pod, "")
        world.place(pod, node)
        was_there = old is not None and bool(old["spec"].get("nodeName"))
        event = ClusterEvent(old_pod=known if was_there else None, new_pod=pod)
        self._queue.happened(event)

    def _offered(self, key: str, old: JsonObject | None, new: JsonObject) -> None:
        known = self._world.pod(key)
        if known is not None and known.uid == uid_of(new):
            # Assumed: its binding is under way.
            return
        waiting = self._queue.knows(key)
        if old is None or waiting is None or waiting.pod.uid != uid_of(new):
            pod = self._shapes.pod(new)
            self._queue.add(pod)
            if pod.nominated:
                self._world.nominate(pod, pod.nominated)
            return
        if _needs(old) != _needs(new):
            changed = old["spec"] != new["spec"] or labels_of(old) != labels_of(new)
            self._queue.update(self._shapes.pod(new), try_now=changed)
        self._status_changed(waiting, old, new)

    def _status_changed(self, waiting: Waiting, old: JsonObject, new: JsonObject) -> None:
        pod = waiting.pod
        pod.version = new["metadata"].get("resourceVersion") or ""
        pod.terminating = bool(new["metadata"].get("deletionTimestamp"))
        pod.generation = int(new["metadata"].get("generation") or 0)
        before, after = _promised(old), _promised(new)
        if before == after:
            # What we promised and have not written yet stays.
            return
        pod.nominated = after
        if before:
            self._unpromise(pod)
        self._world.nominate(pod, after)

    def _is_ours(self, pod: JsonObject) -> bool:
        spec = pod["spec"]
        name = spec.get("schedulerName") or DEFAULT_SCHEDULER
        return name in self._profiles and not spec.get("schedulingGates")


def _promised(pod: JsonObject) -> str:
    return (pod.get("status") or {}).get("nominatedNodeName") or ""


def _needs(pod: JsonObject) -> tuple[object, ...]:
    """Everything the picture of a pod is made of."""
    status = pod.get("status") or {}
    resources = [
        (each.get("resources"), each.get("allocatedResources"))
        for kind in ("containerStatuses", "initContainerStatuses")
        for each in status.get(kind) or ()
    ]
    metadata = pod["metadata"]
    leaving = metadata.get("deletionTimestamp")
    return (
        pod["spec"],
        labels_of(pod),
        leaving,
        status.get("startTime"),
        resources,
        status.get("conditions") if leaving else None,
    )
