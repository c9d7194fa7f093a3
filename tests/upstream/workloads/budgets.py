"""Disruption budgets and the answers to evictions."""

from tests.upstream.scenario import Json, Scenario, Step
from tests.upstream.steps import change, count, evict, gone, look, make, until
from tests.upstream.workloads.shapes import (
    is_ready,
    notes,
    pod,
    template,
    workload,
)


def budget(**spec: Json) -> Json:
    made = {"selector": {"matchLabels": {"app": "web"}}, **spec}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": made,
    }


def allowed(number: int, healthy: int) -> Step:
    return until(
        "PodDisruptionBudget",
        "web",
        lambda o: (
            o["status"]["disruptionsAllowed"] == number
            and o["status"]["currentHealthy"] == healthy
            and o["status"]["observedGeneration"] == o["metadata"]["generation"]
        ),
    )


SCENARIOS = [
    Scenario(
        "budget: minAvailable",
        [
            make(budget(minAvailable=2), workload("Deployment", replicas=3)),
            allowed(1, 3),
            look("allowed"),
            evict(),
            allowed(1, 3),
            evict(is_ready),
        ],
        ignore=(
            "Event.NoPods",
            "#SuccessfulCreate",
            "#Scheduled",
            "PodDisruptionBudget.status.disruptedPods",
        ),
    ),
    Scenario(
        "budget: none allowed",
        [
            make(budget(minAvailable="100%"), workload("ReplicaSet", replicas=2)),
            allowed(0, 2),
            evict(),
            change(
                "PodDisruptionBudget", "web", {"spec": {"minAvailable": None, "maxUnavailable": 1}}
            ),
            allowed(1, 2),
        ],
        ignore=("Event.NoPods",),
    ),
    Scenario(
        "budget: maxUnavailable percentage",
        [
            make(
                budget(maxUnavailable="30%"), workload("StatefulSet", replicas=3, serviceName="x")
            ),
            allowed(1, 3),
        ],
        ignore=("Event.NoPods",),
    ),
    Scenario(
        "budget: unhealthy pods",
        [
            make(
                budget(minAvailable=1, unhealthyPodEvictionPolicy="AlwaysAllow"),
                workload(
                    "ReplicaSet", replicas=1, template=template(annotations=notes(ready="never"))
                ),
            ),
            count("Pod", 1, lambda o: o["status"]["phase"] == "Running"),
            allowed(0, 0),
            look("unhealthy"),
            evict(),
            count(
                "Pod",
                1,
                lambda o: (
                    o["status"]["phase"] == "Running" and "deletionTimestamp" not in o["metadata"]
                ),
            ),
        ],
        ignore=(
            "Event.NoPods",
            "PodDisruptionBudget.status.disruptedPods",
        ),
    ),
    Scenario(
        "budget: pods without controller",
        [
            make(budget(maxUnavailable=1), pod("a")),
            count("Pod", 1, is_ready),
            until("PodDisruptionBudget", "web", lambda o: o["status"]["conditions"]),
        ],
        ignore=("Event.NoPods", "#CalculateExpectedPodCountFailed", "#NoControllers"),
    ),
    Scenario(
        "budget: nothing matches",
        [make(budget(minAvailable=1)), allowed(0, 0)],
        ignore=("#NoPods",),
    ),
    Scenario(
        "budget: two for one pod",
        [
            # Of a pod's change upstream tells one of its budgets only: here none has to be told.
            make(workload("ReplicaSet", replicas=1)),
            count("Pod", 1, is_ready),
            make(
                budget(minAvailable=0),
                {**budget(minAvailable=0), "metadata": {"name": "second"}},
            ),
            allowed(1, 1),
            evict(),
        ],
        ignore=("Event.NoPods", "Event.MultiplePodDisruptionBudgets"),
    ),
    Scenario(
        "eviction without budget",
        [make(pod("a")), count("Pod", 1, is_ready), evict(), gone("Pod", "a")],
    ),
]
