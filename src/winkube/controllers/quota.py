"""ResourceQuota status: what a namespace may use, and what it uses.

Admission charges a quota for what is created; this controller counts anew when something goes, when
a quota changes, and every few minutes. Which kinds to look at follows from the quotas themselves: a
cluster without quotas costs nothing. After a creation it looks once more, a little later: a count
that was made while the object was on its way did not see it.
"""

import asyncio
from collections.abc import Iterable
from typing import Final

from winkube.aio.supervise import repeat
from winkube.api.meta import name_of, namespace_of
from winkube.api.quota.amounts import ZERO, Amounts, add_to, amounts, equal, mask, to_json
from winkube.api.quota.evaluators import SPECIAL, Evaluator, evaluator_for
from winkube.api.quota.pod import is_counted, is_terminating
from winkube.api.quota.scopes import attribute_classes
from winkube.base.types import JsonObject
from winkube.client.discovery import discover
from winkube.client.informer import Informer
from winkube.client.resource import RESOURCEQUOTAS, Resource
from winkube.controllers.controller import Context, Controller
from winkube.controllers.indexes import NAMESPACE

RESYNC_SECONDS: Final = 300.0
DISCOVERY_SECONDS: Final = 30.0
SECOND_LOOK_SECONDS: Final = 1.0
_NEEDED: Final = frozenset({"create", "list", "watch", "delete"})
_COUNT: Final = "count/"


def counted_resources(hard: Iterable[str]) -> list[str]:
    """The resources (``deployments.apps``) whose objects these names of a quota are about."""
    names = list(hard)
    found = {resource for resource, evaluator in SPECIAL.items() if evaluator.matching(names)}
    for name in names:
        resource = name.removeprefix(_COUNT)
        if resource != name and evaluator_for(resource) is not None:
            found.add(resource)
    return sorted(found)


def plan_usage(
    quota: JsonObject, evaluator: Evaluator, objects: Iterable[tuple[JsonObject, Amounts]]
) -> Amounts:
    """What the objects in the quota's scopes take together; zero is said as such."""
    hard = (quota.get("spec") or {}).get("hard") or {}
    total: Amounts = dict.fromkeys(evaluator.matching(hard), ZERO)
    for obj, usage in objects:
        if evaluator.covers(quota, obj):
            add_to(total, usage)
    return mask(total, hard)


def plan_status(quota: JsonObject, usage: Amounts) -> JsonObject | None:
    """The status to write; None when the quota says so already."""
    hard = amounts((quota.get("spec") or {}).get("hard"))
    status = quota.get("status") or {}
    before = amounts(status.get("used"))
    used = mask({**before, **usage}, hard)
    known = "hard" in status and "used" in status
    if known and equal(hard, amounts(status["hard"])) and equal(used, before):
        return None
    return {"hard": to_json(hard), "used": to_json(used)}


def frees(resource: str, old: JsonObject, new: JsonObject, now: float) -> bool:
    """Whether an update may give something back (or take it) without an admission's knowledge."""
    if resource == "pods":
        ended = is_counted(old, now) and not is_counted(new, now)
        return ended or is_terminating(old) != is_terminating(new) or _resized(old, new)
    if resource == "services":
        return _counted_type(old) != _counted_type(new)
    if resource == "persistentvolumeclaims":
        before, after = (
            (each.get("status") or {}).get("allocatedResources") for each in (old, new)
        )
        return before != after or attribute_classes(old) != attribute_classes(new)
    return False


def _resized(old: JsonObject, new: JsonObject) -> bool:
    after = dict(_container_resources(new))
    return any(name in after and after[name] != was for name, was in _container_resources(old))


def _container_resources(pod: JsonObject) -> list[tuple[str, JsonObject | None]]:
    status = pod.get("status") or {}
    listed = [
        *(status.get("containerStatuses") or ()),
        *(status.get("initContainerStatuses") or ()),
    ]
    return [(entry.get("name", ""), entry.get("resources")) for entry in listed]


def _counted_type(service: JsonObject) -> str:
    kind = (service.get("spec") or {}).get("type")
    return kind if kind in ("NodePort", "LoadBalancer") else ""


