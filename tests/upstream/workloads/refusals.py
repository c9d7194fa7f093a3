"""Workloads whose pods the API server refuses: what they say, and what they do later."""

from typing import Any

from tests.upstream.scenario import Scenario, Step
from tests.upstream.steps import change, count, make, told, until
from tests.upstream.workloads.shapes import (
    condition,
    is_ready,
    job,
    job_over,
    service,
    template,
    workload,
)

Json = Any


def quota(**hard: str) -> Json:
    return {"kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": hard}}


def watched(**hard: str) -> Step:
    """Known before anybody is refused."""
    return until("ResourceQuota", "few", lambda o: set(o["status"]["used"]) == set(hard))


def ready_pods(number: int) -> Step:
    return count("Pod", number, is_ready)


# How often a refusal is told, and how many wait when it is looked at, depends on retries.
TIMES = ("#FailedCreate", "#SuccessfulCreate", "Event.Scheduled")
WINDOWS = template(
    nodeSelector={"kubernetes.io/os": "windows"}, tolerations=[{"operator": "Exists"}]
)
SCENARIOS = [
    Scenario(
        "quota: a Deployment",
        [
            make(quota(pods="1")),
            watched(pods="1"),
            make(workload("Deployment", replicas=2)),
            until("Deployment", "web", lambda o: condition(o, "ReplicaFailure")),
            ready_pods(1),
            change("ResourceQuota", "few", {"spec": {"hard": {"pods": "5"}}}),
            # Upstream tries again after a delay that doubles.
            count("Pod", 2, is_ready, seconds=120),
            until("Deployment", "web", lambda o: not condition(o, "ReplicaFailure")),
        ],
        ignore=TIMES,
        patient=True,
    ),
    Scenario(
        "quota: a StatefulSet",
        [
            make(quota(pods="1")),
            watched(pods="1"),
            make(service("db", clusterIP="None")),
            make(workload("StatefulSet", replicas=2, serviceName="db")),
            ready_pods(1),
            told("FailedCreate"),
            until("StatefulSet", "web", lambda o: o["status"].get("availableReplicas") == 1),
        ],
        ignore=TIMES,
    ),
    Scenario(
        "quota: a StatefulSet's claims",
        [
            make(quota(persistentvolumeclaims="0")),
            watched(persistentvolumeclaims="0"),
            make(
                workload(
                    "StatefulSet",
                    replicas=1,
                    serviceName="db",
                    volumeClaimTemplates=[
                        {
                            "metadata": {"name": "data"},
                            "spec": {
                                "accessModes": ["ReadWriteOnce"],
                                "resources": {"requests": {"storage": "1Gi"}},
                            },
                        }
                    ],
                )
            ),
            told("FailedCreate", 2),
        ],
        ignore=TIMES,
    ),
    Scenario(
        "quota: a DaemonSet",
        [
            make(quota(pods="1")),
            watched(pods="1"),
            make(workload("DaemonSet", template=WINDOWS)),
            ready_pods(1),
            told("FailedCreate"),
            until("DaemonSet", "web", lambda o: o["status"].get("numberAvailable") == 1),
        ],
        ignore=TIMES,
    ),
    Scenario(
        "quota: a Job",
        [
            make(quota(pods="1")),
            watched(pods="1"),
            make(job(completions=2, parallelism=2, notes={"exit": "after=1000,code=0"})),
            ready_pods(1),
            told("FailedCreate"),
            until("Job", "web", lambda o: o["status"].get("ready") == 1),
        ],
        ignore=TIMES,
    ),
    Scenario(
        "quota: requests that must be named",
        [
            make(quota(**{"requests.cpu": "1"})),
            watched(**{"requests.cpu": "1"}),
            make(workload("ReplicaSet", replicas=1)),
            until("ReplicaSet", "web", lambda o: condition(o, "ReplicaFailure")),
        ],
        ignore=TIMES,
    ),
    Scenario(
        "no account: a Job",
        [
            make(job(pod={"serviceAccountName": "nobody"})),
            told("FailedCreate"),
        ],
        ignore=TIMES,
    ),
    Scenario(
        "no account, until it is there",
        [
            make(job(pod={"serviceAccountName": "somebody"}, backoffLimit=0)),
            told("FailedCreate"),
            make({"kind": "ServiceAccount", "metadata": {"name": "somebody"}}),
            until("Job", "web", job_over),
        ],
        ignore=TIMES,
        patient=True,
    ),
]
