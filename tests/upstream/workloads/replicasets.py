"""ReplicaSets and ReplicationControllers: scale, adoption, release, orphans."""

from typing import Any

from tests.upstream.scenario import Scenario, Step
from tests.upstream.steps import change, count, each, gone, look, make, remove, until
from tests.upstream.workloads.shapes import is_ready, notes, pod, template, workload

Json = Any


def ready(kind: str, number: int) -> Step:
    def holds(obj: Json) -> bool:
        status = obj["status"]
        return bool(
            status.get("readyReplicas", 0) == number
            and status["replicas"] == number
            and status.get("availableReplicas", 0) == number
        )

    return until(kind, "web", holds)


def relabel(name: str) -> Step:
    return change("Pod", name, {"metadata": {"labels": {"app": "free"}}})


def both(kind: str) -> list[Scenario]:
    return [
        Scenario(f"{kind}: create", [make(workload(kind, replicas=3)), ready(kind, 3)]),
        Scenario(
            f"{kind}: scale",
            [
                make(workload(kind, replicas=2)),
                ready(kind, 2),
                change(kind, "web", {"spec": {"replicas": 5}}),
                ready(kind, 5),
                change(kind, "web", {"spec": {"replicas": 1}}, sub="scale"),
                ready(kind, 1),
                count("Pod", 1),
                change(kind, "web", {"spec": {"replicas": 0}}),
                ready(kind, 0),
                count("Pod", 0),
            ],
        ),
        Scenario(
            f"{kind}: adopts and deletes the surplus",
            [
                make(pod("loose-1"), pod("loose-2", annotations=notes(ready="never"))),
                count("Pod", 1, is_ready),
                make(workload(kind, replicas=1)),
                ready(kind, 1),
                count("Pod", 1),
            ],
        ),
        Scenario(
            f"{kind}: releases what no longer matches",
            [
                make(workload(kind, replicas=1)),
                ready(kind, 1),
                each("Pod", relabel),
                count("Pod", 2, is_ready),
                ready(kind, 1),
            ],
        ),
        Scenario(
            f"{kind}: replaces what failed",
            [
                make(workload(kind, replicas=1)),
                ready(kind, 1),
                each(
                    "Pod",
                    lambda name: change(
                        "Pod",
                        name,
                        {"status": {"phase": "Failed", "reason": "Evicted"}},
                        sub="status",
                    ),
                ),
                count("Pod", 1, is_ready),
                ready(kind, 1),
            ],
            ignore=("Pod.status",),
        ),
        Scenario(
            f"{kind}: minReadySeconds",
            [make(workload(kind, replicas=1, minReadySeconds=2)), ready(kind, 1)],
        ),
        Scenario(
            f"{kind}: orphans its pods",
            [
                make(workload(kind, replicas=2)),
                ready(kind, 2),
                remove(kind, "web", "Orphan"),
                gone(kind, "web"),
                look("orphaned"),
                make(workload(kind, replicas=2)),
                ready(kind, 2),
            ],
        ),
        Scenario(
            f"{kind}: default deletion",
            [
                make(workload(kind, replicas=2)),
                ready(kind, 2),
                remove(kind, "web"),
                gone(kind, "web"),
                look("after"),
            ],
            ignore=(
                "Pod.status",
                "Pod.metadata.deletionTimestamp",
                "Pod.metadata.deletionGracePeriodSeconds",
            ),
        ),
        Scenario(
            f"{kind}: cannot create pods",
            [
                make(workload(kind, replicas=1, template=template(serviceAccountName="nobody"))),
                until(kind, "web", lambda o: o["status"]["conditions"]),
            ],
            ignore=("#FailedCreate",),
        ),
    ]


SCENARIOS = [*both("ReplicaSet"), *both("ReplicationController")]
