"""The pods of a job."""

from typing import Final

from winkube.api.meta import name_of
from winkube.base.types import JsonObject
from winkube.controllers.job.view import (
    FAILURE_COUNT,
    FINALIZER,
    IGNORED_COUNT,
    INDEX,
    JobView,
    count_annotation,
)
from winkube.controllers.pods import pod_from_template

INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
# What leaves room for the random part of a generated name.
_LONGEST_PREFIX: Final = 58


def job_pod(view: JobView, index: int | None) -> JsonObject:
    job = view.job
    pod = pod_from_template(job["spec"]["template"], job, f"{name_of(job)}-")
    metadata = pod["metadata"]
    finalizers = metadata.setdefault("finalizers", [])
    if FINALIZER not in finalizers:
        finalizers.append(FINALIZER)
    if index is None:
        return pod
    suffix = f"-{index}-"
    metadata["generateName"] = name_of(job)[: _LONGEST_PREFIX - len(suffix)] + suffix
    metadata.setdefault("labels", {})[INDEX] = str(index)
    metadata.setdefault("annotations", {})[INDEX] = str(index)
    if view.per_index is not None:
        metadata["annotations"] |= _failure_counts(view, view.awaiting.get(index))
    spec = pod["spec"]
    spec["hostname"] = f"{name_of(job)}-{index}"
    for kind in ("initContainers", "containers"):
        if spec.get(kind):
            spec[kind] = [_told_index(container) for container in spec[kind]]
    return pod


def _failure_counts(view: JobView, replaced: JsonObject | None) -> dict[str, str]:
    counted = ignored = 0
    if replaced is not None:
        counted = count_annotation(replaced, FAILURE_COUNT)
        ignored = count_annotation(replaced, IGNORED_COUNT)
        if view.verdict(replaced).counts:
            counted += 1
        else:
            ignored += 1
    found = {FAILURE_COUNT: str(counted)}
    return {**found, IGNORED_COUNT: str(ignored)} if ignored else found


def _told_index(container: JsonObject) -> JsonObject:
    variables = container.get("env") or []
    if any(each.get("name") == INDEX_VARIABLE for each in variables):
        return container
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    return {**container, "env": [*variables, {"name": INDEX_VARIABLE, "valueFrom": source}]}
