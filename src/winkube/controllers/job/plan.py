"""What a job's pods call for: pods to create or delete, and the condition that ends the job."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.controllers.job.backoff import Failures, finished_at
from winkube.controllers.job.indexes import IndexSet
from winkube.controllers.job.policy import match_success
from winkube.controllers.job.view import JobView, attempts, index_of, indexes_of, true_condition
from winkube.controllers.pods import phase_of
from winkube.controllers.victim import least_advanced_first

BURST: Final = 500


@dataclass(frozen=True, slots=True)
class JobPlan:
    """``indexes`` has one entry per pod to create in an indexed job; ``wait`` is the back-off."""

    create: int = 0
    indexes: tuple[int, ...] = ()
    delete: tuple[JsonObject, ...] = ()
    wait: float = 0.0


def plan_pods(view: JobView) -> JobPlan:
    """Deleting comes first: a reconcile does either, never both."""
    active = len(view.active)
    if view.suspended:
        return JobPlan(delete=_to_delete(view, active))
    wanted = _wanted(view)
    surplus = _to_delete(view, max(0, active - wanted))[:BURST]
    if surplus:
        return JobPlan(delete=surplus)
    leaving = len(view.terminating) if view.replaces_failed_only else 0
    missing = wanted - leaving - active
    if missing <= 0:
        return JobPlan()
    wait = 0.0 if view.per_index is not None else view.failures.remaining(view.now)
    if wait > 0:
        return JobPlan(wait=wait)
    missing = min(missing, BURST)
    if not view.indexed:
        return JobPlan(create=missing)
    return _plan_indexes(view, missing)


def _wanted(view: JobView) -> int:
    parallelism = int(view.spec.get("parallelism", 1))
    if view.completions is None:
        # A work queue: after the first success those that run may finish, none is added.
        return len(view.active) if view.succeeded else parallelism
    return max(0, min(parallelism, view.completions - view.succeeded))


def _plan_indexes(view: JobView, missing: int) -> JobPlan:
    taken = view.done.with_indexes(indexes_of(view.active))
    if view.replaces_failed_only:
        taken = taken.with_indexes(indexes_of(view.terminating))
    if view.failed_indexes is not None:
        taken = taken.merged(view.failed_indexes)
    free = [*itertools.islice(taken.missing(view.completions or 0), missing)]
    waits = {index: _index_wait(view, index) for index in free}
    now = tuple(index for index in free if not waits[index])
    if free and not now:
        return JobPlan(wait=min(waits.values()))
    return JobPlan(create=len(now), indexes=now)


def _index_wait(view: JobView, index: int) -> float:
    last = view.awaiting.get(index)
    if last is None:
        return 0.0
    return Failures(attempts(last) + 1, finished_at(last)).remaining(view.now)


def _to_delete(view: JobView, at_least: int) -> tuple[JsonObject, ...]:
    """Pods without an index of their own, then the least advanced."""
    if not at_least and not view.indexed:
        return ()
    ordered = least_advanced_first(view.active)
    if not view.indexed:
        return tuple(ordered[:at_least])
    kept: dict[int, JsonObject] = {}
    removed: list[JsonObject] = []
    for pod in ordered:
        index = index_of(pod)
        if index is None or not view.has_index(pod):
            removed.append(pod)
            continue
        if index in kept:
            removed.append(kept[index])
        kept[index] = pod
    left = (
        [pod for pod in ordered if any(pod is each for each in kept.values())]
        if removed
        else ordered
    )
    return (*removed, *left[: max(0, at_least - len(removed))])


def to_condition(
    type_: str, reason: str, message: str, now: float, status: str = "True"
) -> JsonObject:
    at = to_rfc3339(now)
    return {
        "type": type_,
        "status": status,
        "lastProbeTime": at,
        "lastTransitionTime": at,
        "reason": reason,
        "message": message,
    }


def plan_end(view: JobView) -> JsonObject | None:
    """The condition that ends the job before its completions are reached.

    What an earlier reconcile decided stands; then failure is looked for, then a success policy.
    """
    met = true_condition(view.job, "SuccessCriteriaMet")
    if met is not None:
        return met
    target = true_condition(view.job, "FailureTarget")
    if target is not None:
        return to_condition("Failed", target["reason"], target["message"], view.now)
    found = _failure(view) or (_index_failure(view) if view.per_index is not None else None)
    if found is not None:
        return to_condition("FailureTarget", *found, view.now)
    if not view.indexed:
        return None
    message = match_success(view.spec.get("successPolicy"), view.completions or 0, view.done)
    if message is None:
        return None
    return to_condition("SuccessCriteriaMet", "SuccessPolicy", message, view.now)


def _failure(view: JobView) -> tuple[str, str] | None:
    if view.spec.get("podFailurePolicy") is not None:
        for pod in view.pods:
            message = view.verdict(pod).message if view.is_failed(pod) else ""
            if message:
                return "PodFailurePolicy", message
    limit = int(view.spec.get("backoffLimit", 6))
    if view.failed > limit or _past_restarts(view, limit):
        return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    left = deadline_in(view)
    if left is not None and left <= 0:
        return "DeadlineExceeded", "Job was active longer than specified deadline"
    return None


def deadline_in(view: JobView) -> float | None:
    """Seconds until the job has run for too long; None without such a limit."""
    limit = view.spec.get("activeDeadlineSeconds")
    if limit is None or view.suspended or view.start is None:
        return None
    return view.start + float(limit) - view.now


def _past_restarts(view: JobView, limit: int) -> bool:
    """Containers that are started again in their pod count as tries, too."""
    if (view.spec["template"].get("spec") or {}).get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(
        int(status.get("restartCount") or 0)
        for pod in view.pods
        if phase_of(pod) in ("Running", "Pending")
        for status in _container_statuses(pod)
    )
    return restarts >= max(1, limit)


def _container_statuses(pod: JsonObject) -> Iterable[JsonObject]:
    status = pod.get("status") or {}
    yield from status.get("initContainerStatuses") or ()
    yield from status.get("containerStatuses") or ()


def _index_failure(view: JobView) -> tuple[str, str] | None:
    failed = len(view.failed_indexes or IndexSet())
    limit = view.spec.get("maxFailedIndexes")
    if limit is not None and failed > limit:
        return (
            "MaxFailedIndexesExceeded",
            "Job has exceeded the specified maximal number of failed indexes",
        )
    if failed and failed + len(view.done) >= (view.completions or 0):
        return "FailedIndexes", "Job has failed indexes"
    return None


def is_complete(view: JobView, active: int) -> bool:
    if active:
        return False
    if view.completions is None:
        return view.succeeded > 0
    return view.succeeded >= view.completions
