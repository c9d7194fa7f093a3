"""Updates that meet something on their way: scaling, failures, partitions, adoption."""

import functools
from typing import Any

from tests.upstream.scenario import Scenario, Step
from tests.upstream.steps import (
    NUDGED,
    change,
    count,
    each,
    gone,
    look,
    make,
    pause,
    persuaded,
    remove,
    until,
)
from tests.upstream.workloads import daemonsets, deployments, statefulsets
from tests.upstream.workloads.daemonsets import EVERYWHERE, daemons
from tests.upstream.workloads.deployments import deployment
from tests.upstream.workloads.roll import roll_to
from tests.upstream.workloads.shapes import is_ready, notes, template, workload
from tests.upstream.workloads.statefulsets import CLAIM, HEADLESS, scale, stateful

Json = Any
SET, ALL, ROLLED = statefulsets.DONE, daemonsets.DONE, deployments.DONE
roll_set = functools.partial(roll_to, "StatefulSet")
roll_all = functools.partial(roll_to, "DaemonSet")
roll = functools.partial(roll_to, "Deployment")
PARTITION = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}


def phase(name: str, word: str) -> Step:
    return change("Pod", name, {"status": {"phase": word}}, sub="status")


def relabel(name: str) -> Step:
    return change("Pod", name, {"metadata": {"labels": {"app": "free"}}})


