"""The job's books: which ended pods are counted, which may lose their finalizer, and the status.

Order is what makes the count survive a crash: the uids are written into the status first, then the
finalizers are removed, then the counters are raised and the uids forgotten.
"""

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from winkube.api.meta import is_deleting, uid_of
from winkube.base.types import JsonObject
from winkube.controllers.job.plan import to_condition
from winkube.controllers.job.view import JobView, index_of, true_condition
from winkube.controllers.pods import phase_of

# Keeps the uids in a status below some 20 KB.
MAX_UNCOUNTED: Final = 500


@dataclass(frozen=True, slots=True)
class Tracking:
    """``end`` is the condition that finishes the job once nothing is left to count."""

    status: JsonObject
    release: tuple[JsonObject, ...] = ()
    tracked: frozenset[str] = frozenset()
    end: JsonObject | None = None


def plan_tracking(view: JobView, status: JsonObject, end: JsonObject | None) -> Tracking:
    """Take ended pods into the books; ``status`` is what the rest of the reconcile made of it."""
    tracked = frozenset(uid_of(pod) for pod in view.pods if view.is_new(pod))
    status = settle(status, tracked)
    books = _Books(view, status, end)
    ordered = sorted(view.pods, key=_by_index) if view.indexed else view.pods
    for pod in ordered:
        if not view.is_new(pod) or not _may_release(view, pod, end):
            continue
        books.enter(pod)
        if books.full:
            break
    if view.indexed:
        _write_indexes(view, status, books.new_indexes)
    status, final = _announce(view, status, end)
    return Tracking(status, tuple(books.release), tracked, None if books.full else final)


def _by_index(pod: JsonObject) -> int:
    index = index_of(pod)
    return -1 if index is None else index


class _Books:
    def __init__(self, view: JobView, status: JsonObject, end: JsonObject | None) -> None:
        self._view = view
        self._failing = end is not None and end["type"] != "SuccessCriteriaMet"
        # What we stopped because enough had succeeded did not succeed, however it ended.
        self._enough = end is not None and end.get("reason") == "SuccessPolicy"
        self._known_succeeded = view.uncounted("succeeded")
        self._known_failed = view.uncounted("failed")
        self._uncounted = status["uncountedTerminatedPods"]
        self.release: list[JsonObject] = []
        self.new_indexes: list[int] = []

    @property
    def full(self) -> bool:
        listed = sum(len(uids) for uids in self._uncounted.values())
        return len(self.new_indexes) + listed >= MAX_UNCOUNTED

    def enter(self, pod: JsonObject) -> None:
        self.release.append(pod)
        uid = uid_of(pod)
        if self._enough and is_deleting(pod):
            return
        if phase_of(pod) == "Succeeded" and uid not in self._known_failed:
            self._succeeded(pod, uid)
        elif self._failing or self._view.is_failed(pod):
            # When a job has failed, every pod it still had has, too.
            self._failed(pod, uid)

    def _succeeded(self, pod: JsonObject, uid: str) -> None:
        if not self._view.indexed:
            if uid not in self._known_succeeded:
                self._uncounted.setdefault("succeeded", []).append(uid)
            return
        index = index_of(pod)
        if index is None or not self._view.has_index(pod):
            return
        if index not in self._view.done_before:
            self.new_indexes.append(index)

    def _failed(self, pod: JsonObject, uid: str) -> None:
        view = self._view
        if uid in self._known_failed or (view.indexed and not view.has_index(pod)):
            return
        if view.verdict(pod).counts:
            self._uncounted.setdefault("failed", []).append(uid)


def _may_release(view: JobView, pod: JsonObject, end: JsonObject | None) -> bool:
    if is_deleting(view.job) or end is not None or phase_of(pod) == "Succeeded":
        return True
    if not view.is_failed(pod):
        return False
    # Its replacement has yet to inherit the count of failures.
    index = index_of(pod)
    awaiting = view.awaiting.get(index) if index is not None else None
    return awaiting is None or uid_of(awaiting) != uid_of(pod)


def _write_indexes(view: JobView, status: JsonObject, new: Iterable[int]) -> None:
    done = view.done.with_indexes(new)
    _set(status, "succeeded", len(done))
    _set(status, "completedIndexes", str(done))
    if view.failed_indexes is not None:
        status["failedIndexes"] = str(view.failed_indexes)


def _announce(
    view: JobView, status: JsonObject, end: JsonObject | None
) -> tuple[JsonObject, JsonObject | None]:
    """Say what the job is coming to, before it has come to it."""
    if end is None:
        return status, None
    kind = {"FailureTarget": "Failed", "SuccessCriteriaMet": "Complete"}.get(end["type"])
    if kind is None:
        return status, end
    if true_condition(view.job, end["type"]) is None:
        status = {**status, "conditions": [*(status.get("conditions") or ()), end]}
    return status, to_condition(kind, end["reason"], end["message"], view.now)


def settle(status: JsonObject, tracked: frozenset[str]) -> JsonObject:
    """Count the uids whose pods no longer bear the finalizer."""
    fresh = copy.deepcopy(status)
    uncounted = fresh.setdefault("uncountedTerminatedPods", {})
    for outcome in ("succeeded", "failed"):
        listed = uncounted.get(outcome) or []
        left = [uid for uid in listed if uid in tracked]
        if len(left) != len(listed):
            _set(fresh, outcome, int(fresh.get(outcome) or 0) + len(listed) - len(left))
        if left:
            uncounted[outcome] = left
        else:
            uncounted.pop(outcome, None)
    return fresh


def finish(status: JsonObject, end: JsonObject | None) -> JsonObject | None:
    """The status of the finished job; None while there is something to wait for."""
    if end is None or status.get("uncountedTerminatedPods") or status.get("terminating"):
        return None
    conditions = [*(status.get("conditions") or ()), end]
    finished = {**status, "conditions": conditions}
    if end["type"] == "Complete":
        finished["completionTime"] = end["lastTransitionTime"]
    return finished


def count_pods(status: JsonObject, active: int, ready: int, terminating: int) -> JsonObject:
    fresh = {**status, "ready": ready, "terminating": terminating}
    _set(fresh, "active", active)
    fresh.setdefault("uncountedTerminatedPods", {})
    return fresh


def _set(status: JsonObject, field: str, value: int | str) -> None:
    """Nothing is written as no field at all."""
    if value:
        status[field] = value
    else:
        status.pop(field, None)