class _Source:
    """The objects of one resource by namespace, and what each takes."""

    def __init__(self, name: str, informer: Informer) -> None:
        evaluator = evaluator_for(name)
        assert evaluator is not None
        self.evaluator = evaluator
        self.informer = informer
        self._known: dict[str, Amounts] = {}
        informer.add_index(NAMESPACE, lambda obj: (namespace_of(obj),))

    def forget(self, key: str) -> None:
        self._known.pop(key, None)

    def objects(self, namespace: str, now: float) -> Iterable[tuple[JsonObject, Amounts]]:
        for obj in self.informer.by_index(NAMESPACE, namespace):
            key = f"{namespace}/{name_of(obj)}"
            usage = self._known.get(key)
            if usage is None:
                usage = self.evaluator.usage(obj, now)
                # What is being deleted is counted until a moment that is still to come.
                if not obj["metadata"].get("deletionTimestamp"):
                    self._known[key] = usage
            yield obj, usage


class ResourceQuotaController(Controller):
    name = "resourcequota-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._quotas = self.informer(RESOURCEQUOTAS)
        self._quotas.add_index(NAMESPACE, lambda obj: (namespace_of(obj),))
        self._quotas.on_change(self._quota_changed)
        self._sources: dict[str, _Source] = {}
        self._served: dict[str, Resource] = {}
        self._discovered: float | None = None
        # Two workers must not both start to follow a resource, nor the second take it for unserved.
        self._finding = asyncio.Lock()
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            self._group = group
            resync = repeat(RESYNC_SECONDS, self._count_all, name="quota resync")
            group.create_task(resync, name="quota resync")
            group.create_task(super().run(), name=self.name)

    def _quota_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        """Of a quota only the wish concerns us: its status is our own, or admission's."""
        if old is None or new is None or old.get("spec") != new.get("spec"):
            self.queue.add(key)

    async def _count_all(self) -> None:
        for key in self._quotas.keys():  # noqa: SIM118 - an informer is no mapping
            self.queue.add(key)

    async def reconcile(self, key: str) -> None:
        quota = self._quotas.get(key)
        if quota is None:
            return
        usage: Amounts = {}
        for resource in counted_resources((quota.get("spec") or {}).get("hard") or {}):
            source = await self._source(resource)
            if source is None:
                continue
            await source.informer.synced.wait()
            objects = source.objects(namespace_of(quota), self.clock.now())
            usage |= plan_usage(quota, source.evaluator, objects)
        # Charged or changed while we waited: the newest is compared and written.
        quota = self._quotas.get(key) or quota
        status = plan_status(quota, usage)
        if status is not None:
            await self.client.update(
                RESOURCEQUOTAS, {**quota, "status": status}, subresource="status"
            )

    async def _source(self, name: str) -> _Source | None:
        async with self._finding:
            return self._sources.get(name) or await self._new_source(name)

    async def _new_source(self, name: str) -> _Source | None:
        resource = await self._resource(name)
        if resource is None or self._group is None:
            return None
        informer = self.context.informers.existing(resource)
        if informer is None:
            informer = Informer(self.client, resource)
            self._group.create_task(informer.run(), name=f"quota {resource.plural}")
        source = self._sources[name] = _Source(name, informer)
        self._follow(name, source)
        return source

    async def _resource(self, name: str) -> Resource | None:
        now = self.clock.now()
        stale = self._discovered is None or now - self._discovered > DISCOVERY_SECONDS
        if name not in self._served and stale:
            self._discovered = now
            for served in await discover(self.client):
                resource = served.resource
                if resource.namespaced and served.verbs >= _NEEDED:
                    self._served[_group_resource(resource)] = resource
        return self._served.get(name)

    def _follow(self, name: str, source: _Source) -> None:
        def changed(key: str, old: JsonObject | None, new: JsonObject | None) -> None:
            source.forget(key)
            quotas = self._quotas.by_index(NAMESPACE, key.partition("/")[0])
            if not quotas:
                return
            gone = new is None or (old is not None and frees(name, old, new, self.clock.now()))
            if not gone and old is not None:
                return
            for quota in quotas:
                if source.evaluator.matching((quota.get("status") or {}).get("hard") or {}):
                    self._queue(f"{namespace_of(quota)}/{name_of(quota)}", at_once=gone)

        source.informer.on_change(changed)

    def _queue(self, key: str, *, at_once: bool) -> None:
        if at_once:
            self.queue.add(key)
        else:
            self.queue.add_after(key, SECOND_LOOK_SECONDS)


def _group_resource(resource: Resource) -> str:
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural
