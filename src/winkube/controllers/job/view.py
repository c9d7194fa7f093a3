"""A job with its pods, and the numbers its controller decides by.

A pod that ended is counted once: while it bears the tracking finalizer it is new, its uid waits in
``status.uncountedTerminatedPods`` while the finalizer is being removed, and without the finalizer
it is part of the job's counters (kubernetes: KEP-2307).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from winkube.api.meta import find_condition, is_deleting, uid_of
from winkube.base.clock import parse_rfc3339
from winkube.base.types import JsonObject
from winkube.controllers.annotation import MAX_INT32, MAX_INT64, noted_number
from winkube.controllers.job.backoff import Failures, finished_at
from winkube.controllers.job.indexes import IndexSet
from winkube.controllers.job.policy import NO_RULE, Verdict, judge
from winkube.controllers.pods import is_active, is_finished, is_ready, phase_of

FINALIZER: Final = "batch.kubernetes.io/job-tracking"
INDEX: Final = "batch.kubernetes.io/job-completion-index"
FAILURE_COUNT: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED_COUNT: Final = "batch.kubernetes.io/job-index-ignored-failure-count"
CONTROLLER_NAME: Final = "kubernetes.io/job-controller"


def true_condition(job: JsonObject, type_: str) -> JsonObject | None:
    found = find_condition((job.get("status") or {}).get("conditions") or (), type_)
    return found if found is not None and found.get("status") == "True" else None


def finished_condition(job: JsonObject) -> JsonObject | None:
    return true_condition(job, "Complete") or true_condition(job, "Failed")


def is_ours(job: JsonObject) -> bool:
    """Jobs may be left to another controller."""
    return job["spec"].get("managedBy") in (None, CONTROLLER_NAME)


def is_tracked(pod: JsonObject) -> bool:
    return FINALIZER in (pod["metadata"].get("finalizers") or ())


def index_of(pod: JsonObject) -> int | None:
    return noted_number(pod, INDEX, most=MAX_INT64)


def indexes_of(pods: Iterable[JsonObject]) -> set[int]:
    return {index for index in map(index_of, pods) if index is not None}


def count_annotation(pod: JsonObject, name: str) -> int:
    return noted_number(pod, name, most=MAX_INT32) or 0


@dataclass(frozen=True)
class JobView:
    """``released`` are uids whose finalizer we removed while the cache still shows it."""

    job: JsonObject
    pods: Sequence[JsonObject]
    now: float
    released: frozenset[str] = frozenset()
    before: Failures = field(default=Failures())

    @property
    def spec(self) -> JsonObject:
        spec: JsonObject = self.job["spec"]
        return spec

    @property
    def status(self) -> JsonObject:
        status: JsonObject = self.job.get("status") or {}
        return status

    @property
    def indexed(self) -> bool:
        return bool(self.spec.get("completionMode") == "Indexed")

    @property
    def completions(self) -> int | None:
        value = self.spec.get("completions")
        return None if value is None else int(value)

    @property
    def suspended(self) -> bool:
        return bool(self.spec.get("suspend"))

    @property
    def per_index(self) -> int | None:
        value = self.spec.get("backoffLimitPerIndex")
        return None if value is None or not self.indexed else int(value)

    @property
    def replaces_failed_only(self) -> bool:
        return bool(self.spec.get("podReplacementPolicy") == "Failed")

    @property
    def start(self) -> float | None:
        """When the job was started, which may be now."""
        if self.status.get("startTime"):
            return parse_rfc3339(self.status["startTime"])
        return None if self.suspended else self.now

    @cached_property
    def active(self) -> list[JsonObject]:
        return [pod for pod in self.pods if is_active(pod)]

    @cached_property
    def ready(self) -> int:
        return sum(is_ready(pod) for pod in self.active)

    @cached_property
    def terminating(self) -> list[JsonObject]:
        return [pod for pod in self.pods if is_deleting(pod) and not is_finished(pod)]

    def uncounted(self, outcome: str) -> frozenset[str]:
        listed = self.status.get("uncountedTerminatedPods") or {}
        return frozenset(listed.get(outcome) or ())

    def is_failed(self, pod: JsonObject) -> bool:
        """A pod told to stop counts as failed, for it may never get to say so itself."""
        if phase_of(pod) == "Failed":
            return True
        if self.replaces_failed_only:
            return False
        return is_deleting(pod) and phase_of(pod) != "Succeeded"

    def verdict(self, pod: JsonObject) -> Verdict:
        policy = self.spec.get("podFailurePolicy")
        return NO_RULE if policy is None else judge(policy, pod)

    def has_index(self, pod: JsonObject) -> bool:
        index = index_of(pod)
        return index is not None and index < (self.completions or 0)

    def is_new(self, pod: JsonObject) -> bool:
        """Not looked at by an earlier reconcile."""
        return is_tracked(pod) and uid_of(pod) not in self.released

    @cached_property
    def new_succeeded(self) -> list[JsonObject]:
        known = self.uncounted("succeeded")
        return [pod for pod in self._countable(known) if phase_of(pod) == "Succeeded"]

    @cached_property
    def new_failed(self) -> list[JsonObject]:
        return [pod for pod in self._countable(self.uncounted("failed")) if self.is_failed(pod)]

    def _countable(self, known: frozenset[str]) -> list[JsonObject]:
        return [
            pod
            for pod in self.pods
            if self.is_new(pod)
            and uid_of(pod) not in known
            and (not self.indexed or self.has_index(pod))
        ]

    @cached_property
    def succeeded(self) -> int:
        if self.indexed:
            return len(self.done)
        new = len(self.new_succeeded) + len(self.uncounted("succeeded"))
        return int(self.status.get("succeeded") or 0) + new

    @cached_property
    def failed(self) -> int:
        new = sum(self.verdict(pod).counts for pod in self.new_failed)
        return int(self.status.get("failed") or 0) + new + len(self.uncounted("failed"))

    @cached_property
    def done_before(self) -> IndexSet:
        return IndexSet.parse(self.status.get("completedIndexes") or "", self.completions or 0)

    @cached_property
    def done(self) -> IndexSet:
        """The indexes that succeeded, with those of this moment."""
        return self.done_before.with_indexes(
            indexes_of(
                pod
                for pod in self.pods
                if phase_of(pod) == "Succeeded" and is_tracked(pod) and self.has_index(pod)
            )
        )

    @cached_property
    def failed_indexes(self) -> IndexSet | None:
        if self.per_index is None:
            return None
        known = IndexSet.parse(self.status.get("failedIndexes") or "", self.completions or 0)
        return known.with_indexes(
            indexes_of(
                pod
                for pod in self.pods
                if is_tracked(pod) and self.has_index(pod) and self._index_failed(pod)
            )
        )

    def _index_failed(self, pod: JsonObject) -> bool:
        if not self.is_failed(pod):
            return False
        verdict = self.verdict(pod)
        if verdict.action == "FailIndex":
            return True
        return verdict.counts and count_annotation(pod, FAILURE_COUNT) >= (self.per_index or 0)

    @cached_property
    def awaiting(self) -> dict[int, JsonObject]:
        """By index, the last failed pod whose replacement inherits its count of failures."""
        found: dict[int, JsonObject] = {}
        if self.per_index is None:
            return found
        busy = indexes_of(self.active)
        for pod in self._countable(frozenset()):
            index = index_of(pod)
            if index is None or not self.is_failed(pod) or index in busy:
                continue
            if index in self.done or index in (self.failed_indexes or IndexSet()):
                continue
            if index not in found or _attempt(found[index]) <= _attempt(pod):
                found[index] = pod
        return found

    @cached_property
    def failures(self) -> Failures:
        return self.before.after(self.new_succeeded, self.new_failed)


def attempts(pod: JsonObject) -> int:
    """How often its index had failed before, counted or not."""
    return count_annotation(pod, FAILURE_COUNT) + count_annotation(pod, IGNORED_COUNT)


def _attempt(pod: JsonObject) -> tuple[int, float]:
    return attempts(pod), finished_at(pod)
