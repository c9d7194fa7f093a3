"""What the status of a job may say, and how it may change (upstream: pkg/apis/batch/validation).

Most rules are about what a write changes: what was wrong before does not stop other reports.
"""

from dataclasses import dataclass
from typing import Any, Final

from winkube.api.validation.common import check_nonnegative
from winkube.api.validation.problems import Problems
from winkube.api.validation.workload.job_index import indexes_fault, overlap_fault
from winkube.base.types import JsonObject

_COUNTS: Final = ("active", "succeeded", "failed", "ready", "terminating")
_CONDITIONS: Final = "status.conditions"


@dataclass(frozen=True, slots=True)
class _Report:
    """Two states of a job's status, and its spec."""

    spec: JsonObject
    new: JsonObject
    old: JsonObject

    def changed(self, *fields: str) -> bool:
        return any(self.new.get(field) != self.old.get(field) for field in fields)

    def count_changed(self, field: str) -> bool:
        return (self.new.get(field) or 0) != (self.old.get(field) or 0)

    def flipped(self, *kinds: str) -> bool:
        return any(_holds(self.new, kind) != _holds(self.old, kind) for kind in kinds)

    @property
    def finished(self) -> bool:
        return _finished(self.new)

    @property
    def finish_changed(self) -> bool:
        return _finished(self.new) != _finished(self.old)


def validate_job_status(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    status = new.get("status") or {}
    for field in _COUNTS:
        check_nonnegative(status.get(field), f"status.{field}", problems)
    report = _Report(new.get("spec") or {}, status, old.get("status") or {})
    _check_uncounted(status.get("uncountedTerminatedPods") or {}, problems)
    _check_ends(report, problems)
    _check_end_times(report, problems)
    _check_end_reasons(report, problems)
    _check_finished(report, problems)
    _check_indexes(report, problems)
    _check_running(report, problems)
    _check_success(report, problems)
    _check_changes(report, problems)


def _holds(status: JsonObject, kind: str) -> bool:
    return any(
        condition.get("type") == kind and condition.get("status") == "True"
        for condition in status.get("conditions") or ()
    )


def _finished(status: JsonObject) -> bool:
    return _holds(status, "Complete") or _holds(status, "Failed")


def _check_uncounted(pods: JsonObject, problems: Problems) -> None:
    seen = set()
    for field in ("succeeded", "failed"):
        for index, uid in enumerate(pods.get(field) or ()):
            path = f"status.uncountedTerminatedPods.{field}[{index}]"
            if not uid:
                problems.invalid(path, uid, "must not be empty")
            elif uid in seen:
                problems.duplicate(path, uid)
            seen.add(uid)


def _check_ends(report: _Report, problems: Problems) -> None:
    status = report.new
    complete = _holds(status, "Complete")
    if report.flipped("Complete", "Failed") and complete and _holds(status, "Failed"):
        problems.malformed(_CONDITIONS, "cannot set Complete=True and Failed=true conditions")
    if report.flipped("Complete", "FailureTarget") and complete and _holds(status, "FailureTarget"):
        text = "cannot set Complete=True and FailureTarget=true conditions"
        problems.malformed(_CONDITIONS, text)


def _check_end_times(report: _Report, problems: Problems) -> None:
    status, path = report.new, "status.completionTime"
    complete, started, ended = (
        _holds(status, "Complete"),
        status.get("startTime"),
        status.get("completionTime"),
    )
    if report.flipped("Complete") or report.changed("completionTime"):
        if ended and not complete:
            text = "cannot set completionTime when there is no Complete=True condition"
            problems.invalid(path, ended, text)
        if complete and not ended:
            problems.required(path, "completionTime is required for Complete jobs")
    if report.changed("startTime", "completionTime") and started and ended and ended < started:
        problems.invalid(path, ended, "must be equal to or after `startTime`")


def _check_end_reasons(report: _Report, problems: Problems) -> None:
    status = report.new
    if (report.flipped("Failed") or report.changed("failedIndexes")) and (
        _holds(status, "Failed") and not _holds(status, "FailureTarget")
    ):
        text = "cannot set Failed=True condition without the FailureTarget=true condition"
        problems.malformed(_CONDITIONS, text)
    if report.flipped("Complete", "SuccessCriteriaMet") and (
        _holds(status, "Complete") and not _holds(status, "SuccessCriteriaMet")
    ):
        text = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        problems.malformed(_CONDITIONS, text)


def _check_finished(report: _Report, problems: Problems) -> None:
    if not report.finished:
        return
    status, spec = report.new, report.spec
    active = status.get("active") or 0
    if (report.finish_changed or report.count_changed("active")) and active > 0:
        problems.invalid("status.active", active, "active>0 is invalid for finished job")
    idle = spec.get("suspend") is True and spec.get("completions") == 0
    started = report.finish_changed or report.changed("startTime")
    if started and not idle and not status.get("startTime"):
        problems.required("status.startTime", "startTime is required for finished job")
    uncounted = status.get("uncountedTerminatedPods") or {}
    if (report.finish_changed or report.changed("uncountedTerminatedPods")) and any(
        uncounted.values()
    ):
        shown = {word: uncounted.get(word.lower()) for word in ("Succeeded", "Failed")}
        path = "status.uncountedTerminatedPods"
        problems.invalid(path, shown, "must be empty for finished job")


def _check_indexes(report: _Report, problems: Problems) -> None:
    spec, status = report.spec, report.new
    completed, failed = status.get("completedIndexes") or "", status.get("failedIndexes")
    completions, per_index = spec.get("completions"), spec.get("backoffLimitPerIndex")
    new_completed = completed != (report.old.get("completedIndexes") or "")
    new_failed = report.changed("failedIndexes")
    if new_completed and completions is not None:
        _refuse("completedIndexes", completed, indexes_fault(completed, completions), problems)
    if new_failed and failed is not None and completions is not None and per_index is not None:
        _refuse("failedIndexes", failed, indexes_fault(failed, completions), problems)
    if new_completed and completed and spec.get("completionMode") != "Indexed":
        text = "cannot set non-empty completedIndexes when non-indexed completion mode"
        problems.invalid("status.completedIndexes", completed, text)
    if new_failed and per_index is None and failed is not None:
        text = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        problems.invalid("status.failedIndexes", failed, text)
    if (new_failed or new_completed) and completions is not None and failed is not None:
        fault = overlap_fault(completed, failed, completions)
        if fault:
            problems.invalid("status.failedIndexes", failed, fault)


def _refuse(field: str, value: Any, fault: str, problems: Problems) -> None:
    if fault:
        problems.invalid(f"status.{field}", value, f"error parsing {field}: {fault}")


def _check_running(report: _Report, problems: Problems) -> None:
    status = report.new
    terminating, ready = status.get("terminating"), status.get("ready")
    if (report.finish_changed or report.changed("terminating")) and (
        report.finished and (terminating or 0) > 0
    ):
        text = "terminating>0 is invalid for finished job"
        problems.invalid("status.terminating", terminating, text)
    if (report.changed("ready") or report.count_changed("active")) and (
        ready is not None and ready > (status.get("active") or 0)
    ):
        problems.invalid("status.ready", ready, "cannot set more ready pods than active")


def _check_success(report: _Report, problems: Problems) -> None:
    status = report.new
    if _holds(status, "SuccessCriteriaMet"):
        for kind in ("Failed", "FailureTarget"):
            if _holds(status, kind):
                text = f"cannot set SuccessCriteriaMet=True and {kind}=true conditions"
                problems.malformed(_CONDITIONS, text)
    elif report.spec.get("successPolicy") is not None and _holds(status, "Complete"):
        text = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        problems.malformed(_CONDITIONS, text)


def _check_changes(report: _Report, problems: Problems) -> None:
    status, before, spec = report.new, report.old, report.spec
    for kind in ("Failed", "Complete", "FailureTarget"):
        if _holds(before, kind) and not _holds(status, kind):
            text = f"cannot disable the terminal {kind}=True condition"
            problems.malformed(_CONDITIONS, text)
    _check_counters(report, problems)
    ended = status.get("completionTime")
    if ended and before.get("completionTime") and report.changed("completionTime"):
        problems.invalid("status.completionTime", ended, "field is immutable")
    if before.get("startTime") and report.changed("startTime") and not spec.get("suspend"):
        text = "startTime cannot be removed for unsuspended job"
        problems.required("status.startTime", text)
    met, was_met = _holds(status, "SuccessCriteriaMet"), _holds(before, "SuccessCriteriaMet")
    if was_met and not met:
        text = "cannot disable the SuccessCriteriaMet=True condition"
        problems.malformed(_CONDITIONS, text)
    if met and not was_met and _holds(before, "Complete"):
        text = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        problems.malformed(_CONDITIONS, text)


def _check_counters(report: _Report, problems: Problems) -> None:
    spec = report.spec
    # A job with as many pods at a time as in all can be made smaller.
    shrinks = spec.get("completionMode") == "Indexed" and (
        spec.get("completions") == spec.get("parallelism")
    )
    for field in ("failed",) if shrinks else ("failed", "succeeded"):
        count = report.new.get(field) or 0
        if count < (report.old.get(field) or 0):
            problems.invalid(f"status.{field}", count, f"cannot decrease the {field} counter")
