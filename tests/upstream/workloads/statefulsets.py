"""StatefulSets: order, parallel, partitions, OnDelete, claims and their retention."""

import functools
from typing import Any

from tests.upstream.scenario import Scenario, Step
from tests.upstream.steps import change, count, gone, look, make, remove, until
from tests.upstream.workloads.roll import roll_to
from tests.upstream.workloads.shapes import claim, notes, service, template, workload

Json = Any
HEADLESS = service("db", clusterIP="None")


def stateful(**spec: Json) -> Json:
    return workload("StatefulSet", **{"replicas": 3, "serviceName": "db", **spec})


def settled(obj: Json) -> bool:
    status, wanted = obj["status"], obj["spec"]["replicas"]
    return bool(
        status["observedGeneration"] == obj["metadata"]["generation"]
        and status.get("replicas", 0) == wanted
        and status.get("readyReplicas", 0) == wanted
        and status.get("availableReplicas", 0) == wanted
        and status["currentRevision"] == status["updateRevision"]
        and status.get("updatedReplicas", 0) == wanted
    )


DONE = until("StatefulSet", "web", settled)


roll = functools.partial(roll_to, "StatefulSet")


def scale(number: int) -> Step:
    return change("StatefulSet", "web", {"spec": {"replicas": number}})


def updated(number: int) -> Step:
    return until(
        "StatefulSet",
        "web",
        lambda o: (
            o["status"].get("updatedReplicas") == number
            and o["status"]["readyReplicas"] == o["spec"]["replicas"]
            and o["status"]["observedGeneration"] == o["metadata"]["generation"]
        ),
    )


CLAIM = claim("data", storageClassName="none-{ns}")
SCENARIOS = [
    Scenario("ordered", [make(HEADLESS, stateful()), DONE]),
    Scenario(
        "scale down and up",
        [make(HEADLESS, stateful()), DONE, scale(1), DONE, count("Pod", 1), scale(2), DONE],
    ),
    Scenario(
        "parallel",
        [
            make(HEADLESS, stateful(podManagementPolicy="Parallel")),
            DONE,
            scale(0),
            count("Pod", 0),
            DONE,
        ],
    ),
    Scenario(
        "a pod that is never ready holds back the rest",
        [
            make(HEADLESS, stateful(template=template(annotations=notes(ready="never")))),
            until("StatefulSet", "web", lambda o: o["status"]["replicas"] == 1),
        ],
    ),
    Scenario(
        "failing pod 0",
        [
            make(HEADLESS, stateful(template=template(annotations=notes(exit_0="after=0,code=1")))),
            until(
                "Pod", "web-0", lambda o: o["status"]["containerStatuses"][0]["restartCount"] >= 1
            ),
        ],
        ignore=("Pod.status.containerStatuses",),
    ),
    Scenario("roll", [make(HEADLESS, stateful()), DONE, roll("app:2"), DONE]),
    Scenario(
        "undo",
        [make(HEADLESS, stateful(replicas=1)), DONE, roll("app:2"), DONE, roll("app:1"), DONE],
    ),
    Scenario(
        "partition",
        [
            make(
                HEADLESS,
                stateful(
                    updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
                ),
            ),
            DONE,
            roll("app:2"),
            updated(1),
            look("one"),
            change(
                "StatefulSet",
                "web",
                {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}},
            ),
            DONE,
        ],
    ),
    Scenario(
        "on delete",
        [
            make(HEADLESS, stateful(replicas=2, updateStrategy={"type": "OnDelete"})),
            DONE,
            roll("app:2"),
            look("unchanged"),
            remove("Pod", "web-0"),
            updated(1),
            look("one"),
            remove("Pod", "web-1"),
            updated(2),
        ],
    ),
    Scenario(
        "bad update stops the roll",
        [
            make(HEADLESS, stateful()),
            DONE,
            roll("app:2", ready="never"),
            until("StatefulSet", "web", lambda o: o["status"].get("updatedReplicas") == 1),
        ],
    ),
    Scenario(
        "history limit",
        [
            make(HEADLESS, stateful(replicas=1, revisionHistoryLimit=1)),
            DONE,
            roll("app:2"),
            DONE,
            roll("app:3"),
            DONE,
            roll("app:4"),
            DONE,
            count("ControllerRevision", 2),
        ],
    ),
    Scenario(
        "claims",
        [
            make(
                HEADLESS,
                stateful(replicas=2, volumeClaimTemplates=[CLAIM], podManagementPolicy="Parallel"),
            ),
            count("PersistentVolumeClaim", 2),
            count("Pod", 2),
            scale(1),
            count("Pod", 1),
            look("scaled down"),
            remove("StatefulSet", "web"),
            count("Pod", 0),
        ],
    ),
    Scenario(
        "claims that go when scaled down",
        [
            make(
                HEADLESS,
                stateful(
                    replicas=2,
                    volumeClaimTemplates=[CLAIM],
                    podManagementPolicy="Parallel",
                    persistentVolumeClaimRetentionPolicy={
                        "whenScaled": "Delete",
                        "whenDeleted": "Retain",
                    },
                ),
            ),
            count("PersistentVolumeClaim", 2),
            count("Pod", 2),
            look("two"),
            scale(1),
            count("PersistentVolumeClaim", 1),
        ],
    ),
    Scenario(
        "claims that go with the set",
        [
            make(
                HEADLESS,
                stateful(
                    replicas=1,
                    volumeClaimTemplates=[CLAIM],
                    persistentVolumeClaimRetentionPolicy={
                        "whenScaled": "Retain",
                        "whenDeleted": "Delete",
                    },
                ),
            ),
            count("PersistentVolumeClaim", 1),
            count("Pod", 1),
            look("owned"),
            remove("StatefulSet", "web"),
            count("PersistentVolumeClaim", 0),
        ],
        ignore=("Event.FailedScheduling",),
    ),
    Scenario(
        "start ordinal and minReadySeconds",
        [make(HEADLESS, stateful(replicas=2, ordinals={"start": 3}, minReadySeconds=1)), DONE],
    ),
    Scenario(
        "delete in the foreground",
        [
            make(HEADLESS, stateful(replicas=2)),
            DONE,
            remove("StatefulSet", "web", "Foreground"),
            gone("StatefulSet", "web"),
            count("Pod", 0),
        ],
    ),
    Scenario(
        "a deleted pod comes back with its name",
        [make(HEADLESS, stateful(replicas=2)), DONE, remove("Pod", "web-0"), count("Pod", 2), DONE],
    ),
    Scenario(
        "max unavailable",
        [
            make(
                HEADLESS,
                stateful(
                    updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
                ),
            ),
            DONE,
            roll("app:2"),
            DONE,
        ],
    ),
]
