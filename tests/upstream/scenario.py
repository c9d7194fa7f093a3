"""The same workloads on two control planes: scenarios, and the stage they are played on.

A scenario is a list of steps in a namespace of its own. A step is a coroutine function of the
``Stage``: make, change or remove objects, wait until something holds, look. Everything is read
from watches, so that waiting costs nothing; what never comes is written down, not raised: the
comparison then says where the two parted.
"""

import asyncio
import contextlib
import copy
import functools
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from tests.upstream.settled import normalise_events, normalise_objects, revision_words

from winkube.client import resource as resources
from winkube.client.informer import Informer
from winkube.client.resource import Resource
from winkube.client.rest import ApiClient

Json = Any
Step = Callable[["Stage"], Awaitable[None]]
Test = Callable[[Json], object]

PATIENCE: Final = 60.0
QUIET_SECONDS: Final = 1.0
LONG_QUIET_SECONDS: Final = 3.0
SLOW_SECONDS: Final = 30.0

KINDS: Final[dict[str, Resource]] = {
    "Pod": resources.PODS,
    "Service": resources.SERVICES,
    "Endpoints": resources.ENDPOINTS,
    "EndpointSlice": resources.ENDPOINTSLICES,
    "Event": resources.EVENTS,
    "ConfigMap": resources.CONFIGMAPS,
    "ServiceAccount": resources.SERVICEACCOUNTS,
    "PersistentVolumeClaim": resources.PERSISTENTVOLUMECLAIMS,
    "PersistentVolume": resources.PERSISTENTVOLUMES,
    "StorageClass": resources.STORAGECLASSES,
    "ReplicationController": resources.REPLICATIONCONTROLLERS,
    "Deployment": resources.DEPLOYMENTS,
    "ReplicaSet": resources.REPLICASETS,
    "StatefulSet": resources.STATEFULSETS,
    "DaemonSet": resources.DAEMONSETS,
    "ControllerRevision": resources.CONTROLLERREVISIONS,
    "Job": resources.JOBS,
    "CronJob": resources.CRONJOBS,
    "PodDisruptionBudget": resources.PODDISRUPTIONBUDGETS,
    "Node": resources.NODES,
    "Namespace": resources.NAMESPACES,
    "Secret": resources.SECRETS,
    "ResourceQuota": resources.RESOURCEQUOTAS,
    "ClusterRole": resources.CLUSTERROLES,
    "VolumeAttributesClass": resources.VOLUMEATTRIBUTESCLASSES,
    "ServiceCIDR": resources.SERVICECIDRS,
}
_CLUSTER: Final = frozenset(
    {
        "ClusterRole",
        "Namespace",
        "Node",
        "PersistentVolume",
        "ServiceCIDR",
        "StorageClass",
        "VolumeAttributesClass",
    }
)
# Every namespace has these; only scenarios about them look at them.
_FURNITURE: Final = frozenset({"ConfigMap", "ServiceAccount"})


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    steps: Sequence[Step]
    # Kinds looked at besides those every scenario looks at.
    also: Sequence[str] = ()
    # What is not compared, as "Kind.path": what depends on timing and not on behaviour.
    ignore: Sequence[str] = ()
    # Waits for about a minute: begun first.
    patient: bool = False
    # Gives everybody's new Services other addresses: played when all others are over.
    last: bool = False


