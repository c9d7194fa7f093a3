"""Taint-based eviction: NoExecute taints remove pods that do not tolerate them, or no longer."""

from collections.abc import Iterable, Sequence

from winkube.api.errors import ConflictError, NotFoundError
from winkube.api.meta import is_deleting, key_of, name_of, namespace_of, uid_of
from winkube.api.node_selector import tolerates
from winkube.base.clock import parse_rfc3339
from winkube.base.types import JsonObject
from winkube.client.resource import NODES, PODS
from winkube.controllers.controller import Context, Controller
from winkube.controllers.indexes import NODE, add_node_index
from winkube.controllers.pods import is_finished, node_of


def no_execute_taints(node: JsonObject | None) -> list[JsonObject]:
    taints = ((node or {}).get("spec") or {}).get("taints") or ()
    return [taint for taint in taints if taint.get("effect") == "NoExecute"]


def plan_eviction(
    tolerations: Iterable[JsonObject], taints: Sequence[JsonObject], now: float
) -> float | None:
    """Seconds until the pod has to go; None when it may stay for ever."""
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
            since = parse_rfc3339(taint["timeAdded"]) if taint.get("timeAdded") else now
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

    def _node_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is not None and no_execute_taints(new) != no_execute_taints(old):
            for pod in self._pods.by_index(NODE, key):
                self.queue.add(key_of(pod))

    def _pod_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is not None and no_execute_taints(self._nodes.get(node_of(new))):
            self.queue.add(key)

    async def reconcile(self, key: str) -> None:
        pod = self._pods.get(key)
        if pod is None or is_deleting(pod) or is_finished(pod):
            return
        taints = no_execute_taints(self._nodes.get(node_of(pod)))
        if not taints:
            return
        left = plan_eviction(pod["spec"].get("tolerations") or (), taints, self.clock.now())
        if left is None:
            return
        if left > 0:
            self.queue.add_after(key, left)
            return
        self.event(pod, "Normal", "TaintManagerEviction", f"Marking for deletion Pod {key}")
        try:
            await self.client.delete(
                PODS,
                name_of(pod),
                namespace=namespace_of(pod),
                options={"preconditions": {"uid": uid_of(pod)}},
            )
        except (NotFoundError, ConflictError):
            return
