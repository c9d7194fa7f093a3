"""Pods that were said to be disrupted and were not: the condition that says so is taken back.

Whoever evicts or preempts a pod marks it first. When the deletion does not follow, the mark would
excuse a later failure that has nothing to do with it (kubernetes: disruption.go).
"""

from typing import Final

from winkube.api.errors import NotFoundError
from winkube.api.meta import get_condition, is_deleting, set_condition
from winkube.base.clock import parse_rfc3339, to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.resource import PODS
from winkube.controllers.controller import Context, Controller
from winkube.controllers.pods import is_finished, observed

STALE_SECONDS: Final = 120.0
CONDITION: Final = "DisruptionTarget"
# A kubelet takes its time between saying and doing.
_BY_KUBELET: Final = "TerminationByKubelet"


def stale_in(pod: JsonObject, now: float) -> float | None:
    """Seconds until the mark is taken back; None when there is none to take back."""
    condition = get_condition(pod, CONDITION)
    if condition is None or condition.get("status") != "True":
        return None
    if condition.get("reason") == _BY_KUBELET or is_deleting(pod) or is_finished(pod):
        return None
    since = condition.get("lastTransitionTime")
    return max(0.0, parse_rfc3339(since) + STALE_SECONDS - now) if since else 0.0


class StaleDisruptionController(Controller):
    name = "stale-disruption-controller"
    workers = 1

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._pods = self.informer(PODS)
        self._pods.on_change(self._pod_changed)

    def _pod_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        left = None if new is None else stale_in(new, self.clock.now())
        if left is not None:
            self.queue.add_after(key, left)

    async def reconcile(self, key: str) -> None:
        pod = self._pods.get(key)
        left = None if pod is None else stale_in(pod, self.clock.now())
        if pod is None or left is None:
            return
        if left > 0:
            self.queue.add_after(key, left)
            return
        status = {**pod["status"], "conditions": list(pod["status"]["conditions"])}
        fresh = {**pod, "status": status}
        condition = observed(pod, {"type": CONDITION, "status": "False"})
        set_condition(fresh, condition, to_rfc3339(self.clock.now()))
        try:
            await self.client.update(PODS, fresh, subresource="status")
        except NotFoundError:
            return
