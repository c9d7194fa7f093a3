"""DaemonSets: placement by system and taints, updates, nodes that come and go."""

import functools
from typing import Any

from tests.upstream.scenario import Scenario, Step
from tests.upstream.steps import change, count, each, look, make, pause, remove, until
from tests.upstream.workloads.roll import roll_to
from tests.upstream.workloads.shapes import is_ready, template, workload

Json = Any
EVERYWHERE = [{"operator": "Exists"}]


def daemons(system: str = "linux", **spec: Json) -> Json:
    more = spec.pop("more", {})
    shape = template(nodeSelector={"kubernetes.io/os": system}, **more)
    return workload("DaemonSet", **{"template": shape, **spec})


def settled(obj: Json) -> bool:
    status = obj["status"]
    wanted = status["desiredNumberScheduled"]
    return bool(
        status["observedGeneration"] == obj["metadata"]["generation"]
        and wanted > 0
        and status.get("numberAvailable", 0) == wanted
        and status.get("updatedNumberScheduled", 0) == wanted
        and status["numberMisscheduled"] == 0
    )


DONE = until("DaemonSet", "web", settled)


roll = functools.partial(roll_to, "DaemonSet")


def spare(number: int, *, on: bool) -> Step:
    value = "{ns}" if on else None
    return change("Node", f"spare-{number}", {"metadata": {"labels": {"pool": value}}})


POOL = template(nodeSelector={"pool": "{ns}"}, tolerations=EVERYWHERE)
SCENARIOS = [
    Scenario("linux nodes", [make(daemons()), DONE]),
    Scenario(
        "windows nodes",
        [
            make(daemons("windows", more={"tolerations": [{"key": "os", "operator": "Exists"}]})),
            DONE,
        ],
    ),
    Scenario(
        "taints keep it away",
        [
            make(daemons("windows")),
            until("DaemonSet", "web", lambda o: "observedGeneration" in o["status"]),
        ],
    ),
    Scenario("roll", [make(daemons()), DONE, roll("app:2"), DONE]),
    Scenario(
        "roll two at a time",
        [
            make(
                daemons(
                    updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
                )
            ),
            DONE,
            roll("app:2", ready="never"),
            count("Pod", 2, is_ready),
            until("DaemonSet", "web", lambda o: o["status"]["updatedNumberScheduled"] == 2),
            look("stuck"),
        ],
    ),
    Scenario(
        "surge",
        [
            make(
                daemons(
                    updateStrategy={
                        "type": "RollingUpdate",
                        "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
                    }
                )
            ),
            DONE,
            pause(1.1),  # of pods made in the same second either may count as the older
            roll("app:2", ready="never"),
            count("Pod", 5),
            look("surging"),
            roll("app:3", ready="after=0"),
            DONE,
            count("Pod", 4),
        ],
        ignore=("#SuccessfulCreate", "#SuccessfulDelete", "#Scheduled"),
    ),
    Scenario(
        "on delete",
        [
            make(daemons(updateStrategy={"type": "OnDelete"})),
            DONE,
            roll("app:2"),
            look("unchanged"),
            each("Pod", lambda name: remove("Pod", name), limit=9),
            DONE,
        ],
    ),
    Scenario(
        "history limit",
        [
            make(daemons(revisionHistoryLimit=1)),
            DONE,
            roll("app:2"),
            DONE,
            roll("app:3"),
            DONE,
            roll("app:4"),
            DONE,
            count("ControllerRevision", 2),
        ],
        ignore=("#SuccessfulCreate", "#SuccessfulDelete"),
    ),
    Scenario(
        "undo",
        [make(daemons()), DONE, roll("app:2"), DONE, roll("app:1"), DONE],
        ignore=("#SuccessfulCreate", "#SuccessfulDelete"),
    ),
    Scenario(
        "nodes come and go by label",
        [
            spare(0, on=True),
            make(workload("DaemonSet", template=POOL)),
            DONE,
            spare(1, on=True),
            count("Pod", 2, is_ready),
            DONE,
            look("two"),
            spare(0, on=False),
            count("Pod", 1),
            DONE,
        ],
    ),
    Scenario(
        "a node is deleted",
        [
            spare(2, on=True),
            spare(3, on=True),
            make(workload("DaemonSet", template=POOL)),
            count("Pod", 2, is_ready),
            DONE,
            remove("Node", "spare-3"),
            # Pods of a node that is gone are collected after a minute.
            count("Pod", 1, seconds=120),
            DONE,
        ],
        ignore=("#FailedDaemonPod",),
        patient=True,
    ),
    Scenario(
        "failed pods are replaced",
        [
            make(daemons("windows", more={"tolerations": EVERYWHERE})),
            DONE,
            each(
                "Pod",
                lambda name: change(
                    "Pod", name, {"status": {"phase": "Failed", "reason": "Evicted"}}, sub="status"
                ),
            ),
            count("Pod", 2, is_ready),
            DONE,
        ],
    ),
    Scenario(
        "minReadySeconds",
        [make(daemons("windows", minReadySeconds=2, more={"tolerations": EVERYWHERE})), DONE],
    ),
    Scenario(
        "orphan and adopt",
        [
            make(daemons("windows", more={"tolerations": EVERYWHERE})),
            DONE,
            remove("DaemonSet", "web", "Orphan"),
            count("DaemonSet", 0),
            look("orphaned"),
            make(daemons("windows", more={"tolerations": EVERYWHERE})),
            DONE,
        ],
    ),
]
