"""The Job controller: pods until enough have succeeded or too many have failed.

Theory of operation: a reconcile looks at the job and its pods (``view``), decides whether the job
ends (``plan_end``) or which pods it needs (``plan_pods``), acts, and enters what ended into the
status (``tracking``). It waits for its own writes to show in the caches: for pods by expectations,
for the job by its version, for removed finalizers by the uids.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from winkube.api.errors import ApiError, NotFoundError
from winkube.api.meta import (
    controller_of,
    find_condition,
    is_deleting,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    resource_version,
    uid_of,
)
from winkube.api.selectors import from_label_selector
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.resource import JOBS, PODS
from winkube.controllers.adoption import apply_claims, plan_claims
from winkube.controllers.controller import Context, Controller
from winkube.controllers.expectations import Expectations
from winkube.controllers.indexes import NAMESPACE, ORPHANS, OWNER, add_owner_indexes
from winkube.controllers.job.backoff import Failures
from winkube.controllers.job.finalizer import remove_finalizer
from winkube.controllers.job.plan import (
    JobPlan,
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
from winkube.controllers.pod_control import Failure, PodControl, is_ending_namespace
from winkube.controllers.pods import is_ready
from winkube.controllers.replicaset import slow_start

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
        add_owner_indexes(self._jobs)
        self._pods = self.informer(PODS)
        add_owner_indexes(self._pods)
        self._pods.on_change(self._pod_changed)
        self._control = PodControl(self)
        self._expected = Expectations(context.clock)
        self._failures: dict[str, Failures] = {}
        self._released: dict[str, set[str]] = {}
        self._written: dict[str, tuple[str, int]] = {}

    def _pod_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        for pod in (old, new):
            if pod is None:
                continue
            owner = controller_of(pod)
            if owner is None:
                if pod is new:
                    self._queue_adopters(pod)
            elif owner.get("kind") == "Job":
                owner_key = f"{namespace_of(pod)}/{owner['name']}"
                self._observe(owner_key, old, new)
                self.queue.add_after(owner_key, GATHER_SECONDS)

    def _observe(self, owner: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if old is None and new is not None:
            self._expected.created(owner)
        uid = uid_of(new or old or {})
        if new is None or is_deleting(new):
            self._expected.deleted(owner, uid)
        if new is None or not is_tracked(new):
            self._released.get(owner, set()).discard(uid)

    def _queue_adopters(self, pod: JsonObject) -> None:
        for candidate in self._jobs.by_index(NAMESPACE, namespace_of(pod)):
            if from_label_selector(candidate["spec"].get("selector")).matches(labels_of(pod)):
                self.queue.add(key_of(candidate))

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
        view = JobView(
            job,
            await self._claim(job),
            self.clock.now(),
            frozenset(self._released.get(key, ())),
            self._failures.get(key, Failures()),
        )
        await self._sync(key, view, satisfied)

    def _forget(self, key: str) -> None:
        self._expected.forget(key)
        for memory in (self._failures, self._released, self._written):
            memory.pop(key, None)

    async def _claim(self, job: JsonObject) -> tuple[JsonObject, ...]:
        selector = from_label_selector(job["spec"].get("selector"))
        candidates = (
            *self._pods.by_index(OWNER, uid_of(job)),
            *self._pods.by_index(ORPHANS, namespace_of(job)),
        )
        claims = plan_claims(job, selector, candidates)
        return await apply_claims(self.client, PODS, job, claims, finalizer=FINALIZER)

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
        failures: list[Failure] = []

        async def stop_one(pod: JsonObject) -> None:
            failure = await self._control.delete(view.job, pod)
            if failure is None or isinstance(failure, NotFoundError):
                counts.removed([pod])
            else:
                failures.append(failure)

        async with asyncio.TaskGroup() as group:
            for pod in view.active:
                group.create_task(stop_one(pod), name=f"stop {name_of(pod)}")
        return failures[0] if failures else None

    async def _manage(self, key: str, view: JobView, counts: _Counts) -> Failure | None:
        plan = plan_pods(view)
        if plan.delete:
            return await self._delete(key, view, plan.delete, counts)
        if plan.create:
            return await self._create(key, view, plan, counts)
        if plan.wait > 0:
            self.queue.add_after(key, plan.wait)
        return None

    async def _create(
        self, key: str, view: JobView, plan: JobPlan, counts: _Counts
    ) -> Failure | None:
        self._expected.expect_creations(key, plan.create)
        todo = iter(plan.indexes or (None,) * plan.create)

        async def create_one() -> Failure | None:
            return await self._control.create(view.job, job_pod(view, next(todo)))

        done, failure = await slow_start(plan.create, create_one)
        self._expected.created(key, plan.create - done)
        counts.active += done
        return None if is_ending_namespace(failure) else failure

    async def _delete(
        self, key: str, view: JobView, pods: Sequence[JsonObject], counts: _Counts
    ) -> Failure | None:
        """Pods that are too many count for nothing, so their finalizer goes first."""
        failures: list[Failure] = []
        for pod in pods:
            self._expected.expect_deletion(key, uid_of(pod))

        async def delete_one(pod: JsonObject) -> None:
            failure: Failure | None = None
            try:
                await remove_finalizer(self.client, pod)
            except (ApiError, TransportError) as error:
                failure = error
            if failure is None:
                failure = await self._control.delete(view.job, pod)
            if failure is not None:
                self._expected.deleted(key, uid_of(pod))
            if failure is None or isinstance(failure, NotFoundError):
                counts.removed([pod])
            else:
                failures.append(failure)

        async with asyncio.TaskGroup() as group:
            for pod in pods:
                group.create_task(delete_one(pod), name=f"delete {name_of(pod)}")
        return failures[0] if failures else None

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
        failures: list[Failure] = []
        released: set[str] = set()
        expected = self._released.setdefault(key, set())
        expected.update(uid_of(pod) for pod in pods)

        async def release_one(pod: JsonObject) -> None:
            try:
                await remove_finalizer(self.client, pod)
            except NotFoundError:
                expected.discard(uid_of(pod))
            except (ApiError, TransportError) as error:
                expected.discard(uid_of(pod))
                failures.append(error)
                return
            released.add(uid_of(pod))

        async with asyncio.TaskGroup() as group:
            for pod in pods:
                group.create_task(release_one(pod), name=f"release {name_of(pod)}")
        return frozenset(released), failures[0] if failures else None

    def _announce_end(self, view: JobView, status: JsonObject, end: JsonObject) -> None:
        if end["type"] == "Failed":
            self.event(view.job, "Warning", end["reason"], end["message"])
            return
        if view.completions is not None and status.get("succeeded", 0) > view.completions:
            message = "Too many succeeded pods running after completion count reached"
            self.event(view.job, "Warning", "TooManySucceededPods", message)
        self.event(view.job, "Normal", "Completed", "Job completed")
