"""Pods in every kind of workload, a service on some of them, and a namespace that goes."""

import random
from collections import Counter

from tests.integration.controllers.worlds.world import (
    ENDS,
    TWO,
    app_of,
    items,
    job,
    touch,
    workload,
)

from winkube.api.meta import is_deleting, name_of
from winkube.base.types import JsonObject
from winkube.client.resource import (
    DAEMONSETS,
    DEPLOYMENTS,
    ENDPOINTSLICES,
    JOBS,
    NAMESPACES,
    PODS,
    REPLICASETS,
    SERVICES,
    STATEFULSETS,
    Resource,
)
from winkube.client.rest import ApiClient

EXPECTED_PODS = {
    ("web", "two", "Running"): 9,
    ("fresh", "two", "Running"): 3,
    ("bare", "one", "Running"): 2,
    ("ordered", "two", "Running"): 3,
    ("parallel", "one", "Running"): 4,
    ("every", "two", "Running"): 3,
    ("indexed", "one", "Succeeded"): 6,
    ("fails", "one", "Failed"): 1,
}


class Workloads:
    touched = (DEPLOYMENTS, REPLICASETS, STATEFULSETS, DAEMONSETS, JOBS, PODS)

    async def begin(self, client: ApiClient) -> None:
        """Everything at once, with changes of mind on the way."""

        async def make(resource: Resource, obj: JsonObject) -> None:
            await client.create(resource, obj, namespace="default")

        await make(
            SERVICES,
            {
                "metadata": {"name": "web"},
                "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
            },
        )
        await make(DEPLOYMENTS, workload("web", replicas=6))
        await make(DEPLOYMENTS, workload("fresh", replicas=3, strategy={"type": "Recreate"}))
        await make(REPLICASETS, workload("bare", replicas=8))
        await make(STATEFULSETS, workload("ordered", replicas=3, serviceName="web"))
        parallel = {"serviceName": "web", "podManagementPolicy": "Parallel"}
        await make(STATEFULSETS, workload("parallel", replicas=4, **parallel))
        await make(DAEMONSETS, workload("every"))
        indexed = {"completions": 6, "parallelism": 3, "completionMode": "Indexed"}
        await make(JOBS, job("indexed", ENDS, **indexed))
        fails = {"simulation.winkube.dev/exit": "after=0.1,code=1"}
        await make(JOBS, job("fails", fails, backoffLimit=0))
        await client.create(NAMESPACES, {"metadata": {"name": "doomed"}})
        await client.create(DEPLOYMENTS, workload("lost", replicas=3), namespace="doomed")

    async def change(self, client: ApiClient) -> None:
        async def patch(resource: Resource, name: str, spec: JsonObject) -> None:
            await client.patch(resource, name, {"spec": spec}, namespace="default")

        await patch(DEPLOYMENTS, "web", {"replicas": 9, **TWO})
        await patch(DEPLOYMENTS, "fresh", TWO)
        await patch(REPLICASETS, "bare", {"replicas": 2})
        await patch(STATEFULSETS, "ordered", TWO)
        await patch(DAEMONSETS, "every", TWO)
        await client.delete(NAMESPACES, "doomed")

    async def disturb(self, client: ApiClient, rng: random.Random) -> None:
        await touch(client, self.touched, rng)

    async def state(self, client: ApiClient) -> JsonObject:
        """Without names that are made up and times."""
        pods = [pod for pod in await items(client, PODS) if app_of(pod)]
        slices = await items(client, ENDPOINTSLICES)
        ready = [
            a
            for s in slices
            if name_of(s).startswith("web")
            for e in s["endpoints"] or ()
            if e["conditions"]["ready"]
            for a in e["addresses"]
        ]
        places = {place(pod) for pod in pods if not is_deleting(pod)}
        return {
            "pods": Counter(kind for kind, _ in places),
            "endings": sum(map(is_deleting, pods)),
            "ordered": sorted(name_of(pod) for pod in pods if app_of(pod) == "ordered"),
            "statuses": {
                f"{resource.plural}/{name_of(obj)}": counts(obj["status"])
                for resource in (DEPLOYMENTS, STATEFULSETS, DAEMONSETS, JOBS)
                for obj in await items(client, resource)
            },
            "sets": Counter(
                (s["spec"]["replicas"], s["status"].get("readyReplicas", 0))
                for s in await items(client, REPLICASETS)
                if s["spec"]["replicas"]
            ),
            "service": len(ready) == len(set(ready)) and len(ready),
            "namespaces": sorted(map(name_of, await items(client, NAMESPACES))),
        }

    def is_done(self, found: JsonObject) -> bool:
        every = found["statuses"]
        return (
            dict(found["pods"]) == EXPECTED_PODS
            and not found["endings"]
            and "doomed" not in found["namespaces"]
            and found["service"] == 9
            and every["deployments/web"].get("updatedReplicas")
            == 9
            == every["deployments/web"].get("availableReplicas")
            and every["jobs/indexed"].get("succeeded") == 6
            and every["jobs/fails"].get("failed", 0) >= 1
            and every["statefulsets/ordered"].get("updatedReplicas") == 3
            and every["daemonsets/every"].get("updatedNumberScheduled") == 3
        )


def place(pod: JsonObject) -> tuple[tuple[str, str, str], str]:
    """What the pod is, and which of these it is.

    A Job whose pod was made but not heard of makes another: as upstream's documents say, an index
    may have run twice, and it counts once.
    """
    labels = pod["metadata"]["labels"]
    kind = (labels["app"], pod["spec"]["containers"][0]["image"], pod["status"]["phase"])
    if "batch.kubernetes.io/job-name" in labels:
        return kind, labels.get("batch.kubernetes.io/job-completion-index", "")
    return kind, name_of(pod)


def counts(status: JsonObject) -> JsonObject:
    kept = {
        key: value
        for key, value in status.items()
        if isinstance(value, int) and key != "observedGeneration" and key != "collisionCount"
    }
    conditions = status.get("conditions") or ()
    return {
        **kept,
        "conditions": sorted((c["type"], c["status"], c.get("reason", "")) for c in conditions),
        "indexes": status.get("completedIndexes"),
    }
