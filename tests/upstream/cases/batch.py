"""Jobs and CronJobs: rules, defaults, what may change."""

from typing import Any

from tests.upstream.cases.workloads import case, changes, specs
from tests.upstream.exchange import MERGE, Step
from tests.upstream.objects import JOB_TEMPLATE, SAMPLE, Sample
from tests.upstream.variants import DRY

JOB, CRON_JOB = SAMPLE["Job"], SAMPLE["CronJob"]
INDEXED = {"completionMode": "Indexed", "completions": 5}


def failing(*rules: Any, **spec: Any) -> dict[str, Any]:
    return {"podFailurePolicy": {"rules": list(rules)}, **spec}


def exit_codes(**codes: Any) -> dict[str, Any]:
    return {"action": "FailJob", "onExitCodes": codes}


def succeeding(*rules: Any, **spec: Any) -> dict[str, Any]:
    return {**INDEXED, "successPolicy": {"rules": list(rules)}, **spec}


def long_named(sample: Sample) -> list[Step]:
    return [Step("POST", sample.path + DRY, {**sample.named(), "metadata": {"name": "x" * 53}})]


CASES = [
    case(
        "counts",
        specs(
            JOB,
            [
                {"parallelism": -1},
                {"parallelism": 0},
                {"completions": -1},
                {"completions": 3},
                {"backoffLimit": -1},
                {"activeDeadlineSeconds": -1},
                {"activeDeadlineSeconds": 0},
                {"ttlSecondsAfterFinished": -1},
                {"ttlSecondsAfterFinished": 0},
                {"suspend": True},
                {"completionMode": "Other"},
                {"completionMode": "Indexed"},
                INDEXED,
                {**INDEXED, "parallelism": 100001},
                {**INDEXED, "backoffLimitPerIndex": 1},
                {**INDEXED, "backoffLimitPerIndex": -1},
                {**INDEXED, "backoffLimitPerIndex": 1, "maxFailedIndexes": 6},
                {**INDEXED, "backoffLimitPerIndex": 1, "maxFailedIndexes": 2},
                {**INDEXED, "maxFailedIndexes": 2},
                {"backoffLimitPerIndex": 1},
                {"maxFailedIndexes": 1},
                {"podReplacementPolicy": "Failed"},
                {"podReplacementPolicy": "Other"},
                {"managedBy": "example.com/c"},
                {"managedBy": "plain"},
                {"managedBy": "kubernetes.io/job-controller"},
                {"managedBy": "x" * 64 + "/y"},
            ],
        ),
    ),
    case(
        "templates and selectors",
        specs(
            JOB,
            [
                {"template": ...},
                {"template": {"spec": {"restartPolicy": ...}}},
                {"template": {"spec": {"restartPolicy": "Always"}}},
                {"template": {"spec": {"restartPolicy": "OnFailure"}}},
                {"template": {"spec": {"restartPolicy": "Other"}}},
                {"template": {"metadata": {"labels": {"a": "b"}}}},
                {"manualSelector": True},
                {"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}},
                {
                    "manualSelector": True,
                    "selector": {"matchLabels": {"a": "b"}},
                    "template": {"metadata": {"labels": {"a": "b"}}},
                },
            ],
        ),
    ),
    case(
        "failure policies",
        specs(
            JOB,
            [
                failing(),
                failing(exit_codes(operator="In", values=[1, 2])),
                failing(exit_codes(operator="In", values=[2, 1])),
                failing(exit_codes(operator="In", values=[0])),
                failing(exit_codes(operator="In", values=[1, 1])),
                failing(exit_codes(operator="In", values=[])),
                failing(exit_codes(operator="Other", values=[1])),
                failing(exit_codes(values=[1])),
                failing(exit_codes(operator="NotIn", values=[0], containerName="c")),
                failing(exit_codes(operator="In", values=[1], containerName="none")),
                failing({"action": "Other", "onPodConditions": [{"type": "A"}]}),
                failing({"onPodConditions": [{"type": "A"}]}),
                failing({"action": "Ignore", "onPodConditions": [{"type": "A b", "status": "x"}]}),
                failing({"action": "Count"}),
                failing(
                    {**exit_codes(operator="In", values=[1]), "onPodConditions": [{"type": "A"}]}
                ),
                failing({"action": "FailIndex", "onPodConditions": [{"type": "A"}]}),
                failing(
                    {"action": "FailIndex", "onPodConditions": [{"type": "A"}]},
                    **INDEXED,
                    backoffLimitPerIndex=1,
                ),
                failing(
                    exit_codes(operator="In", values=[1]),
                    template={"spec": {"restartPolicy": "OnFailure"}},
                ),
                failing(
                    exit_codes(operator="In", values=[1]),
                    podReplacementPolicy="TerminatingOrFailed",
                ),
                failing(*[exit_codes(operator="In", values=[1])] * 21),
            ],
        ),
    ),
    case(
        "success policies",
        specs(
            JOB,
            [
                {"successPolicy": {"rules": [{"succeededCount": 1}]}},
                succeeding(),
                succeeding({}),
                succeeding({"succeededCount": 1}),
                succeeding({"succeededCount": 6}),
                succeeding({"succeededCount": -1}),
                succeeding({"succeededIndexes": "0-2,4"}),
                succeeding({"succeededIndexes": "2-0"}),
                succeeding({"succeededIndexes": "x"}),
                succeeding({"succeededIndexes": "7"}),
                succeeding({"succeededIndexes": "0-1-2"}),
                succeeding({"succeededIndexes": "2,1"}),
                succeeding({"succeededIndexes": ""}),
                succeeding({"succeededIndexes": "0-1", "succeededCount": 3}),
                succeeding(*[{"succeededCount": 1}] * 21),
            ],
        ),
    ),
    case(
        "what of a Job may change",
        changes(
            JOB,
            [
                {"spec": {"parallelism": 5}},
                {"spec": {"completions": 5}},
                {"spec": {"backoffLimit": 5}},
                {"spec": {"suspend": True}},
                {"spec": {"completionMode": "Indexed"}},
                {"spec": {"podReplacementPolicy": "Failed"}},
                {"spec": {"managedBy": "a.b/c"}},
                {"spec": {"activeDeadlineSeconds": 9}},
                {"spec": {"ttlSecondsAfterFinished": 9}},
                {"spec": {"parallelism": -5}},
            ],
        ),
    ),
    case(
        "an indexed Job grows",
        [
            Step(
                "POST",
                JOB.path,
                {**JOB.named(), "spec": {"template": JOB_TEMPLATE, **INDEXED, "parallelism": 5}},
            ),
            Step("PATCH", JOB.item + DRY, {"spec": {"completions": 6}}, MERGE),
            Step("PATCH", JOB.item + DRY, {"spec": {"completions": 6, "parallelism": 6}}, MERGE),
            Step("PATCH", JOB.item + DRY, {"spec": {"completions": None}}, MERGE),
        ],
    ),
    case(
        "schedules",
        specs(
            CRON_JOB,
            [
                {"schedule": text}
                for text in (
                    "",
                    "x",
                    "* * * *",
                    "* * * * * *",
                    "60 * * * *",
                    "* 24 * * *",
                    "* * 0 * *",
                    "* * 32 * *",
                    "* * * 13 *",
                    "* * * * 8",
                    "*/0 * * * *",
                    "5-1 * * * *",
                    "a * * * *",
                    "1,2,x * * * *",
                    "@hourly",
                    "@nothing",
                    "@every 5m",
                    "@every x",
                    "TZ=UTC * * * * *",
                    "CRON_TZ=UTC 5 * * * *",
                    "0 0 1 jan mon",
                    "? * * * *",
                )
            ],
        ),
    ),
    case(
        "what a CronJob adds",
        specs(
            CRON_JOB,
            [
                {"timeZone": "Europe/Berlin"},
                {"timeZone": "Nowhere/Land"},
                {"timeZone": ""},
                {"timeZone": "Local"},
                {"timeZone": "local"},
                {"timeZone": "/etc/x"},
                {"concurrencyPolicy": "Forbid"},
                {"concurrencyPolicy": "Other"},
                {"startingDeadlineSeconds": -1},
                {"successfulJobsHistoryLimit": -1, "failedJobsHistoryLimit": -1},
                {"successfulJobsHistoryLimit": 0},
                {"suspend": True},
                {"jobTemplate": ...},
                {"jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Always"}}}}},
                {"jobTemplate": {"spec": {"parallelism": -1, "ttlSecondsAfterFinished": -1}}},
                {"jobTemplate": {"spec": {"manualSelector": True}}},
                {"jobTemplate": {"spec": {"selector": {"matchLabels": {"a": "b"}}}}},
                {"jobTemplate": {"metadata": {"labels": {"-": "x"}}}},
            ],
        )
        + long_named(CRON_JOB),
    ),
    case(
        "what of a CronJob may change",
        changes(
            CRON_JOB,
            [
                {"spec": {"schedule": "1 * * * *"}},
                {"spec": {"schedule": "x"}},
                {"spec": {"timeZone": "Nowhere/Land"}},
                {"spec": {"jobTemplate": {"spec": {"parallelism": 4}}}},
                {"spec": {"concurrencyPolicy": "Replace"}},
            ],
        ),
    ),
]
