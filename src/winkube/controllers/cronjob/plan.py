"""When a CronJob is due, which jobs are history, and the job made for a time.

All times are seconds since the epoch. Upstream: pkg/controller/cronjob/utils.go.
"""

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from winkube.api.cron import CronError, Schedule, load_zone
from winkube.api.meta import (
    annotations_of,
    labels_of,
    name_of,
    namespace_of,
    to_owner_reference,
    uid_of,
)
from winkube.base.clock import parse_rfc3339
from winkube.base.types import JsonObject
from winkube.controllers.job.view import true_condition

SCHEDULED_AT: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
MANY_MISSED: Final = 100
# Woken a little late rather than early: clocks are adjusted.
WAKE_DELAY: Final = 0.1


@dataclass(frozen=True, slots=True)
class Due:
    """``latest`` is the last time that has come since ``since``, if one has."""

    since: float
    latest: float | None = None
    missed: int = 0


def find_due(cron_job: JsonObject, now: float, schedule: Schedule, *, deadline: bool) -> Due:
    """What is due; with ``deadline``, times that are too late to start do not count."""
    since = parse_rfc3339(cron_job["metadata"]["creationTimestamp"])
    last = (cron_job.get("status") or {}).get("lastScheduleTime")
    if last:
        since = parse_rfc3339(last)
    limit = cron_job["spec"].get("startingDeadlineSeconds")
    if deadline and limit is not None:
        since = max(since, now - float(limit))
    first = schedule.next(since)
    second = schedule.next(first) if first is not None else None
    if first is None or second is None:
        raise CronError("time difference between two schedules is less than 1 second")
    if now < first:
        return Due(since)
    if now < second:
        return Due(since, first)
    period = round(second - first)
    missed = int(now - first) // period + 1
    # Near the end the times are looked at one by one: they need not be evenly spaced.
    latest: float | None = None
    moment = schedule.next(first + (missed - 2) * period)
    while moment is not None and moment <= now:
        latest = moment
        moment = schedule.next(moment)
    return Due(since, latest, missed)


def next_wake(cron_job: JsonObject, now: float, schedule: Schedule) -> float:
    """Seconds until the next time on the schedule."""
    try:
        due = find_due(cron_job, now, schedule, deadline=False)
    except CronError:
        base = now
    else:
        base = due.latest if due.latest is not None else (now if due.missed else due.since)
    following = schedule.next(base)
    return 0.0 if following is None else following + WAKE_DELAY - now


def job_name(cron_job: JsonObject, at: float) -> str:
    """The same for the same time, so that nothing is started twice."""
    return f"{name_of(cron_job)}-{int(at) // 60}"


def new_job(cron_job: JsonObject, at: float) -> JsonObject:
    template = cron_job["spec"]["jobTemplate"]
    zone = load_zone(cron_job["spec"].get("timeZone") or "")
    shown = datetime.fromtimestamp(int(at), zone).isoformat().replace("+00:00", "Z")
    metadata: JsonObject = {
        "name": job_name(cron_job, at),
        "namespace": namespace_of(cron_job),
        "annotations": {**annotations_of(template), SCHEDULED_AT: shown},
        "ownerReferences": [to_owner_reference(cron_job)],
    }
    if labels_of(template):
        metadata["labels"] = dict(labels_of(template))
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": copy.deepcopy(template.get("spec") or {}),
    }


def to_reference(job: JsonObject) -> JsonObject:
    return {
        "kind": "Job",
        "namespace": namespace_of(job),
        "name": name_of(job),
        "uid": uid_of(job),
        "apiVersion": "batch/v1",
        "resourceVersion": job["metadata"].get("resourceVersion", ""),
    }


def plan_history(cron_job: JsonObject, jobs: Iterable[JsonObject]) -> list[JsonObject]:
    """The finished jobs beyond the limits, oldest first."""
    surplus: list[JsonObject] = []
    listed = [*jobs]
    for condition, field in (
        ("Complete", "successfulJobsHistoryLimit"),
        ("Failed", "failedJobsHistoryLimit"),
    ):
        limit = cron_job["spec"].get(field)
        if limit is None:
            continue
        ended = sorted(
            (job for job in listed if true_condition(job, condition) is not None), key=_by_start
        )
        surplus += ended[: max(0, len(ended) - int(limit))]
    return surplus


def _by_start(job: JsonObject) -> tuple[bool, str, str]:
    start = (job.get("status") or {}).get("startTime") or ""
    return not start, start, name_of(job)
