"""Jobs: what counts as a failure of what, and changes while they run."""

from typing import Any

from tests.upstream.scenario import Scenario, Step
from tests.upstream.steps import change, count, each, evict, look, make, pause, remove, until
from tests.upstream.workloads.shapes import condition, is_ready, job, job_over, pod

Json = Any
OVER = until("Job", "web", job_over)
# Told to end, a pod takes longer than a controller needs to see it go.
LONG = {"exit": "after=1000,code=0", "stop": "after=3,code=143"}
DISRUPTED = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}


def indexed(**spec: Json) -> Json:
    return job(**{"completions": 3, "parallelism": 3, "completionMode": "Indexed", **spec})


def ready(number: int) -> Step:
    return until("Job", "web", lambda o: o["status"].get("ready") == number)


def fail(name: str) -> Step:
    return change("Pod", name, {"status": {"phase": "Failed", "reason": "Evicted"}}, sub="status")


SCENARIOS = [
    Scenario(
        "job: an index is tried again",
        [
            make(
                indexed(
                    backoffLimitPerIndex=1,
                    notes={"exit": "after=0.1,code=0", "exit_1": "after=0.05,code=1"},
                )
            ),
            OVER,
        ],
        patient=True,
    ),
    Scenario(
        "job: all indexes fail",
        [make(indexed(backoffLimitPerIndex=0, notes={"exit": "after=0.05,code=1"})), OVER],
    ),
    Scenario(
        "job: more and fewer indexes",
        [
            make(indexed(completions=2, parallelism=2, notes=LONG)),
            ready(2),
            change("Job", "web", {"spec": {"completions": 4, "parallelism": 4}}),
            ready(4),
            look("four"),
            change("Job", "web", {"spec": {"completions": 1, "parallelism": 1}}),
            ready(1),
            count("Pod", 1),
        ],
    ),
    Scenario(
        "job: a disruption is no failure",
        [
            make(job(backoffLimit=0, notes=LONG, podFailurePolicy={"rules": [DISRUPTED]})),
            ready(1),
            evict(),
            count("Pod", 1, lambda o: is_ready(o) and "deletionTimestamp" not in o["metadata"]),
            ready(1),
        ],
    ),
    Scenario(
        "job: an eviction is a failure",
        [make(job(backoffLimit=0, notes=LONG)), ready(1), evict(), OVER],
    ),
    Scenario(
        "job: a failed phase without codes",
        [
            make(
                job(
                    backoffLimit=0,
                    notes=LONG,
                    podFailurePolicy={
                        "rules": [
                            {
                                "action": "FailJob",
                                "onExitCodes": {"operator": "NotIn", "values": [0]},
                            }
                        ]
                    },
                )
            ),
            ready(1),
            each("Pod", fail),
            OVER,
        ],
        ignore=("Pod.status",),
    ),
    Scenario(
        "job: a condition fails it",
        [
            make(
                job(
                    backoffLimit=3,
                    notes=LONG,
                    podFailurePolicy={
                        "rules": [
                            {
                                "action": "FailJob",
                                "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
                            }
                        ]
                    },
                )
            ),
            ready(1),
            evict(),
            OVER,
        ],
    ),
    Scenario(
        "job: others end when one fails",
        [
            make(
                indexed(
                    backoffLimit=0,
                    notes={
                        "exit": "after=1000,code=0",
                        "stop": "after=1,code=143",
                        "exit_1": "after=0.5,code=1",
                    },
                )
            ),
            until("Job", "web", lambda o: condition(o, "FailureTarget")),
            OVER,
        ],
    ),
    Scenario(
        "job: deadline beats the suspension",
        [
            make(job(suspend=True, activeDeadlineSeconds=1, notes=LONG)),
            pause(2),
            look("suspended"),
            change("Job", "web", {"spec": {"suspend": False}}),
            OVER,
        ],
    ),
    Scenario(
        "job: another template while suspended",
        [
            make(job(suspend=True)),
            until("Job", "web", lambda o: condition(o, "Suspended")),
            change(
                "Job",
                "web",
                {
                    "spec": {
                        "template": {
                            "metadata": {"labels": {"x": "y"}},
                            "spec": {"nodeSelector": {"kubernetes.io/os": "linux"}},
                        }
                    }
                },
                strategic=True,
            ),
            change("Job", "web", {"spec": {"suspend": False}}),
            OVER,
        ],
    ),
    Scenario(
        "job: no parallelism, no completions",
        [
            make(job(parallelism=0), {**job(completions=0), "metadata": {"name": "none"}}),
            until("Job", "none", job_over),
            until("Job", "web", lambda o: "ready" in o["status"]),
        ],
    ),
    Scenario(
        "job: a pod loses its label",
        [
            make(job(notes=LONG)),
            ready(1),
            each(
                "Pod",
                lambda name: change(
                    "Pod",
                    name,
                    {"metadata": {"labels": {"batch.kubernetes.io/controller-uid": "x"}}},
                ),
            ),
            count("Pod", 2, is_ready),
            ready(1),
        ],
        ignore=("#SuccessfulCreate",),
    ),
    Scenario(
        "job: more succeed than are wanted",
        [
            make(job(completions=2, parallelism=2, notes={"exit": "after=1,code=0"})),
            ready(2),
            change("Job", "web", {"spec": {"parallelism": 1}}),
            OVER,
        ],
        ignore=("Event.SuccessfulDelete", "#SuccessfulCreate", "Event.Scheduled", "Pod.status"),
    ),
    Scenario(
        "job: deleted in the foreground",
        [
            make(job(notes=LONG)),
            ready(1),
            remove("Job", "web", "Foreground"),
            count("Job", 0),
            count("Pod", 0),
        ],
    ),
    Scenario(
        "job: orphans",
        [
            make(job(notes=LONG)),
            ready(1),
            remove("Job", "web", "Orphan"),
            count("Job", 0),
            count("Pod", 1, lambda o: not o["metadata"].get("finalizers")),
        ],
    ),
    Scenario(
        "job: managed by another, time to live",
        [
            make(job(managedBy="example.com/other", ttlSecondsAfterFinished=0)),
            pause(1),
            change(
                "Job",
                "web",
                {
                    "status": {
                        "startTime": "2024-01-01T00:00:00Z",
                        "completionTime": "2024-01-01T00:00:01Z",
                        "succeeded": 1,
                        "conditions": [
                            {
                                "type": kind,
                                "status": "True",
                                "lastTransitionTime": "2024-01-01T00:00:01Z",
                            }
                            for kind in ("SuccessCriteriaMet", "Complete")
                        ],
                    }
                },
                sub="status",
            ),
            count("Job", 0),
        ],
    ),
    Scenario(
        "job: adopts nothing of others",
        [
            make(pod("web-x", "web")),
            count("Pod", 1, is_ready),
            make(
                {
                    **job(notes=LONG),
                    "spec": {
                        **job(notes=LONG)["spec"],
                        "manualSelector": True,
                        "selector": {"matchLabels": {"app": "web"}},
                    },
                }
            ),
            ready(1),
        ],
        ignore=("Event.Scheduled",),
    ),
]
