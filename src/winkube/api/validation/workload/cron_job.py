"""CronJobs (upstream: pkg/apis/batch/validation)."""

import re
from typing import Final

from winkube.api.cron import CronError, load_zone, parse_schedule
from winkube.api.meta import name_of
from winkube.api.validation.common import check_nonnegative, check_one_of
from winkube.api.validation.problems import Problems
from winkube.api.validation.workload.batch import check_job_spec
from winkube.base.types import JsonObject

_ZONE_PART: Final = re.compile(r"[A-Za-z._0-9+][A-Za-z._0-9+-]{0,13}")


def validate_cron_job(obj: JsonObject, problems: Problems) -> None:
    spec, name = obj.get("spec") or {}, name_of(obj)
    # Its jobs append 11 characters, and a job's name is a label value.
    if len(name) > 52:
        problems.invalid("metadata.name", name, "must be no more than 52 characters")
    _check_schedule(spec.get("schedule") or "", problems)
    check_nonnegative(spec.get("startingDeadlineSeconds"), "spec.startingDeadlineSeconds", problems)
    _check_zone(spec.get("timeZone"), problems)
    policies = ("Allow", "Forbid", "Replace")
    check_one_of(spec.get("concurrencyPolicy"), policies, "spec.concurrencyPolicy", problems)
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    check_job_spec(job, "spec.jobTemplate.spec", problems)
    if job.get("manualSelector"):
        path = "spec.jobTemplate.spec.manualSelector"
        problems.unsupported(path, True, ("nil", "false"))
    if job.get("selector") is not None:
        path = "spec.jobTemplate.spec.selector"
        problems.invalid(path, job["selector"], "`selector` will be auto-generated")
    for field in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        check_nonnegative(spec.get(field), f"spec.{field}", problems)


def _check_schedule(schedule: str, problems: Problems) -> None:
    if not schedule:
        problems.required("spec.schedule")
        return
    try:
        parse_schedule(schedule)
    except CronError as error:
        problems.invalid("spec.schedule", schedule, str(error))
    if "TZ" in schedule:
        text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        problems.invalid("spec.schedule", schedule, text)


def _check_zone(zone: str | None, problems: Problems) -> None:
    if zone is None:
        return
    path = "spec.timeZone"
    if not zone:
        problems.invalid_enum(path, zone, "timeZone must be nil or non-empty string")
        return
    for part in zone.split("/"):
        if part in (".", "..") or not _ZONE_PART.fullmatch(part):
            problems.invalid_enum(path, zone, f"unknown time zone {zone}")
            return
    if zone.lower() == "local":
        text = (
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        )
        problems.invalid_enum(path, zone, text)
        if zone == "Local":
            return
    try:
        load_zone(zone)
    except CronError as error:
        problems.invalid_enum(path, zone, str(error))