WINDOWS = functools.partial(daemons, "windows", more={"tolerations": EVERYWHERE})
SCENARIOS = [
    Scenario(
        "set: scaled up behind a partition",
        [
            make(HEADLESS, stateful(replicas=2, updateStrategy=PARTITION)),
            SET,
            roll_set("app:2"),
            statefulsets.updated(1),
            scale(4),
            until("StatefulSet", "web", lambda o: o["status"].get("availableReplicas") == 4),
        ],
    ),
    Scenario(
        "set: parallel roll",
        [
            make(HEADLESS, stateful(podManagementPolicy="Parallel")),
            SET,
            roll_set("app:2"),
            SET,
        ],
    ),
    Scenario(
        "set: roll with minReadySeconds",
        [make(HEADLESS, stateful(replicas=2, minReadySeconds=1)), SET, roll_set("app:2"), SET],
    ),
    Scenario(
        "set: a bad update stays until its pod is deleted",
        [
            make(HEADLESS, stateful(replicas=2)),
            SET,
            roll_set("app:2", ready="never"),
            until("StatefulSet", "web", lambda o: o["status"].get("updatedReplicas") == 1),
            count("Pod", 1, lambda o: o["status"]["phase"] == "Running" and not is_ready(o)),
            roll_set("app:3", ready="after=0"),
            pause(1),
            look("stuck"),
            remove("Pod", "web-1"),
            SET,
        ],
    ),
    Scenario(
        "set: a failed pod is made again",
        [
            make(HEADLESS, stateful(replicas=2)),
            SET,
            phase("web-0", "Failed"),
            pause(2),
            SET,
        ],
        ignore=("#RecreatingFailedPod", "#Scheduled", "#SuccessfulCreate"),
    ),
    Scenario(
        "set: a pod that succeeded is made again",
        [
            make(HEADLESS, stateful(replicas=1)),
            SET,
            phase("web-0", "Succeeded"),
            pause(2),
            SET,
        ],
        ignore=("#RecreatingTerminatedPod", "#Scheduled", "#SuccessfulCreate"),
    ),
    Scenario(
        "set: other ordinals",
        [
            make(HEADLESS, stateful(replicas=2)),
            SET,
            change("StatefulSet", "web", {"spec": {"ordinals": {"start": 1}}}),
            gone("Pod", "web-0"),
            until("Pod", "web-2", is_ready),
            SET,
        ],
    ),
    Scenario(
        "set: orphans are adopted",
        [
            make(HEADLESS, stateful(replicas=2)),
            SET,
            remove("StatefulSet", "web", "Orphan"),
            count("StatefulSet", 0),
            look("orphaned"),
            make(stateful(replicas=2)),
            SET,
        ],
    ),
    Scenario(
        "set: a pod is released",
        [
            make(HEADLESS, stateful(replicas=1)),
            SET,
            relabel("web-0"),
            pause(1),
            look("released"),
            remove("Pod", "web-0"),
            SET,
        ],
        ignore=("#FailedCreate",),
    ),
    Scenario(
        "set: retention is changed",
        [
            make(
                HEADLESS,
                stateful(replicas=2, volumeClaimTemplates=[CLAIM], podManagementPolicy="Parallel"),
            ),
            count("PersistentVolumeClaim", 2),
            count("Pod", 2),
            change(
                "StatefulSet",
                "web",
                {
                    "spec": {
                        "persistentVolumeClaimRetentionPolicy": {
                            "whenScaled": "Delete",
                            "whenDeleted": "Delete",
                        }
                    }
                },
            ),
            count("PersistentVolumeClaim", 2, lambda o: o["metadata"].get("ownerReferences")),
            look("owned"),
            change(
                "StatefulSet",
                "web",
                {
                    "spec": {
                        "persistentVolumeClaimRetentionPolicy": {
                            "whenScaled": "Retain",
                            "whenDeleted": "Retain",
                        }
                    }
                },
            ),
            count("PersistentVolumeClaim", 2, lambda o: not o["metadata"].get("ownerReferences")),
        ],
        ignore=("Event.FailedScheduling", "Event.FailedUpdate"),
    ),
    Scenario(
        "set: a claim that is there already",
        [
            make(
                HEADLESS,
                {**CLAIM, "metadata": {"name": "data-web-0", "labels": {"mine": "yes"}}},
                stateful(replicas=1, volumeClaimTemplates=[CLAIM]),
            ),
            count("Pod", 1),
        ],
        ignore=("Event.FailedScheduling",),
    ),
    Scenario(
        "daemons: surge until available",
        [
            make(
                WINDOWS(
                    minReadySeconds=1,
                    updateStrategy={
                        "type": "RollingUpdate",
                        "rollingUpdate": {"maxSurge": "100%", "maxUnavailable": 0},
                    },
                )
            ),
            ALL,
            pause(1.1),
            roll_all("app:2"),
            # That a new pod has been ready for long enough is no event, and upstream's controller
            # does not always look again by itself: of two dozen sets at once, some stand still.
            persuaded("DaemonSet", "web", daemonsets.settled),
            count("Pod", 2),
        ],
        ignore=(f"DaemonSet.metadata.annotations.{NUDGED}",),
    ),
    Scenario(
        "daemons: a deleted pod comes back",
        [
            make(WINDOWS()),
            ALL,
            each("Pod", lambda name: remove("Pod", name)),
            count("Pod", 2, is_ready),
            ALL,
        ],
        ignore=("#Scheduled",),
    ),
    Scenario(
        "daemons: a pod is released",
        [make(WINDOWS()), ALL, each("Pod", relabel), count("Pod", 3, is_ready), ALL],
        ignore=("#Scheduled",),
    ),
    Scenario(
        "daemons: from on delete to rolling",
        [
            make(WINDOWS(updateStrategy={"type": "OnDelete"})),
            ALL,
            roll_all("app:2"),
            pause(1),
            change("DaemonSet", "web", {"spec": {"updateStrategy": {"type": "RollingUpdate"}}}),
            ALL,
        ],
        ignore=("#SuccessfulCreate", "#SuccessfulDelete"),
    ),
    Scenario(
        "daemons: deleted in the foreground",
        [
            make(WINDOWS()),
            ALL,
            remove("DaemonSet", "web", "Foreground"),
            count("DaemonSet", 0),
            count("Pod", 0),
        ],
    ),
    Scenario(
        "deployment: back in the middle of a roll",
        [
            make(deployment()),
            ROLLED,
            roll("app:2", ready="never"),
            count("Pod", 4),
            look("stuck"),
            change(
                "Deployment",
                "web",
                {
                    "spec": {
                        "template": {
                            "metadata": {"annotations": {"simulation.winkube.dev/ready": None}},
                            "spec": {"containers": [{"name": "main", "image": "app:1"}]},
                        }
                    }
                },
                strategic=True,
            ),
            ROLLED,
        ],
        ignore=("#SuccessfulCreate", "#Scheduled"),
    ),
    Scenario(
        "deployment: recreate waits for the last pod",
        [
            make(
                deployment(
                    replicas=2,
                    strategy={"type": "Recreate"},
                    template=template(annotations=notes(stop="after=1,code=0")),
                )
            ),
            ROLLED,
            roll("app:2"),
            ROLLED,
        ],
    ),
    Scenario(
        "deployment: made paused",
        [
            make(deployment(paused=True)),
            pause(1),
            look("paused"),
            change("Deployment", "web", {"spec": {"paused": False}}),
            ROLLED,
        ],
    ),
    Scenario(
        "deployment: from rolling to recreate",
        [
            make(deployment(replicas=2)),
            ROLLED,
            change(
                "Deployment",
                "web",
                {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}},
            ),
            roll("app:2"),
            ROLLED,
        ],
    ),
    Scenario(
        "deployment: nothing but metadata changes",
        [
            make(deployment(replicas=1)),
            ROLLED,
            pause(1.5),  # available already
            change("Deployment", "web", {"spec": {"minReadySeconds": 1}}),
            change("Deployment", "web", {"spec": {"revisionHistoryLimit": 3}}),
            ROLLED,
        ],
    ),
    Scenario(
        "deployment: its ReplicaSet is scaled by hand",
        [
            make(deployment(replicas=2)),
            ROLLED,
            each("ReplicaSet", lambda name: change("ReplicaSet", name, {"spec": {"replicas": 4}})),
            pause(1),
            count("Pod", 2, is_ready),
            ROLLED,
        ],
        ignore=(
            "Event.SuccessfulCreate",
            "Event.SuccessfulDelete",
            "Event.Scheduled",
            "Event.FailedScheduling",
            "#ScalingReplicaSet",
        ),
    ),
    Scenario(
        "deployment: its ReplicaSet is deleted",
        [
            make(deployment(replicas=1)),
            ROLLED,
            each("ReplicaSet", lambda name: remove("ReplicaSet", name)),
            pause(1),
            ROLLED,
        ],
        ignore=("Event.Scheduled", "#SuccessfulCreate", "#ScalingReplicaSet"),
    ),
    Scenario(
        "replicas: the cheapest goes first",
        [
            make(workload("ReplicaSet", replicas=3)),
            count("Pod", 3, is_ready),
            each(
                "Pod",
                lambda name: change(
                    "Pod",
                    name,
                    {
                        "metadata": {
                            "annotations": {"controller.kubernetes.io/pod-deletion-cost": "-5"}
                        }
                    },
                ),
                limit=2,
            ),
            change("ReplicaSet", "web", {"spec": {"replicas": 1}}),
            count("Pod", 1),
        ],
    ),
]
