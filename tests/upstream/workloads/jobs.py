"""Jobs and CronJobs: completions, indexes, limits, policies, deadlines, suspension, schedules."""

from typing import Any

from tests.upstream.scenario import Scenario, Step
from tests.upstream.steps import change, count, each, gone, look, make, pause, remove, until
from tests.upstream.workloads.shapes import (
    FAILING,
    condition,
    job,
    job_over,
    notes,
)

Json = Any
OVER = until("Job", "web", job_over)


def early_job(rule: Json, **exits: str) -> Json:
    """Three pods that would run for long, but for those that ``exits`` names."""
    return job(
        completions=3,
        parallelism=3,
        completionMode="Indexed",
        notes={"exit": "after=100,code=0", "stop": "after=20,code=143", **exits},
        successPolicy={"rules": [rule]},
    )


def lingering_job(**spec: Json) -> Json:
    """Its pod, once deleted, ends when it is let go: until then everybody can look at it."""
    said = {"exit": "after=100,code=0", "stop": "after=100,code=1"}
    return job(notes=said, pod={"terminationGracePeriodSeconds": 120}, **spec)


def let_go() -> Step:
    ending = {"metadata": {"annotations": notes(stop="after=0,code=1")}}
    return each(
        "Pod",
        lambda name: change("Pod", name, ending),
        lambda pod: "deletionTimestamp" in pod["metadata"],
    )


def all_gone() -> Step:
    return count("Pod", 0)


def stop() -> Step:
    return change("CronJob", "web", {"spec": {"suspend": True}})


