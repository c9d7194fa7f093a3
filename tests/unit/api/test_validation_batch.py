from typing import Any

import pytest

from winkube.api.kinds import KINDS, Kind
from winkube.api.validation import validate_create, validate_update
from winkube.base.types import JsonObject


def kind(name: str) -> Kind:
    found = KINDS.by_gvk("batch", "v1", name)
    assert found is not None
    return found


def job(**spec: Any) -> JsonObject:
    labels = {
        f"{prefix}{name}": value
        for prefix in ("", "batch.kubernetes.io/")
        for name, value in (("controller-uid", "u"), ("job-name", "j"))
    }
    container = {
        "name": "c", "image": "i", "imagePullPolicy": "Always",
        "terminationMessagePath": "/dev/x", "terminationMessagePolicy": "File",
    }  # fmt: skip
    pod = {"containers": [container], "restartPolicy": "Never", "dnsPolicy": "ClusterFirst"}
    body = {
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}},
        "completions": 3,
        "parallelism": 1,
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    return {"metadata": {"name": "j", "namespace": "default", "uid": "u"}, "spec": {**body, **spec}}


def cron_job(**spec: Any) -> JsonObject:
    body = {
        "schedule": "* * * * *",
        "concurrencyPolicy": "Allow",
        "jobTemplate": {"spec": {"template": job()["spec"]["template"]}},
    }
    return {"metadata": {"name": "c", "namespace": "default"}, "spec": {**body, **spec}}


def found(kind_name: str, obj: JsonObject) -> list[str]:
    causes = validate_create(kind(kind_name), obj)
    return [f"{cause.field}: {cause.message}" for cause in causes]


def rule(**fields: Any) -> JsonObject:
    return {"podFailurePolicy": {"rules": [fields]}}


INDEXED = {"completionMode": "Indexed"}
CODES = {"operator": "In", "values": [1]}


def test_good_jobs_are_accepted() -> None:
    assert found("Job", job()) == []
    assert found("CronJob", cron_job(timeZone="Asia/Shanghai")) == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"backoffLimitPerIndex": 1},
            "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
        ),
        (
            {**INDEXED, "maxFailedIndexes": 1},
            "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
        ),
        (
            {"podReplacementPolicy": "x"},
            'spec.podReplacementPolicy: Unsupported value: "x": supported values: "Failed", '
            '"TerminatingOrFailed"',
        ),
        (
            rule(action="FailIndex", onExitCodes=CODES),
            'spec.podFailurePolicy.rules[0].action: Invalid value: "FailIndex": requires the '
            "backoffLimitPerIndex to be set",
        ),
        (
            rule(action="FailJob"),
            "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and "
            "OnPodConditions is required",
        ),
        (
            rule(action="FailJob", onExitCodes={"operator": "In", "values": [2, 1]}),
            "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,1]: must be "
            "ordered",
        ),
        (
            {**INDEXED, "successPolicy": {"rules": [{"succeededIndexes": "1-7"}]}},
            'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "1-7": error parsing '
            'succeededIndexes: too large index: "7"',
        ),
        (
            {**INDEXED, "successPolicy": {"rules": [{"succeededCount": 4}]}},
            "spec.successPolicy.rules[0].succeededCount: Invalid value: 4: must be less than or "
            "equal to 3 (the number of specified completions)",
        ),
    ],
)
def test_job_is_refused(spec: JsonObject, expected: str) -> None:
    assert found("Job", job(**spec)) == [expected]


def test_labels_that_are_not_the_generated_ones_are_refused() -> None:
    bad = job()
    bad["spec"]["template"]["metadata"]["labels"]["job-name"] = "k"
    (problem,) = found("Job", bad)
    assert problem.startswith("spec.template.metadata.labels[job-name]: Invalid value: {")
    assert problem.endswith("must be 'j'")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"schedule": "61 * * * *"},
            'spec.schedule: Invalid value: "61 * * * *": end of range (61) above maximum (59): 61',
        ),
        (
            {"timeZone": "Mars/Base"},
            'spec.timeZone: Invalid value: "Mars/Base": unknown time zone Mars/Base',
        ),
        (
            {"schedule": "TZ=UTC * * * * *"},
            'spec.schedule: Invalid value: "TZ=UTC * * * * *": cannot use TZ or CRON_TZ in '
            "schedule, use timeZone field instead",
        ),
    ],
)
def test_cron_job_is_refused(spec: JsonObject, expected: str) -> None:
    assert found("CronJob", cron_job(**spec)) == [expected]


def test_indexed_job_grows_with_its_parallelism_only() -> None:
    old = job(**INDEXED)
    assert validate_update(kind("Job"), job(**INDEXED, completions=5, parallelism=5), old) == []
    (cause,) = validate_update(kind("Job"), job(**INDEXED, completions=5), old)
    assert cause.message.endswith("can only be modified in tandem with spec.parallelism")
