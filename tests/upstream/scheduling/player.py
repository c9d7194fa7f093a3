"""Play a scenario with whatever scheduler runs, and tell what came of it.

Nodes belong to the whole cluster, so scenarios are played one after another, each with its own
nodes and namespace. The outcome leaves out what may differ between two right schedulers: uids,
times, how often an event was seen.
"""

import asyncio
import functools
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from tests.upstream.scheduling.scenario import Scenario

from winkube.api.errors import AlreadyExistsError, NotFoundError
from winkube.client.informer import Informer
from winkube.client.resource import (
    NAMESPACES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODDISRUPTIONBUDGETS,
    PODS,
    PRIORITYCLASSES,
    REPLICASETS,
    RUNTIMECLASSES,
    SERVICEACCOUNTS,
    SERVICES,
    STORAGECLASSES,
    Resource,
)
from winkube.client.rest import ApiClient, PatchType
from winkube.testing.tasks import eventually

Json = Any
EVENTS: Final = Resource("events.k8s.io", "v1", "events", True)
PATIENCE: Final = 20.0
RESOURCES: Final = {
    "Pod": PODS,
    "Service": SERVICES,
    "ReplicaSet": REPLICASETS,
    "PodDisruptionBudget": PODDISRUPTIONBUDGETS,
    "PersistentVolumeClaim": PERSISTENTVOLUMECLAIMS,
    "PersistentVolume": PERSISTENTVOLUMES,
}
PROBE_SECONDS: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
PROBE: Final = {
    "metadata": {"generateName": "probe-"},
    "spec": {
        "nodeSelector": {"fits": "nowhere"},
        "containers": [{"name": "c", "image": "none"}],
    },
}
PROTECTED: Final = (PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES)
PRIORITIES: Final = {"low": 1, "mid": 5, "high": 10, "top": 20}
SHARED: Final[list[tuple[Resource, Json]]] = [
    *(
        (PRIORITYCLASSES, {"metadata": {"name": name}, "value": value})
        for name, value in PRIORITIES.items()
    ),
    (
        PRIORITYCLASSES,
        {"metadata": {"name": "polite"}, "value": 10, "preemptionPolicy": "Never"},
    ),
    (
        RUNTIMECLASSES,
        {
            "metadata": {"name": "heavy"},
            "handler": "heavy",
            "overhead": {"podFixed": {"cpu": "500m"}},
        },
    ),
    *(
        (
            STORAGECLASSES,
            {
                "metadata": {"name": name},
                "provisioner": "kubernetes.io/no-provisioner",
                "volumeBindingMode": mode,
            },
        )
        for name, mode in (("now", "Immediate"), ("later", "WaitForFirstConsumer"))
    ),
]


