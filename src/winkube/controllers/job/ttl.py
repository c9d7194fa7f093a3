"""Finished jobs are deleted with their pods after ``spec.ttlSecondsAfterFinished``."""

from winkube.api.errors import NotFoundError
from winkube.api.meta import is_deleting, split_key
from winkube.base.clock import parse_rfc3339
from winkube.base.types import JsonObject
from winkube.client.resource import JOBS
from winkube.controllers.controller import Context, Controller
from winkube.controllers.job.view import finished_condition


def time_left(job: JsonObject, now: float) -> float | None:
    """Seconds until the job is due; None when it never is."""
    ttl = job["spec"].get("ttlSecondsAfterFinished")
    finished = finished_condition(job)
    if ttl is None or finished is None or is_deleting(job):
        return None
    return parse_rfc3339(finished["lastTransitionTime"]) + float(ttl) - now


class TtlAfterFinishedController(Controller):
    name = "ttl-after-finished-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._jobs = self.follow(JOBS)

    async def reconcile(self, key: str) -> None:
        if not self._is_due(key, self._jobs.get(key)):
            return
        namespace, name = split_key(key)
        try:
            # The time may have been changed since: only the server knows for sure.
            fresh = await self.client.get(JOBS, name, namespace=namespace)
            if self._is_due(key, fresh):
                await self.remove(JOBS, fresh, propagationPolicy="Foreground")
        except NotFoundError:
            return

    def _is_due(self, key: str, job: JsonObject | None) -> bool:
        left = None if job is None else time_left(job, self.clock.now())
        if left is not None and left > 0:
            self.queue.add_after(key, left)
        return left is not None and left <= 0
