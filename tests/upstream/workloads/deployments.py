"""Deployments: rolling, recreate, pause, undo, scale, deadlines, history."""

import functools
from typing import Any

from tests.upstream.scenario import Scenario
from tests.upstream.steps import change, count, each, gone, look, make, remove, until
from tests.upstream.workloads.roll import roll_to
from tests.upstream.workloads.shapes import (
    condition,
    is_ready,
    labelled,
    notes,
    rolled_out,
    template,
    workload,
)

Json = Any


def deployment(**spec: Json) -> Json:
    return workload("Deployment", **{"replicas": 3, **spec})


roll = functools.partial(roll_to, "Deployment")
DONE = until("Deployment", "web", rolled_out)
SCENARIOS = [
    Scenario("create", [make(deployment()), DONE]),
    Scenario("roll", [make(deployment()), DONE, roll("app:2"), DONE]),
    Scenario(
        "roll within bounds",
        [
            make(
                deployment(
                    replicas=10,
                    strategy={
                        "type": "RollingUpdate",
                        "rollingUpdate": {"maxSurge": "30%", "maxUnavailable": 0},
                    },
                )
            ),
            DONE,
            roll("app:2", ready="never"),
            count("Pod", 13),
            look("stuck"),
            roll("app:3", ready="after=0"),
            DONE,
        ],
        ignore=(
            "Event.ScalingReplicaSet",
            "Event.SuccessfulCreate",
            "Event.SuccessfulDelete",
            "Event.Scheduled",
        ),
    ),
    Scenario(
        "unavailable first",
        [
            make(
                deployment(
                    replicas=4,
                    strategy={
                        "type": "RollingUpdate",
                        "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 2},
                    },
                )
            ),
            DONE,
            roll("app:2", ready="never"),
            count("Pod", 2, is_ready),
            look("half"),
        ],
    ),
    Scenario(
        "recreate",
        [make(deployment(strategy={"type": "Recreate"})), DONE, roll("app:2"), DONE],
    ),
    Scenario(
        "pause and resume",
        [
            make(deployment()),
            DONE,
            change("Deployment", "web", {"spec": {"paused": True}}),
            roll("app:2"),
            look("paused"),
            change("Deployment", "web", {"spec": {"replicas": 5}}),
            until("Deployment", "web", lambda d: d["status"]["readyReplicas"] == 5),
            look("scaled while paused"),
            change("Deployment", "web", {"spec": {"paused": False}}),
            DONE,
        ],
    ),
    Scenario(
        "undo by template",
        [make(deployment()), DONE, roll("app:2"), DONE, roll("app:1"), DONE],
    ),
    Scenario(
        "scale up and down",
        [
            make(deployment()),
            DONE,
            change("Deployment", "web", {"spec": {"replicas": 6}}),
            DONE,
            change("Deployment", "web", {"spec": {"replicas": 0}}),
            count("Pod", 0),
            look("none"),
            change("Deployment", "web", {"spec": {"replicas": 1}}, sub="scale"),
            DONE,
        ],
    ),
    Scenario(
        "scale in the middle of a roll",
        [
            make(
                deployment(
                    replicas=10,
                    strategy={
                        "type": "RollingUpdate",
                        "rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2},
                    },
                )
            ),
            DONE,
            roll("app:2", ready="never"),
            count("Pod", 13),
            look("stuck"),
            change("Deployment", "web", {"spec": {"replicas": 30}}),
            count("Pod", 33),
            look("proportional"),
            change("Deployment", "web", {"spec": {"replicas": 15}}),
            count("Pod", 18),
        ],
        ignore=("#Scheduled", "#SuccessfulCreate", "#SuccessfulDelete"),
    ),
    Scenario(
        "progress deadline exceeded",
        [
            make(
                deployment(
                    progressDeadlineSeconds=2, template=template(annotations=notes(ready="never"))
                )
            ),
            until("Deployment", "web", lambda d: condition(d, "Progressing")["status"] == "False"),
            look("exceeded"),
            roll("app:2", ready="after=0"),
            DONE,
        ],
    ),
    Scenario(
        "missing image",
        [
            make(deployment(progressDeadlineSeconds=2)),
            DONE,
            roll("missing:1", image="missing"),
            until("Deployment", "web", lambda d: condition(d, "Progressing")["status"] == "False"),
        ],
    ),
    Scenario(
        "history limit",
        [
            make(deployment(replicas=1, revisionHistoryLimit=1)),
            DONE,
            roll("app:2"),
            DONE,
            roll("app:3"),
            DONE,
            roll("app:4"),
            DONE,
            count("ReplicaSet", 2),
        ],
    ),
    Scenario(
        "no history",
        [
            make(deployment(replicas=1, revisionHistoryLimit=0)),
            DONE,
            roll("app:2"),
            DONE,
            count("ReplicaSet", 1),
        ],
    ),
    Scenario(
        "minReadySeconds",
        [
            make(deployment(replicas=2, minReadySeconds=3)),
            until("Deployment", "web", lambda d: d["status"]["readyReplicas"] == 2),
            DONE,
            roll("app:2"),
            DONE,
        ],
    ),
    Scenario(
        "annotations and labels",
        [
            make(deployment(replicas=1)),
            DONE,
            change(
                "Deployment",
                "web",
                {
                    "metadata": {
                        "annotations": {"kubernetes.io/change-cause": "first", "own": "x"},
                        "labels": {"tier": "a"},
                    }
                },
            ),
            look("annotated"),
            roll("app:2"),
            DONE,
        ],
    ),
    Scenario(
        "adopts a ReplicaSet",
        [
            make(labelled(workload("ReplicaSet", "old", replicas=1))),
            count("Pod", 1, is_ready),
            make(deployment(replicas=1)),
            DONE,
        ],
        ignore=("Event.Scheduled",),
    ),
    Scenario(
        "delete with orphans",
        [
            make(deployment(replicas=2)),
            DONE,
            remove("Deployment", "web", "Orphan"),
            gone("Deployment", "web"),
            count("ReplicaSet", 1),
        ],
    ),
    Scenario(
        "delete in the foreground",
        [
            make(deployment(replicas=2)),
            DONE,
            remove("Deployment", "web", "Foreground"),
            gone("Deployment", "web"),
            count("Pod", 0),
        ],
    ),
    Scenario(
        "delete in the background",
        [
            make(deployment(replicas=2)),
            DONE,
            remove("Deployment", "web", "Background"),
            count("Pod", 0),
            count("ReplicaSet", 0),
        ],
    ),
    Scenario(
        "a pod that is deleted is replaced",
        [
            make(deployment(replicas=2)),
            DONE,
            each("Pod", lambda name: remove("Pod", name)),
            count("Pod", 2, is_ready),
            DONE,
        ],
    ),
]
