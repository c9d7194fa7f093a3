"""The Job controller: pods until enough have succeeded or too many have failed.

Theory of operation: a reconcile looks at the job and its pods (``view``), decides whether the job
ends (``plan_end``) or which pods it needs (``plan_pods``), acts, and enters what ended into the
status (``tracking``). It waits for its own writes to show in the caches: for pods by expectations,
for the job by its version, for removed finalizers by the uids.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from winkube.api.errors import ApiError, NotFoundError
from winkube.api.meta import (
    find_condition,
    is_deleting,
    resource_version,
    uid_of,
)
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.resource import JOBS, PODS
from winkube.controllers.batch import Failure, all_at_once, first_failure
from winkube.controllers.controller import Context, Controller
from winkube.controllers.dependents import Dependents
from winkube.controllers.expectations import Expectations
from winkube.controllers.job.backoff import Failures
from winkube.controllers.job.finalizer import remove_finalizer
from winkube.controllers.job.plan import (
    deadline_in,
    is_complete,
    plan_end,
    plan_pods,
    to_condition,
)
from winkube.controllers.job.template import job_pod
from winkube.controllers.job.tracking import count_pods, finish, plan_tracking, settle
from winkube.controllers.job.view import (
    FINALIZER,
    JobView,
    finished_condition,
    is_ours,
    is_tracked,
)
from winkube.controllers.pod_control import PodControl
from winkube.controllers.pods import is_ready

# Pods of one job change in swarms: this long a swarm is one piece of work.
GATHER_SECONDS: Final = 0.05


@dataclass(slots=True)
class _Counts:
    """The pods as they are after what this reconcile did."""

    active: int
    ready: int
    terminating: int

    def removed(self, pods: Sequence[JsonObject]) -> None:
        self.active -= len(pods)
        self.terminating += len(pods)
        self.ready -= sum(is_ready(pod) for pod in pods)


class JobController(Controller):
    name = "job-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._jobs = self.follow(JOBS)
        self._expected = Expectations(context.clock)
        self._control = PodControl(self, self._expected)
        self._pods = Dependents(self, PODS, self._jobs, "Job")
        self._pods.follow(self._observe, gather_seconds=GATHER_SECONDS)
        self._failures: dict[str, Failures] = {}
        self._released: dict[str, set[str]] = {}
        self._written: dict[str, tuple[str, int]] = {}

    def _observe(self, owner: str, old: JsonObject | None, new: JsonObject | None) -> None:
        self._expected.observe(owner, old, new)
        if new is None or not is_tracked(new):
            self._released.get(owner, set()).discard(uid_of(new or old or {}))

    async def reconcile(self, key: str) -> None:
        job = self._jobs.get(key)
        if job is None or finished_condition(job) is not None:
            self._forget(key)
            return
        uid, version = self._written.get(key, ("", 0))
        if not is_ours(job) or (uid == uid_of(job) and resource_version(job) < version):
            # Not for us; or the cache has yet to show what we wrote, and will call again.
            return
        satisfied = self._expected.satisfied(key)
        if not satisfied:
            self.queue.add_after(key, self._expected.left(key))
        view = JobView(
            job,
            await self._pods.claim(job, finalizer=FINALIZER),
            self.clock.now(),
            frozenset(self._released.get(key, ())),
            self._failures.get(key, Failures()),
        )
        await self._sync(key, view, satisfied)

    def _forget(self, key: str) -> None:
        self._expected.forget(key)
        for memory in (self._failures, self._released, self._written):
            memory.pop(key, None)

    async def _sync(self, key: str, view: JobView, satisfied: bool) -> None:
        counts = _Counts(len(view.active), view.ready, len(view.terminating))
        status = dict(view.status)
        if view.start is not None:
            status.setdefault("startTime", to_rfc3339(view.start))
        end = plan_end(view)
        failure: Failure | None = None
        if end is not None:
            failure = await self._stop(view, counts)
            if counts.active or not satisfied:
                # Pods may be left that we do not know of yet.
                end = None
        else:
            left = deadline_in(view)
            if left is not None:
                self.queue.add_after(key, left)
            managed = satisfied and not is_deleting(view.job)
            if managed:
                failure = await self._manage(key, view, counts)
            if is_complete(view, counts.active):
                message = "Reached expected number of succeeded pods"
                end = to_condition("SuccessCriteriaMet", "CompletionsReached", message, view.now)
            elif managed:
                status = self._mark_suspended(view, status)
        status = count_pods(status, counts.active, counts.ready, counts.terminating)
        await self._track(key, view, status, end)
        if failure is not None:
            raise failure

    def _mark_suspended(self, view: JobView, status: JsonObject) -> JsonObject:
        conditions = status.get("conditions") or []
        old = find_condition(conditions, "Suspended")
        was = old is not None and old.get("status") == "True"
        if view.suspended == was:
            return status
        word, truth = ("suspended", "True") if view.suspended else ("resumed", "False")
        message = f"Job {word}"
        fresh = to_condition("Suspended", f"Job{word.title()}", message, view.now, truth)
        others = [fresh if entry is old else entry for entry in conditions]
        self.event(view.job, "Normal", word.title(), message)
        status = {**status, "conditions": others if old is not None else [*others, fresh]}
        if not view.suspended:
            # The deadline is about the time a job runs without a break.
            status["startTime"] = to_rfc3339(view.now)
        return status

    async def _stop(self, view: JobView, counts: _Counts) -> Failure | None:
        """The job has ended: delete what still runs, and leave the finalizers to the books."""
        leaving, failure = await self._control.stop(view.job, view.active)
        counts.removed(leaving)
        return failure

    async def _manage(self, key: str, view: JobView, counts: _Counts) -> Failure | None:
        plan = plan_pods(view)
        if plan.delete:
            # Pods that are too many count for nothing, so their finalizer goes first.
            prepare = functools.partial(remove_finalizer, self.client)
            leaving, failure = await self._control.delete(view.job, plan.delete, prepare)
            counts.removed(leaving)
            return failure
        if plan.create:
            new = (job_pod(view, index) for index in plan.indexes or (None,) * plan.create)
            done, failure = await self._control.create(view.job, plan.create, new)
            counts.active += done
            return failure
        if plan.wait > 0:
            self.queue.add_after(key, plan.wait)
        return None

    async def _track(
        self, key: str, view: JobView, status: JsonObject, end: JsonObject | None
    ) -> None:
        plan = plan_tracking(view, status, end)
        job = await self._write(key, view.job, plan.status)
        self._failures[key] = view.failures
        released, failure = await self._release(key, plan.release)
        settled = settle(plan.status, plan.tracked - released)
        finished = finish(settled, plan.end) if failure is None else None
        await self._write(key, job, finished or settled)
        if failure is not None:
            raise failure
        if finished is not None and plan.end is not None:
            self._announce_end(view, finished, plan.end)

    async def _write(self, key: str, job: JsonObject, status: JsonObject) -> JsonObject:
        if status == (job.get("status") or {}):
            return job
        changed = await self.client.update(JOBS, {**job, "status": status}, subresource="status")
        self._written[key] = (uid_of(changed), resource_version(changed))
        return changed

    async def _release(
        self, key: str, pods: Sequence[JsonObject]
    ) -> tuple[frozenset[str], Failure | None]:
        expected = self._released.setdefault(key, set())
        expected.update(uid_of(pod) for pod in pods)

        async def release_one(pod: JsonObject) -> Failure | None:
            try:
                await remove_finalizer(self.client, pod)
            except (ApiError, TransportError) as error:
                expected.discard(uid_of(pod))
                return None if isinstance(error, NotFoundError) else error
            return None

        results = await all_at_once(pods, release_one)
        failed = {uid_of(pod) for pod, failure in zip(pods, results, strict=True) if failure}
        released = frozenset(uid_of(pod) for pod in pods) - failed
        return released, first_failure(results)

    def _announce_end(self, view: JobView, status: JsonObject, end: JsonObject) -> None:
        if end["type"] == "Failed":
            self.event(view.job, "Warning", end["reason"], end["message"])
            return
        if view.completions is not None and status.get("succeeded", 0) > view.completions:
            message = "Too many succeeded pods running after completion count reached"
            self.event(view.job, "Warning", "TooManySucceededPods", message)
        self.event(view.job, "Normal", "Completed", "Job completed")