class Sight:
    """Watches of one plane, shared by all scenarios that run on it."""

    def __init__(self, client: ApiClient) -> None:
        self._informers = {kind: Informer(client, res) for kind, res in KINDS.items()}
        self._changed: dict[str, float] = defaultdict(time.monotonic)
        self._waiters: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._versions: dict[str, int] = defaultdict(int)
        for kind, informer in self._informers.items():
            informer.on_change(functools.partial(self._note, kind))

    def version(self, kind: str) -> int:
        return self._versions[kind]

    def _note(self, kind: str, key: str, old: Json, new: Json) -> None:
        obj = new or old
        version = int(obj["metadata"]["resourceVersion"])
        self._versions[kind] = max(self._versions[kind], version)
        if kind == "Event":
            self._changed["events"] = time.monotonic()
        place = obj["metadata"].get("namespace", "")
        self._changed[place] = time.monotonic()
        self._waiters[place].set()
        if not place:
            for event in self._waiters.values():
                event.set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for kind, informer in self._informers.items():
                group.create_task(informer.run(), name=kind)

    async def synced(self) -> None:
        for informer in self._informers.values():
            await informer.synced.wait()

    def every(self, kind: str, namespace: str) -> list[Json]:
        found = self._informers[kind].list()
        if kind in _CLUSTER:
            return found
        return [obj for obj in found if obj["metadata"].get("namespace") == namespace]

    def get(self, kind: str, namespace: str, name: str) -> Json:
        return self._informers[kind].get(name if kind in _CLUSTER else f"{namespace}/{name}")

    async def until(self, namespace: str, holds: Callable[[], object], seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not holds():
            event = self._waiters[namespace]
            event.clear()
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            try:
                # Some tests depend on time too: look twice a second at least.
                await asyncio.wait_for(event.wait(), min(left, 0.5))
            except TimeoutError:
                continue
        return True

    async def change(self, namespace: str, seconds: float) -> None:
        event = self._waiters[namespace]
        event.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(event.wait(), seconds)

    async def quiet(self, namespace: str, seconds: float) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            left = self._changed[namespace] + seconds - time.monotonic()
            if left <= 0:
                return
            await asyncio.sleep(left)


@dataclass(slots=True)
class Stage:
    client: ApiClient
    sight: Sight
    namespace: str
    scenario: Scenario
    # What a record says of each look: reached sooner or later, however busy the machine is.
    expected: dict[str, list[Json]] = field(default_factory=dict)
    said: list[Json] = field(default_factory=list)
    # What template hashes stand for.
    words: dict[str, str] = field(default_factory=dict)

    def every(self, kind: str) -> list[Json]:
        return self.sight.every(kind, self.namespace)

    def get(self, kind: str, name: str) -> Json:
        return self.sight.get(kind, self.namespace, name)

    def knows(self, kind: str, name: str, version: int) -> bool:
        """Whether the watch has told of this version, or of the object's end."""
        obj = self.get(kind, name)
        if obj is None:
            return self.sight.version(kind) >= version
        return int(obj["metadata"]["resourceVersion"]) >= version

    def ends(self, kind: str, name: str, uid: str) -> bool:
        """Whether the object is gone, going, or another has its name already."""
        obj = self.get(kind, name)
        return (
            obj is None or "deletionTimestamp" in obj["metadata"] or obj["metadata"]["uid"] != uid
        )

    async def wait(self, what: str, holds: Callable[[], object], seconds: float) -> None:
        if not await self.sight.until(self.namespace, holds, seconds):
            self.said.append({"never": what})

    async def look(self, name: str) -> None:
        """Write down what there is once all is quiet; if a record is known, once it is that."""
        wanted = self.expected.get(name)
        await self.sight.quiet(self.namespace, QUIET_SECONDS if wanted else LONG_QUIET_SECONDS)
        found = self._objects()
        deadline = time.monotonic() + SLOW_SECONDS
        while wanted is not None and found != wanted and time.monotonic() < deadline:
            await self.sight.change(self.namespace, deadline - time.monotonic())
            found = self._objects()
        self.said.append({"look": name, "objects": found})

    def _objects(self) -> list[Json]:
        kinds = set(KINDS) - {"Event"} - _CLUSTER - (_FURNITURE - set(self.scenario.also))
        objects = [
            {**copy.deepcopy(obj), "kind": kind}
            for kind in sorted(kinds)
            for obj in self.every(kind)
        ]
        for kind in sorted(_CLUSTER & set(self.scenario.also)):
            objects += [
                {**copy.deepcopy(obj), "kind": kind}
                for obj in self.every(kind)
                if self._concerns(obj["metadata"])
            ]
        self.words |= revision_words(objects)
        return normalise_objects(objects, self.namespace, self.scenario.ignore, self.words)

    def _concerns(self, metadata: Json) -> bool:
        said = (metadata["name"], *(metadata.get("annotations") or {}).values())
        return any(self.namespace in text for text in said)

    async def hear(self) -> None:
        """Events come late when many scenarios play at once: heard when all is over."""
        wanted = self.expected.get("events")
        deadline = time.monotonic() + SLOW_SECONDS
        found = self._events()
        while wanted is not None and found != wanted and time.monotonic() < deadline:
            await self.sight.change(self.namespace, deadline - time.monotonic())
            found = self._events()
        self.said.append({"look": "events", "objects": found})

    def _events(self) -> list[Json]:
        return normalise_events(
            self.every("Event"), self.namespace, self.scenario.ignore, self.words
        )


async def play(
    client: ApiClient, sight: Sight, scenario: Scenario, namespace: str, expected: list[Json]
) -> Stage:
    looks = {entry["look"]: entry["objects"] for entry in expected if "look" in entry}
    stage = Stage(client, sight, namespace, scenario, looks)
    await client.create(resources.NAMESPACES, {"metadata": {"name": namespace}})
    await stage.wait("account", lambda: stage.get("ServiceAccount", "default"), PATIENCE)
    for step in scenario.steps:
        await step(stage)
    await stage.look("end")
    return stage


@asynccontextmanager
async def sight_of(client: ApiClient) -> AsyncIterator[Sight]:
    sight = Sight(client)
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(sight.run())
        await sight.synced()
        try:
            yield sight
        finally:
            watching.cancel()
