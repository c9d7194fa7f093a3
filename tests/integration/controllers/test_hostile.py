"""Objects that pass validation and make no sense: they cost their owner, and nobody else.

One cluster of processes with simulated nodes holds all of them at once. The test is that another
team's Deployment, Service and Job come up beside them, that statuses are right, and that
everything can be deleted again.
"""

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from winkube.api.errors import ApiError
from winkube.api.meta import name_of
from winkube.base.types import JsonObject
from winkube.client.resource import (
    CONFIGMAPS,
    CRONJOBS,
    DAEMONSETS,
    DEPLOYMENTS,
    ENDPOINTSLICES,
    JOBS,
    NAMESPACES,
    PODDISRUPTIONBUDGETS,
    PODS,
    REPLICASETS,
    REPLICATIONCONTROLLERS,
    SERVICES,
    STATEFULSETS,
    Resource,
)
from winkube.client.rest import ApiClient
from winkube.testing.planes import api_server, controllers, nodes, scheduler

HUGE = 2**31 - 1
SECONDS = 600.0
# Each has nodes of its own: it is not the room on the nodes that is fought for.
FLEETS = [{"name": team, "count": 2, "labels": {"team": team}} for team in ("hostile", "peaceful")]


def template(app: str, **spec: Any) -> JsonObject:
    container = {"name": "c", "image": "one"}
    own = {"team": "peaceful" if "side" in app or "after" in app else "hostile"}
    body = {
        "containers": [container],
        "nodeSelector": own,
        "terminationGracePeriodSeconds": 0,
        **spec,
    }
    return {"metadata": {"labels": {"app": app}}, "spec": body}


def workload(name: str, pod: JsonObject | None = None, **spec: Any) -> JsonObject:
    body = {"selector": {"matchLabels": {"app": name}}, "template": pod or template(name), **spec}
    return {"metadata": {"name": name}, "spec": body}


def job(name: str, **spec: Any) -> JsonObject:
    pod = template(name, restartPolicy="Never")
    pod["metadata"]["annotations"] = {"simulation.winkube.dev/exit": "after=0,code=0"}
    return {"metadata": {"name": name}, "spec": {"template": pod, **spec}}


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[ApiClient]:
    with (
        api_server("winkube", tmp_path) as plane,
        controllers("winkube", plane),
        scheduler("winkube", plane),
        nodes(plane, *FLEETS),
    ):
        async with ApiClient(plane.client) as client:
            for namespace in ("hostile", "peaceful"):
                await client.create(NAMESPACES, {"metadata": {"name": namespace}})
                await until(functools.partial(has_root_ca, client, namespace))
            yield client


async def has_root_ca(client: ApiClient, namespace: str) -> bool:
    found = await client.list(CONFIGMAPS, namespace=namespace)
    return any(name_of(obj) == "kube-root-ca.crt" for obj in found["items"])


async def until(holds: Callable[[], Awaitable[Any]]) -> None:
    async with asyncio.timeout(SECONDS):
        while not await holds():  # noqa: ASYNC110 - the state is in another process
            await asyncio.sleep(0.1)


async def peaceful_work_is_done(client: ApiClient, name: str) -> None:
    """A Deployment behind a Service and a Job, in a namespace of their own."""

    async def make(resource: Resource, obj: JsonObject) -> None:
        await client.create(resource, obj, namespace="peaceful")

    ports = {"selector": {"app": name}, "ports": [{"port": 80}]}
    await make(SERVICES, {"metadata": {"name": name}, "spec": ports})
    await make(DEPLOYMENTS, workload(name, replicas=3))
    await make(JOBS, job(f"{name}-job", completions=3, parallelism=3))

    async def done() -> bool:
        deployment = await client.get(DEPLOYMENTS, name, namespace="peaceful")
        finished = await client.get(JOBS, f"{name}-job", namespace="peaceful")
        slices = await client.list(
            ENDPOINTSLICES,
            namespace="peaceful",
            label_selector=f"kubernetes.io/service-name={name}",
        )
        ready = [e for s in slices["items"] for e in s.get("endpoints") or ()]
        return (
            deployment["status"].get("availableReplicas") == 3
            and finished["status"].get("succeeded") == 3
            and len(ready) == 3
        )

    await until(done)


async def work_beside(client: ApiClient, name: str) -> int:
    """How many changes the whole cluster made until the peaceful work was done."""

    async def revision() -> int:
        listing = await client.list(PODS, namespace="peaceful", limit=1)
        return int(listing["metadata"]["resourceVersion"])

    before = await revision()
    await peaceful_work_is_done(client, name)
    return await revision() - before


async def count_pods(client: ApiClient) -> int:
    listing = await client.list(PODS, namespace="hostile", limit=1)
    return len(listing["items"]) + int(listing["metadata"].get("remainingItemCount") or 0)


MONSTERS: list[tuple[Resource, JsonObject]] = [
    (DEPLOYMENTS, workload("huge", replicas=HUGE)),
    (REPLICASETS, workload("huge-replicas", replicas=HUGE)),
    (REPLICATIONCONTROLLERS, workload("huge-rc", replicas=HUGE)),
    (JOBS, job("huge-job", completions=HUGE, parallelism=HUGE)),
    (STATEFULSETS, workload("huge-set", replicas=HUGE, serviceName="x")),
    (
        STATEFULSETS,
        workload("huge-crowd", replicas=HUGE, serviceName="x", podManagementPolicy="Parallel"),
    ),
]
MONSTERS[2][1]["spec"]["selector"] = {"app": "huge-rc"}


