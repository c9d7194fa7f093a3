"""Budgets beyond the first: whom they count, unhealthy pods, and what has no scale."""

from typing import Any

from tests.upstream.scenario import Scenario, Step
from tests.upstream.steps import change, count, evict, look, make, pause, remove, until
from tests.upstream.workloads.budgets import allowed, budget
from tests.upstream.workloads.shapes import is_ready, job, notes, pod, template, workload

Json = Any
QUIET = ("Event.NoPods", "PodDisruptionBudget.status.disruptedPods")
NEVER = template(annotations=notes(ready="never"))


def running(number: int) -> Step:
    return count("Pod", number, lambda o: o["status"]["phase"] == "Running")


SCENARIOS = [
    Scenario(
        "budget: unhealthy while too few are healthy",
        [
            make(
                budget(minAvailable=1),
                workload("ReplicaSet", replicas=1, template=NEVER),
            ),
            running(1),
            allowed(0, 0),
            evict(),
        ],
        ignore=QUIET,
    ),
    Scenario(
        "budget: unhealthy while enough are healthy",
        [
            make(
                budget(minAvailable=1, unhealthyPodEvictionPolicy="IfHealthyBudget"),
                workload(
                    "ReplicaSet",
                    replicas=1,
                    selector={"matchLabels": {"app": "web", "good": "yes"}},
                    template=template(labels={"good": "yes"}),
                ),
                pod("bad", annotations=notes(ready="never")),
            ),
            count("Pod", 1, is_ready),
            pause(1),
            evict(lambda o: not is_ready(o)),
        ],
        ignore=(*QUIET, "#SuccessfulCreate", "#SuccessfulDelete", "Event.Scheduled"),
    ),
    Scenario(
        "budget: a share of several workloads",
        [
            make(
                budget(maxUnavailable="50%"),
                workload("ReplicaSet", replicas=2),
                workload("Deployment", "other", replicas=2),
            ),
            until("PodDisruptionBudget", "web", lambda o: o["status"]["expectedPods"] == 4),
            allowed(2, 4),
        ],
        ignore=(
            *QUIET,
            "#SuccessfulCreate",
            "#SuccessfulDelete",
            "Event.Scheduled",
            "Event.ScalingReplicaSet",
            "Event.CalculateExpectedPodCountFailed",
            "Event.SuccessfulDelete",
        ),
    ),
    Scenario(
        "budget: of a Job",
        [
            make(
                budget(maxUnavailable=1),
                job(completions=2, parallelism=2, notes={"exit": "after=1000,code=0"}),
            ),
            count("Pod", 2, is_ready),
            until("PodDisruptionBudget", "web", lambda o: o["status"]["conditions"]),
            pause(1),
        ],
        ignore=(*QUIET, "#CalculateExpectedPodCountFailed"),
    ),
    Scenario(
        "budget: of a DaemonSet",
        [
            make(
                budget(minAvailable=1),
                workload(
                    "DaemonSet",
                    template=template(
                        nodeSelector={"kubernetes.io/os": "windows"},
                        tolerations=[{"operator": "Exists"}],
                    ),
                ),
            ),
            count("Pod", 2, is_ready),
            allowed(1, 2),
        ],
        ignore=QUIET,
    ),
    Scenario(
        "budget: a share of pods without controller",
        [
            make(budget(minAvailable="50%"), pod("a"), pod("b")),
            count("Pod", 2, is_ready),
            until("PodDisruptionBudget", "web", lambda o: o["status"]["currentHealthy"] == 2),
            evict(),
        ],
        ignore=(*QUIET, "#CalculateExpectedPodCountFailed", "#NoControllers"),
    ),
    Scenario(
        "budget: everything, by an empty selector",
        [
            make(budget(maxUnavailable=0, selector={}), workload("ReplicaSet", replicas=1)),
            allowed(0, 1),
            look("all"),
            evict(),
            change(
                "PodDisruptionBudget", "web", {"spec": {"selector": {"matchLabels": {"x": "y"}}}}
            ),
            until("PodDisruptionBudget", "web", lambda o: o["status"]["expectedPods"] == 0),
        ],
        ignore=QUIET,
    ),
    Scenario(
        "budget: taken away",
        [
            make(budget(maxUnavailable=0), workload("ReplicaSet", replicas=1)),
            allowed(0, 1),
            evict(),
            remove("PodDisruptionBudget", "web"),
            pause(1),
            evict(),
            count("Pod", 1, lambda o: is_ready(o) and "deletionTimestamp" not in o["metadata"]),
        ],
        ignore=QUIET,
    ),
    Scenario(
        "budget: pods that are over and pods that wait",
        [
            make(
                budget(minAvailable=1),
                pod("done", restartPolicy="Never", annotations=notes(exit="after=0.1,code=0")),
                pod("waits", nodeSelector={"none": "{ns}"}),
            ),
            count("Pod", 1, lambda o: o["status"]["phase"] == "Succeeded"),
            pause(1),
            evict(lambda o: o["metadata"]["name"] == "done"),
            evict(lambda o: o["metadata"]["name"] == "waits"),
            count("Pod", 0),
        ],
        ignore=(*QUIET, "Event.FailedScheduling"),
    ),
]