class Player:
    def __init__(
        self, client: ApiClient, prefix: str, quiet: float, known: Mapping[str, Json] | None = None
    ) -> None:
        """``quiet`` is how many seconds nothing has to move for a step to be over.

        A busy machine is quiet before it is done: what is ``known`` to come is waited for.
        """
        self._known = known or {}
        self._client = client
        self._quiet = quiet
        self._prefix = prefix
        self._probes = f"{prefix}-probes"
        self._pods = Informer(client, PODS)
        self._events = Informer(client, EVENTS)
        self._changed = time.monotonic()
        for informer in (self._pods, self._events):
            informer.on_change(self._note)

    def _note(self, key: str, old: Json, new: Json) -> None:
        self._changed = time.monotonic()

    @asynccontextmanager
    async def ready(self) -> AsyncIterator["Player"]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(i.run()) for i in (self._pods, self._events)]
            for resource, obj in SHARED:
                with suppress(AlreadyExistsError):
                    await self._client.create(resource, obj)
            await self._add_namespace(self._probes)
            await self._pods.synced.wait()
            await self._events.synced.wait()
            yield self
            for task in tasks:
                task.cancel()

    async def play(self, scenario: Scenario, number: int) -> Json:
        namespace = f"{self._prefix}-{number}"
        await self._add_namespace(namespace)
        try:
            for node in scenario.nodes:
                await self._add_node(node)
            for obj in scenario.before:
                await self._create(obj, namespace)
            if scenario.nodes:
                await self._await_nodes(len(scenario.nodes))
            return await self._steps(scenario, namespace)
        finally:
            await self._clear(scenario, namespace)

    async def _add_namespace(self, name: str) -> None:
        labels = {"team": "t"}
        await self._client.create(NAMESPACES, {"metadata": {"name": name, "labels": labels}})
        with suppress(AlreadyExistsError):
            await self._client.create(
                SERVICEACCOUNTS, {"metadata": {"name": "default"}}, namespace=name
            )

    async def _add_node(self, node: Json) -> None:
        """Servers taint new nodes as not ready, and a node controller would see that they are."""
        made = await self._client.create(NODES, node)
        spec = {**made["spec"], "taints": node["spec"].get("taints") or []}
        await self._client.update(NODES, {**made, "spec": spec})

    async def _await_nodes(self, count: int) -> None:
        """Wait until the scheduler has heard of these nodes: it may hear of a later pod first.

        A pod that fits nowhere is told how many nodes there are and what is wrong with them.
        """
        for seconds in PROBE_SECONDS:
            made = await self._client.create(PODS, PROBE, namespace=self._probes)
            knows = functools.partial(self._knows_nodes, made["metadata"]["name"], count)
            told = True
            try:
                await eventually(knows, seconds=seconds)
            except TimeoutError:
                # What it was told before it is not told again for long: another one asks.
                told = False
            await self._delete(made["metadata"]["name"], self._probes)
            if told:
                return

    def _knows_nodes(self, name: str, count: int) -> bool:
        said = [
            condition.get("message", "")
            for pod in self._pods_of(self._probes)
            if pod["metadata"]["name"] == name
            for condition in (pod.get("status") or {}).get("conditions") or ()
        ]
        return any(each.startswith(f"0/{count} nodes") and "not-ready" not in each for each in said)

    async def _create(self, obj: Json, namespace: str) -> None:
        resource = RESOURCES[obj["kind"]]
        where = namespace if resource.namespaced else None
        made = await self._client.create(resource, obj, namespace=where)
        if "status" in obj:
            await self._client.patch(
                resource,
                made["metadata"]["name"],
                {"status": obj["status"]},
                namespace=namespace,
                subresource="status",
            )

    async def _steps(self, scenario: Scenario, namespace: str) -> Json:
        seen: list[Json] = []
        known = self._known.get(scenario.name) or {}
        sights = known.get("seen") or [None] * len(scenario.steps)
        for step, sight in zip(scenario.steps, sights, strict=True):
            await self._step(step, namespace)
            seen.append(await self._settled(namespace, self._quiet, sight))
        places: dict[str, set[str]] = {}
        for pods in seen:
            _add_places(places, pods)
        again = [step for step in scenario.steps if step.get("kind") == "Pod"]
        for _ in range(scenario.times - 1):
            for step in again:
                await self._delete(step["metadata"]["name"], namespace)
            for step in again:
                await self._step(step, namespace)
                _add_places(places, await self._settled(namespace, quiet=0.05))
        with suppress(TimeoutError):
            await eventually(
                lambda: self._told(namespace) == known.get("events", self._told(namespace)),
                seconds=PATIENCE,
            )
        return {
            "seen": [_without_nodes(pods) for pods in seen],
            "places": {name: sorted(found) for name, found in places.items()},
            "events": self._told(namespace),
        }

    async def _step(self, step: Json, namespace: str) -> None:
        if "delete" in step:
            await self._delete(step["delete"], namespace, step.get("grace", 0))
        elif "patch" in step:
            await self._client.patch(
                PODS,
                step["patch"],
                step["body"],
                namespace=namespace,
                patch_type=PatchType.MERGE,
            )
        elif "change" in step:
            await self._client.patch(
                NODES, step["change"], step["body"], subresource=step.get("subresource")
            )
        elif "node" in step:
            await self._add_node(step["node"])
        else:
            await self._create(step, namespace)

    async def _delete(self, name: str, namespace: str, grace: int = 0) -> None:
        try:
            await self._client.delete(
                PODS, name, namespace=namespace, options={"gracePeriodSeconds": grace}
            )
        except NotFoundError:
            return

    # -- waiting and looking

    async def _settled(self, namespace: str, quiet: float, known: Json = None) -> dict[str, Json]:
        """The pods, when all have been looked at and nothing has moved for a while."""
        deadline = time.monotonic() + PATIENCE
        self._changed = time.monotonic()
        while time.monotonic() < deadline:
            await asyncio.sleep(0.02)
            still = time.monotonic() - self._changed > quiet
            if not still or not all(_is_decided(pod) for pod in self._pods_of(namespace)):
                continue
            if known is None or _without_nodes(self._sights(namespace)) == known:
                break
        return self._sights(namespace)

    def _sights(self, namespace: str) -> dict[str, Json]:
        return {pod["metadata"]["name"]: _sight(pod) for pod in self._pods_of(namespace)}

    def _pods_of(self, namespace: str) -> list[Json]:
        return [p for p in self._pods.list() if p["metadata"]["namespace"] == namespace]

    def _told(self, namespace: str) -> list[Json]:
        found = {
            tuple(
                str(each)
                for each in (
                    event["regarding"]["name"],
                    event["type"],
                    event["reason"],
                    event.get("action"),
                    event.get("reportingController"),
                    _named(event.get("note") or "", namespace),
                    (event.get("related") or {}).get("name") or "",
                )
            )
            for event in self._events.list()
            if event["metadata"]["namespace"] == namespace
        }
        return [list(each) for each in sorted(found)]

    async def _clear(self, scenario: Scenario, namespace: str) -> None:
        for pod in self._pods_of(namespace):
            await self._delete(pod["metadata"]["name"], namespace)
        nodes = [*scenario.nodes, *(step["node"] for step in scenario.steps if "node" in step)]
        for node in nodes:
            await self._client.delete(NODES, node["metadata"]["name"])
        for obj in scenario.before:
            resource, name = RESOURCES[obj["kind"]], obj["metadata"]["name"]
            if resource is PODS:
                continue
            where = namespace if resource.namespaced else None
            with suppress(NotFoundError):
                await self._client.delete(resource, name, namespace=where)
                if resource in PROTECTED:
                    # Nobody is there to see that it may go.
                    free = {"metadata": {"finalizers": None}}
                    await self._client.patch(resource, name, free, namespace=where)
        await eventually(lambda: not self._pods_of(namespace), seconds=PATIENCE)