SCENARIOS = [
    Scenario("one", [make(job()), OVER]),
    Scenario("completions", [make(job(completions=5, parallelism=2)), OVER]),
    Scenario("work queue", [make(job(parallelism=3)), OVER], ignore=("Job.status.succeeded",)),
    Scenario("indexed", [make(job(completions=4, parallelism=2, completionMode="Indexed")), OVER]),
    Scenario("back-off limit", [make(job(backoffLimit=1, notes=FAILING)), OVER]),
    Scenario("back-off limit 0", [make(job(backoffLimit=0, notes=FAILING)), OVER]),
    Scenario(
        "back-off limit with restarts",
        [
            make(
                job(
                    backoffLimit=0,
                    notes={"exit": "after=0.05,code=1"},
                    pod={"restartPolicy": "OnFailure"},
                )
            ),
            OVER,
        ],
        ignore=("#SuccessfulDelete",),
    ),
    Scenario(
        "back-off limit per index",
        [
            make(
                job(
                    completions=3,
                    parallelism=3,
                    completionMode="Indexed",
                    backoffLimitPerIndex=0,
                    notes={"exit": "after=0.1,code=0", "exit_1": "after=0.05,code=1"},
                )
            ),
            OVER,
        ],
    ),
    Scenario(
        "max failed indexes",
        [
            make(
                job(
                    completions=4,
                    parallelism=1,
                    completionMode="Indexed",
                    backoffLimitPerIndex=0,
                    maxFailedIndexes=1,
                    notes=FAILING,
                )
            ),
            OVER,
        ],
    ),
    Scenario(
        "failure policy fails the job",
        [
            make(
                job(
                    backoffLimit=6,
                    notes={"exit": "after=0.05,code=42"},
                    podFailurePolicy={
                        "rules": [
                            {
                                "action": "FailJob",
                                "onExitCodes": {
                                    "containerName": "main",
                                    "operator": "In",
                                    "values": [42],
                                },
                            }
                        ]
                    },
                )
            ),
            OVER,
        ],
    ),
    Scenario(
        "failure policy fails the index",
        [
            make(
                job(
                    completions=2,
                    parallelism=2,
                    completionMode="Indexed",
                    backoffLimitPerIndex=3,
                    notes={"exit": "after=0.1,code=0", "exit_1": "after=0.05,code=42"},
                    podFailurePolicy={
                        "rules": [
                            {
                                "action": "FailIndex",
                                "onExitCodes": {"operator": "In", "values": [42]},
                            }
                        ]
                    },
                )
            ),
            OVER,
        ],
    ),
    Scenario(
        "failure policy by condition, not matching",
        [
            make(
                job(
                    backoffLimit=0,
                    notes={"exit": "after=0.05,code=3"},
                    podFailurePolicy={
                        "rules": [
                            {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
                            {
                                "action": "Count",
                                "onExitCodes": {"operator": "NotIn", "values": [5]},
                            },
                        ]
                    },
                )
            ),
            OVER,
        ],
    ),
    Scenario(
        "success policy",
        [
            make(early_job({"succeededIndexes": "0"}, exit_0="after=0.1,code=0")),
            OVER,
        ],
    ),
    Scenario(
        "success policy by count",
        [
            make(
                early_job(
                    {"succeededIndexes": "0-2", "succeededCount": 2},
                    exit_0="after=0.1,code=0",
                    exit_2="after=0.1,code=0",
                )
            ),
            OVER,
        ],
    ),
    Scenario(
        "active deadline",
        [make(job(activeDeadlineSeconds=2, notes={"exit": "after=100,code=0"})), OVER, all_gone()],
    ),
    Scenario(
        "suspend and resume",
        [
            make(
                job(suspend=True, completions=2, parallelism=2, notes={"exit": "after=100,code=0"})
            ),
            until("Job", "web", lambda o: condition(o, "Suspended")["status"] == "True"),
            look("suspended at birth"),
            change("Job", "web", {"spec": {"suspend": False}}),
            until("Job", "web", lambda o: o["status"]["ready"] == 2),
            look("resumed"),
            change("Job", "web", {"spec": {"suspend": True}}),
            all_gone(),
            # Resuming it once more would only show that v1.34.0 cannot: its API server refuses
            # the new start time that its controller writes, again and again.
        ],
    ),
    Scenario(
        "ttl",
        [make(job(ttlSecondsAfterFinished=2)), OVER, gone("Job", "web"), all_gone()],
        ignore=("Event.Scheduled",),
    ),
    Scenario(
        "ttl 0", [make(job(ttlSecondsAfterFinished=0)), pause(1), gone("Job", "web"), all_gone()]
    ),
    Scenario(
        "replacement only after failure",
        [
            make(lingering_job(podReplacementPolicy="Failed")),
            until("Job", "web", lambda o: o["status"]["ready"] == 1),
            each("Pod", lambda name: remove("Pod", name)),
            until("Job", "web", lambda o: o["status"].get("terminating") == 1),
            look("terminating"),
            let_go(),
            until(
                "Job", "web", lambda o: o["status"]["ready"] == 1 and o["status"].get("failed") == 1
            ),
        ],
    ),
    Scenario(
        "replacement while terminating",
        [
            make(lingering_job()),
            until("Job", "web", lambda o: o["status"]["ready"] == 1),
            each("Pod", lambda name: remove("Pod", name)),
            count("Pod", 2),
            until("Job", "web", lambda o: o["status"]["ready"] == 1),
            look("terminating"),
            let_go(),
            until(
                "Job", "web", lambda o: o["status"].get("failed") == 1 and o["status"]["ready"] == 1
            ),
            count("Pod", 1),
        ],
    ),
    Scenario(
        "managed by another",
        [make(job(managedBy="example.com/other")), pause(2)],
    ),
    Scenario(
        "parallelism is changed",
        [
            make(job(completions=6, parallelism=1, notes={"exit": "after=100,code=0"})),
            until("Job", "web", lambda o: o["status"]["ready"] == 1),
            change("Job", "web", {"spec": {"parallelism": 3}}),
            until("Job", "web", lambda o: o["status"]["ready"] == 3),
            look("three"),
            change("Job", "web", {"spec": {"parallelism": 0}}),
            all_gone(),
        ],
    ),
    Scenario(
        "delete in the background",
        [
            make(job(notes={"exit": "after=100,code=0"})),
            until("Job", "web", lambda o: o["status"]["ready"] == 1),
            remove("Job", "web", "Background"),
            all_gone(),
        ],
    ),
    Scenario(
        "default deletion orphans",
        [make(job()), OVER, remove("Job", "web"), gone("Job", "web")],
    ),
    Scenario(
        "own selector",
        [
            make(
                {
                    **job(),
                    "spec": {
                        **job()["spec"],
                        "manualSelector": True,
                        "selector": {"matchLabels": {"app": "web"}},
                    },
                }
            ),
            OVER,
        ],
    ),
]
