"""The CronJob controller: start jobs when they are due, follow them, tidy up after them."""

import copy
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from winkube.api.cron import CronError, Schedule, load_zone, parse_schedule
from winkube.api.errors import AlreadyExistsError, ApiError, NotFoundError
from winkube.api.meta import (
    controller_of,
    is_controlled_by,
    is_deleting,
    name_of,
    namespace_of,
    uid_of,
)
from winkube.base.clock import to_rfc3339
from winkube.base.errors import WinkubeError
from winkube.base.types import JsonObject
from winkube.client.resource import CRONJOBS, JOBS
from winkube.controllers.controller import Context, Controller
from winkube.controllers.cronjob.plan import (
    MANY_MISSED,
    find_due,
    job_name,
    new_job,
    next_wake,
    plan_history,
    to_reference,
)
from winkube.controllers.indexes import OWNER, add_owner_indexes
from winkube.controllers.job.view import finished_condition, true_condition
from winkube.controllers.pod_control import is_ending_namespace

_TOO_MANY: Final = (
    "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
)
_STILL_RUNNING: Final = (
    "Not starting job because prior execution is running and concurrency policy is Forbid"
)
_ZONE_IN_SCHEDULE: Final = (
    "CRON_TZ or TZ used in schedule {schedule} is not officially supported, see "
    "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)


class ReplaceJobError(WinkubeError):
    pass


class CronJobController(Controller):
    name = "cronjob-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._cron_jobs = self.informer(CRONJOBS)
        self._cron_jobs.on_change(self._cron_job_changed)
        self._jobs = self.informer(JOBS)
        add_owner_indexes(self._jobs)
        self._jobs.on_change(self._job_changed)

    def _cron_job_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if old is None or new is None or _timing(old) == _timing(new):
            self.queue.add(key)
            return
        # A new schedule holds from its next time on, not for times that are past.
        try:
            schedule = _schedule(new)
        except CronError:
            message = f"unparseable schedule for cronjob: {new['spec'].get('schedule')}"
            self.event(new, "Warning", "UnParseableCronJobSchedule", message)
            return
        self.queue.add_after(key, next_wake(new, self.clock.now(), schedule))

    def _job_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        for job in (old, new):
            owner = None if job is None else controller_of(job)
            if job is not None and owner is not None and owner.get("kind") == "CronJob":
                self.queue.add(f"{namespace_of(job)}/{owner['name']}")

    async def reconcile(self, key: str) -> None:
        found = self._cron_jobs.get(key)
        if found is None:
            return
        jobs = self._jobs.by_index(OWNER, uid_of(found))
        cron_job = copy.deepcopy(found)
        try:
            await self._follow(cron_job, jobs)
            wake = await self._start(cron_job)
        finally:
            await self._write_status(cron_job, found)
            # Only now: of a job that is gone nobody could say again that it succeeded.
            for job in plan_history(cron_job, jobs):
                await self._delete_job(cron_job, job)
        if wake is not None:
            self.queue.add_after(key, wake)

    async def _write_status(self, cron_job: JsonObject, found: JsonObject) -> None:
        status = cron_job.setdefault("status", {})
        if not status.get("active"):
            status.pop("active", None)
        if status != (found.get("status") or {}):
            await self.client.update(CRONJOBS, cron_job, subresource="status")

    async def _follow(self, cron_job: JsonObject, jobs: Sequence[JsonObject]) -> None:
        """Bring the list of active jobs up to date with what became of them."""
        known = {uid_of(job) for job in jobs}
        for job in jobs:
            finished = finished_condition(job)
            listed = uid_of(job) in _active_uids(cron_job)
            if finished is None:
                if not listed:
                    await self._expect_listed(cron_job, job)
                continue
            if listed:
                _drop(cron_job, uid_of(job))
                message = f"Saw completed job: {name_of(job)}, condition: {finished['type']}"
                self.event(cron_job, "Normal", "SawCompletedJob", message)
            self._note_success(cron_job, job)
        for entry in [*_active(cron_job)]:
            if entry.get("uid") not in known and await self._is_missing(entry):
                message = f"Active job went missing: {entry['name']}"
                self.event(cron_job, "Normal", "MissingJob", message)
                _drop(cron_job, entry["uid"])

    async def _expect_listed(self, cron_job: JsonObject, job: JsonObject) -> None:
        """A job runs and is not listed: the cache is behind, or we forgot it, or it is strange."""
        fresh = await self.client.get(CRONJOBS, name_of(cron_job), namespace=namespace_of(cron_job))
        if uid_of(job) in _active_uids(fresh):
            cron_job["status"] = fresh["status"]
            cron_job["metadata"]["resourceVersion"] = fresh["metadata"]["resourceVersion"]
            return
        message = f"Saw a job that the controller did not create or forgot: {name_of(job)}"
        self.event(cron_job, "Warning", "UnexpectedJob", message)

    def _note_success(self, cron_job: JsonObject, job: JsonObject) -> None:
        ended = (job.get("status") or {}).get("completionTime")
        if true_condition(job, "Complete") is None or not ended:
            return
        status = cron_job.setdefault("status", {})
        status["lastSuccessfulTime"] = max(ended, status.get("lastSuccessfulTime") or ended)

    async def _is_missing(self, entry: JsonObject) -> bool:
        try:
            await self.client.get(JOBS, entry["name"], namespace=entry.get("namespace"))
        except NotFoundError:
            return True
        return False

    async def _start(self, cron_job: JsonObject) -> float | None:
        """Start what is due; when to look again, if ever."""
        if is_deleting(cron_job):
            return None
        schedule = self._read_schedule(cron_job)
        if schedule is None:
            return None
        now = self.clock.now()
        try:
            due = find_due(cron_job, now, schedule, deadline=True)
        except CronError as error:
            message = f"invalid schedule: {cron_job['spec'].get('schedule')} : {error}"
            self.event(cron_job, "Warning", "InvalidSchedule", message)
            return None
        if due.latest is not None:
            if due.missed > MANY_MISSED:
                self.event(cron_job, "Warning", "TooManyMissedTimes", _TOO_MANY)
            if self._may_start(cron_job, due.latest, now):
                await self._replace(cron_job)
                await self._create(cron_job, due.latest)
        return next_wake(cron_job, now, schedule)

    def _read_schedule(self, cron_job: JsonObject) -> Schedule | None:
        """The schedule; None, with an event, when there is nothing to go by."""
        spec = cron_job["spec"]
        zone, text = spec.get("timeZone"), spec.get("schedule") or ""
        try:
            load_zone(zone or "")
        except CronError as error:
            message = f'invalid timeZone: "{zone}": {error}'
            self.event(cron_job, "Warning", "UnknownTimeZone", message)
            return None
        if spec.get("suspend"):
            return None
        if "TZ" in text:
            message = _ZONE_IN_SCHEDULE.format(schedule=f'"{text}"')
            self.event(cron_job, "Warning", "UnsupportedSchedule", message)
        try:
            return _schedule(cron_job)
        except CronError as error:
            message = f'unparseable schedule: "{text}" : {error}'
            self.event(cron_job, "Warning", "UnparseableSchedule", message)
            return None

    def _may_start(self, cron_job: JsonObject, at: float, now: float) -> bool:
        spec, status = cron_job["spec"], cron_job.get("status") or {}
        limit = spec.get("startingDeadlineSeconds")
        if limit is not None and at + float(limit) < now:
            shown = datetime.fromtimestamp(at, UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
            message = f"Missed scheduled time to start a job: {shown}"
            self.event(cron_job, "Warning", "MissSchedule", message)
            return False
        listed = {entry.get("name") for entry in _active(cron_job)}
        if job_name(cron_job, at) in listed or status.get("lastScheduleTime") == to_rfc3339(at):
            return False
        if spec.get("concurrencyPolicy") == "Forbid" and listed:
            self.event(cron_job, "Normal", "JobAlreadyActive", _STILL_RUNNING)
            return False
        return True

    async def _replace(self, cron_job: JsonObject) -> None:
        if cron_job["spec"].get("concurrencyPolicy") != "Replace":
            return
        for entry in [*_active(cron_job)]:
            try:
                job = await self.client.get(JOBS, entry["name"], namespace=entry.get("namespace"))
            except ApiError as error:
                self.event(cron_job, "Warning", "FailedGet", f"Get job: {error}")
                raise
            if not await self._delete_job(cron_job, job):
                raise ReplaceJobError(f"could not replace job {namespace_of(job)}/{name_of(job)}")

    async def _create(self, cron_job: JsonObject, at: float) -> None:
        wanted = new_job(cron_job, at)
        namespace = namespace_of(cron_job)
        try:
            job = await self.client.create(JOBS, wanted, namespace=namespace)
        except AlreadyExistsError:
            # Made before a crash, perhaps, and never listed; or somebody else's.
            job = await self.client.get(JOBS, name_of(wanted), namespace=namespace)
            if not is_controlled_by(job, cron_job) or uid_of(job) in _active_uids(cron_job):
                return
        except ApiError as error:
            if not is_ending_namespace(error):
                self.event(cron_job, "Warning", "FailedCreate", f"Error creating job: {error}")
            raise
        else:
            self.event(cron_job, "Normal", "SuccessfulCreate", f"Created job {name_of(job)}")
        status = cron_job.setdefault("status", {})
        status["active"] = [*_active(cron_job), to_reference(job)]
        status["lastScheduleTime"] = to_rfc3339(at)

    async def _delete_job(self, cron_job: JsonObject, job: JsonObject) -> bool:
        try:
            await self.client.delete(
                JOBS,
                name_of(job),
                namespace=namespace_of(job),
                options={"propagationPolicy": "Background"},
            )
        except NotFoundError:
            # Gone already: our own status was written, and seen, before what we deleted.
            _drop(cron_job, uid_of(job))
            return True
        except ApiError as error:
            self.event(cron_job, "Warning", "FailedDelete", f"Deleted job: {error}")
            return False
        _drop(cron_job, uid_of(job))
        self.event(cron_job, "Normal", "SuccessfulDelete", f"Deleted job {name_of(job)}")
        return True


def _schedule(cron_job: JsonObject) -> Schedule:
    spec = cron_job["spec"]
    return parse_schedule(spec.get("schedule") or "", spec.get("timeZone"))


def _timing(cron_job: JsonObject) -> tuple[str | None, str | None]:
    return cron_job["spec"].get("schedule"), cron_job["spec"].get("timeZone")


def _active(cron_job: JsonObject) -> list[JsonObject]:
    return (cron_job.get("status") or {}).get("active") or []


def _active_uids(cron_job: JsonObject) -> set[str]:
    return {entry.get("uid", "") for entry in _active(cron_job)}


def _drop(cron_job: JsonObject, uid: str) -> None:
    if _active(cron_job):
        left = [entry for entry in _active(cron_job) if entry.get("uid") != uid]
        cron_job["status"]["active"] = left