async def test_absurd_numbers_of_replicas_starve_nobody(client: ApiClient) -> None:
    await peaceful_work_is_done(client, "first-beside-nobody")
    alone = await work_beside(client, "beside-nobody")
    for resource, obj in MONSTERS:
        await client.create(resource, obj, namespace="hostile")
    # What the others pay is a turn now and then: it does not grow with what the monsters have.
    for size in (500, 2_000):

        async def there(size: int = size) -> bool:
            return await count_pods(client) >= size

        await until(there)
        beside = await work_beside(client, f"beside-{size}")
        assert beside < 30 * alone, f"{beside} changes beside {size} pods, {alone} alone"
    for resource, obj in MONSTERS:
        options = {"propagationPolicy": "Background"}
        await client.delete(resource, name_of(obj), namespace="hostile", options=options)

    async def gone() -> bool:
        return not await count_pods(client)

    await until(gone)
    await peaceful_work_is_done(client, "after-huge")


async def test_senseless_objects_starve_nobody(client: ApiClient) -> None:
    async def make(resource: Resource, obj: JsonObject) -> None:
        await client.create(resource, obj, namespace="hostile")

    await make(DEPLOYMENTS, workload("none", replicas=0))
    await make(DAEMONSETS, workload("nowhere", template("nowhere", nodeSelector={"no": "node"})))
    many = [{"name": f"KEY_{n}", "value": "x" * 100} for n in range(10_000)]
    verbose = template("verbose")
    verbose["spec"]["containers"][0]["env"] = many
    await make(DEPLOYMENTS, workload("verbose", verbose, replicas=3))
    crowd = [{"name": f"c-{n}", "image": "one", "env": many[:10]} for n in range(500)]
    await make(REPLICASETS, workload("crowded", template("crowded", containers=crowd), replicas=2))
    requirements = [{"key": f"k{n}", "operator": "DoesNotExist"} for n in range(1_000)]
    every = {"matchExpressions": requirements}
    for number in range(30):
        await make(
            PODDISRUPTIONBUDGETS,
            {"metadata": {"name": f"b-{number}"}, "spec": {"selector": every, "maxUnavailable": 0}},
        )
        await make(
            SERVICES,
            {
                "metadata": {"name": f"s-{number}"},
                "spec": {
                    "selector": {"app": "verbose"},
                    "ports": [{"port": port, "name": f"p{port}"} for port in range(1, 101)],
                },
            },
        )
    old = {
        "metadata": {"name": "old"},
        "spec": {
            "schedule": "* * * * *",
            "startingDeadlineSeconds": 10**9,
            "jobTemplate": {"spec": job("x")["spec"]},
        },
    }
    await make(CRONJOBS, old)
    await make(JOBS, job("idle", completions=HUGE, parallelism=0))
    await make(JOBS, job("indexed", completions=100_000, parallelism=0, completionMode="Indexed"))
    await make(
        CONFIGMAPS,
        {
            "metadata": {
                "name": "many-finalizers",
                "finalizers": [f"example.com/f-{n}" for n in range(1_000)],
            }
        },
    )
    await peaceful_work_is_done(client, "beside")
    verbose_now = await client.get(DEPLOYMENTS, "verbose", namespace="hostile")
    await until(lambda: available(client, "verbose", 3))
    assert len(verbose_now["spec"]["template"]["spec"]["containers"][0]["env"]) == 10_000


async def available(client: ApiClient, name: str, wanted: int) -> bool:
    status = (await client.get(DEPLOYMENTS, name, namespace="hostile"))["status"]
    return bool(status.get("availableReplicas") == wanted)


async def test_owners_that_own_each_other_are_collected(client: ApiClient) -> None:
    async def make(name: str, owner: JsonObject | None = None) -> JsonObject:
        metadata: dict[str, Any] = {"name": name}
        if owner is not None:
            metadata["ownerReferences"] = [reference(owner)]
        return await client.create(CONFIGMAPS, {"metadata": metadata}, namespace="hostile")

    first = await make("first")
    second = await make("second", first)
    own = {"metadata": {"ownerReferences": [reference(second)]}}
    await client.patch(CONFIGMAPS, "first", own, namespace="hostile")
    chain = second
    for number in range(50):
        chain = await make(f"chain-{number}", chain)
    nobody = {**first, "metadata": {**first["metadata"], "name": "nobody", "uid": "no-such-uid"}}
    await make("orphan", nobody)
    options = {"propagationPolicy": "Foreground"}
    await client.delete(CONFIGMAPS, "first", namespace="hostile", options=options)

    async def only_ours() -> bool:
        found = await client.list(CONFIGMAPS, namespace="hostile")
        return {name_of(obj) for obj in found["items"]} <= {"kube-root-ca.crt"}

    await until(only_ours)
    with pytest.raises(ApiError):
        await client.get(CONFIGMAPS, "first", namespace="hostile")


def reference(owner: JsonObject) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": name_of(owner),
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": True,
    }