def _without_nodes(pods: dict[str, Json]) -> dict[str, Json]:
    return {name: {k: v for k, v in pod.items() if k != "node"} for name, pod in pods.items()}


def _add_places(places: dict[str, set[str]], pods: dict[str, Json]) -> None:
    for name, pod in pods.items():
        if "node" in pod:
            places.setdefault(name, set()).add(pod["node"])


def _named(note: str, namespace: str) -> str:
    """The note without what is different every time: uids, the namespace, and tied nodes."""
    words = [
        "UID" if word.count("-") == 4 and len(word) == 36 else word
        for word in note.replace(namespace, "NAMESPACE").split(" ")
    ]
    if words[:2] == ["Successfully", "assigned"]:
        words[-1] = "NODE"
    return " ".join(words)


def _is_decided(pod: Json) -> bool:
    spec = pod["spec"]
    if spec.get("nodeName") or spec.get("schedulingGates") or spec["schedulerName"] == "nobody":
        return True
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "PodScheduled" for each in conditions)


def _sight(pod: Json) -> Json:
    status = pod.get("status") or {}
    namespace = pod["metadata"]["namespace"]
    kept = ("type", "status", "reason", "observedGeneration")
    found: Json = {
        "conditions": [
            {
                **{k: each.get(k) for k in kept},
                "message": (each.get("message") or "").replace(namespace, "NAMESPACE") or None,
            }
            for each in status.get("conditions") or ()
        ],
        "nominated": status.get("nominatedNodeName"),
        "leaving": "deletionTimestamp" in pod["metadata"],
    }
    if pod["spec"].get("nodeName"):
        found["node"] = pod["spec"]["nodeName"]
    return found
