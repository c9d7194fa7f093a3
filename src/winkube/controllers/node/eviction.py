"""Taint-based eviction: NoExecute taints remove pods that do not tolerate them, or no longer."""

from collections.abc import Iterable, Sequence
from typing import Final

from winkube.api.errors import NotFoundError
from winkube.api.meta import is_deleting, key_of, name_of, namespace_of, uid_of
from winkube.api.selector.nodes import tolerates
from winkube.base.clock import parse_rfc3339, to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.resource import NODES, PODS
from winkube.client.rest import PatchType
from winkube.controllers.controller import Context, Controller
from winkube.controllers.indexes import NODE, add_node_index
from winkube.controllers.pods import is_finished, node_of, observed

CONDITION: Final = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByTaintManager",
    "message": "Taint manager: deleting due to NoExecute taint",
}


def no_execute_taints(node: JsonObject | None) -> list[JsonObject]:
    taints = ((node or {}).get("spec") or {}).get("taints") or ()
    return [taint for taint in taints if taint.get("effect") == "NoExecute"]


def plan_eviction(
    tolerations: Iterable[JsonObject], taints: Sequence[JsonObject], seen: float, now: float
) -> float | None:
    """Seconds until the pod has to go; None when it may stay for ever.

    ``seen`` is since when we know of the taints, for those that do not say since when they are.
    """
    listed = list(tolerations)
    deadline: float | None = None
    for taint in taints:
        matching = [each for each in listed if tolerates(each, taint)]
        if not matching:
            return 0.0
        limits = [
            max(0, int(each["tolerationSeconds"]))
            for each in matching
            if each.get("tolerationSeconds") is not None
        ]
        if limits:
            since = parse_rfc3339(taint["timeAdded"]) if taint.get("timeAdded") else seen
            left = max(0.0, since + min(limits) - now)
            deadline = left if deadline is None else min(deadline, left)
    return deadline


class TaintEvictionController(Controller):
    name = "taint-eviction-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._nodes = self.informer(NODES)
        self._nodes.on_change(self._node_changed)
        self._pods = self.informer(PODS)
        add_node_index(self._pods)
        self._pods.on_change(self._pod_changed)
        # Pods that will have to go later, and since when we know.
        self._planned: dict[str, float] = {}
        # Pods whose deletion we asked for, until they are gone.
        self._evicted: set[str] = set()

    def _node_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is not None and no_execute_taints(new) != no_execute_taints(old):
            for pod in self._pods.by_index(NODE, key):
                self.queue.add(key_of(pod))

    def _pod_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is None:
            self._evicted.discard(uid_of(old or {}))
            self._cancel(key)
        elif no_execute_taints(self._nodes.get(node_of(new))):
            self.queue.add(key)

    def _cancel(self, key: str) -> None:
        if self._planned.pop(key, None) is not None:
            self._tell(key, f"Cancelling deletion of Pod {key}")

    def _tell(self, key: str, message: str) -> None:
        namespace, _, name = key.partition("/")
        reference = {"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": name}
        self.event(reference, "Normal", "TaintManagerEviction", message)

    async def reconcile(self, key: str) -> None:
        pod = self._pods.get(key)
        if pod is None or is_deleting(pod) or is_finished(pod) or uid_of(pod) in self._evicted:
            return
        taints = no_execute_taints(self._nodes.get(node_of(pod)))
        now = self.clock.now()
        seen = self._planned.get(key, now)
        left = plan_eviction(pod["spec"].get("tolerations") or (), taints, seen, now)
        if left is None:
            self._cancel(key)
        elif left > 0:
            self._planned[key] = seen
            self.queue.add_after(key, left)
        else:
            self._tell(key, f"Marking for deletion Pod {key}")
            await self._evict(pod)
            # Only now: who has to try again need not wait again.
            self._planned.pop(key, None)
            self._evicted.add(uid_of(pod))

    async def _evict(self, pod: JsonObject) -> None:
        """Let the pod's owner see why it goes: it may count this as no failure."""
        stamp = to_rfc3339(self.clock.now())
        condition = {**observed(pod, CONDITION), "lastTransitionTime": stamp}
        known = [entry["type"] for entry in (pod.get("status") or {}).get("conditions") or ()]
        order = [each for each in known if each != condition["type"]] + [condition["type"]]
        status = {
            "$setElementOrder/conditions": [{"type": each} for each in order],
            "conditions": [condition],
        }
        body = {"metadata": {"uid": uid_of(pod)}, "status": status}
        try:
            await self.client.patch(
                PODS,
                name_of(pod),
                body,
                namespace=namespace_of(pod),
                subresource="status",
                patch_type=PatchType.STRATEGIC,
            )
            options = {"preconditions": {"uid": uid_of(pod)}}
            await self.client.delete(
                PODS, name_of(pod), namespace=namespace_of(pod), options=options
            )
        except NotFoundError:
            return
