"""The garbage collector: background, foreground and orphaning deletion, over all kinds.

The kinds come from discovery and are asked for again from time to time. Nothing is deleted on the
word of a cache: owners are read from the server, and the deletion names the uid and the version of
the object it is about (kubernetes: pkg/controller/garbagecollector).
"""

import asyncio
from typing import Final

from winkube.aio.supervise import repeat
from winkube.api.errors import ConflictError, NotFoundError
from winkube.api.meta import metadata, owner_references, uid_of
from winkube.base.types import JsonObject
from winkube.client.discovery import ServedResource, discover
from winkube.client.informer import Informer
from winkube.client.resource import EVENTS, Resource
from winkube.controllers.controller import CONFLICT_SECONDS, Context, Controller
from winkube.controllers.garbage.graph import FOREGROUND, ORPHAN, Graph, Item, Owner, to_item

DISCOVERY_SECONDS: Final = 30.0
NEEDED: Final = frozenset({"list", "watch", "delete"})
IGNORED: Final = frozenset({EVENTS, Resource("events.k8s.io", "v1", "events", True)})


class GarbageCollector(Controller):
    name = "garbage-collector-controller"
    workers = 20

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._graph = Graph()
        self._found = asyncio.Event()
        self._kinds: dict[tuple[str, str], Resource] = {}
        self._followed: dict[Resource, Informer] = {}
        self._absent: dict[tuple[str, Owner], None] = {}

    def flow_of(self, key: str) -> str:
        item = self._graph.get(key)
        return "" if item is None else item.namespace

    async def run(self) -> None:
        await asyncio.sleep(self.context.config.garbage_delay)
        async with asyncio.TaskGroup() as group:
            step = repeat(DISCOVERY_SECONDS, lambda: self._find_kinds(group), name="discovery")
            group.create_task(step, name="garbage discovery")
            await self._found.wait()
            for informer in list(self._followed.values()):
                await informer.synced.wait()
            group.create_task(super().run(), name=self.name)

    async def _find_kinds(self, group: asyncio.TaskGroup) -> None:
        for served in await discover(self.client):
            resource = served.resource
            self._kinds[(resource.api_version, served.kind)] = resource
            if resource in self._followed or resource in IGNORED or not served.verbs >= NEEDED:
                continue
            informer = self.context.informers.existing(resource)
            if informer is None:
                informer = Informer(self.client, resource)
                group.create_task(informer.run(), name=f"garbage {resource.plural}")
            self._followed[resource] = informer
            self._follow(served, informer)
        self._found.set()

    def _follow(self, served: ServedResource, informer: Informer) -> None:
        def changed(key: str, old: JsonObject | None, new: JsonObject | None) -> None:
            if new is None:
                uids = self._graph.remove(uid_of(old or {}))
            else:
                item = to_item(served.resource, new)
                if old is None or owner_references(old) != owner_references(new):
                    self._tell_elsewhere(served, item)
                uids = self._graph.put(item)
            for uid in uids:
                self.queue.add(uid)

        informer.on_change(changed)

    def _tell_elsewhere(self, served: ServedResource, item: Item) -> None:
        """Say it when an owner is known to be in another namespace than the object."""
        for owner in item.owners:
            known = self._graph.get(owner.uid)
            if known is None or known.namespace in ("", item.namespace):
                continue
            what = f"[{owner.api_version}/{owner.kind}, namespace: {item.namespace}, "
            what += f"name: {owner.name}, uid: {owner.uid}]"
            said = f'ownerRef {what} does not exist in namespace "{item.namespace}"'
            metadata = {"namespace": item.namespace, "name": item.name, "uid": item.uid}
            about = {"apiVersion": served.resource.api_version, "kind": served.kind}
            self.event({**about, "metadata": metadata}, "Warning", "OwnerRefInvalidNamespace", said)
            return

    async def reconcile(self, key: str) -> None:
        item = self._graph.get(key)
        if item is None:
            return
        if item.orphans_dependents:
            await self._orphan(item)
        elif item.waits_for_dependents:
            await self._finish_foreground(item)
        in_question = item.owners and not (item.deleting and not item.waits_for_dependents)
        if self._is_misled(item):
            return
        if in_question and not await self._collect(item):
            await self._judge(item)

    def _is_misled(self, item: Item) -> bool:
        """Whether something outside of all namespaces names an owner inside of one.

        Nobody can say which is meant, so nobody can say that it is gone: the object stays.
        """
        kinds = (self._kinds.get((owner.api_version, owner.kind)) for owner in item.owners)
        return not item.namespace and any(kind is not None and kind.namespaced for kind in kinds)

    async def _collect(self, item: Item) -> bool:
        """Settle the plain cases, all owners there or all gone; False when it takes a closer look.

        An object that is another than the cache shows is not deleted: its version would not fit.
        """
        if item.deleting:
            return False
        solid, gone, waiting = await self._classify(item)
        if waiting or (solid and gone):
            return False
        if solid:
            return True
        try:
            await self._delete(item, _policy(item))
        except ConflictError:
            return False
        return True

    async def _judge(self, item: Item) -> None:
        """Delete the object if none of its owners exists any more."""
        current = await self._read(item.resource, item.namespace, item.name)
        if current is None or uid_of(current) != item.uid:
            for uid in self._graph.remove(item.uid):
                self.queue.add(uid)
            return
        fresh = to_item(item.resource, current)
        solid, gone, waiting = await self._classify(fresh)
        if solid:
            if gone or waiting:
                await self._drop_owners(current, fresh, {owner.uid for owner in (*gone, *waiting)})
            return
        if not fresh.owners or fresh.deleting:
            return
        dependents = self._graph.dependents(fresh.uid) if waiting else ()
        if any(each.waits_for_dependents for each in dependents):
            # Owners in a circle would wait for each other for ever.
            await self._unblock_owners(current, fresh)
        elif dependents:
            # The owner waits for us, so we wait for ours.
            await self._delete(fresh, "Foreground")
        else:
            await self._delete(fresh, _policy(fresh))

    async def _classify(self, item: Item) -> tuple[list[Owner], list[Owner], list[Owner]]:
        """Owners that stay, that are gone, and that wait for their dependents to go."""
        solid: list[Owner] = []
        gone: list[Owner] = []
        waiting: list[Owner] = []
        for owner in item.owners:
            found = await self._owner(item, owner)
            if found is None:
                gone.append(owner)
            elif to_item(item.resource, found).waits_for_dependents:
                waiting.append(owner)
            else:
                solid.append(owner)
        return solid, gone, waiting

    async def _owner(self, item: Item, owner: Owner) -> JsonObject | None:
        # By everything the reference says: one with a wrong name must not condemn the uid.
        place = (item.namespace, owner)
        if place in self._absent:
            return None
        resource = self._kinds.get((owner.api_version, owner.kind))
        if resource is None:
            # A kind we cannot read may well exist: keep the object.
            return {"metadata": {"uid": owner.uid}}
        namespace = item.namespace if resource.namespaced else ""
        found = await self._read(resource, namespace, owner.name)
        if found is not None and uid_of(found) == owner.uid:
            return found
        self._absent[place] = None
        if len(self._absent) > 1000:
            del self._absent[next(iter(self._absent))]
        return None

    async def _read(self, resource: Resource, namespace: str, name: str) -> JsonObject | None:
        try:
            return await self.client.get(resource, name, namespace=namespace or None)
        except NotFoundError:
            return None

    async def _delete(self, item: Item, policy: str) -> None:
        options = {
            "preconditions": {"uid": item.uid, "resourceVersion": item.version},
            "propagationPolicy": policy,
        }
        try:
            await self.client.delete(
                item.resource, item.name, namespace=item.namespace or None, options=options
            )
        except NotFoundError:
            return

    async def _finish_foreground(self, item: Item) -> None:
        blocking = [
            each
            for each in self._graph.dependents(item.uid)
            if any(owner.uid == item.uid and owner.blocking for owner in each.owners)
        ]
        if not blocking:
            await self._remove_finalizer(item, FOREGROUND)
        for dependent in blocking:
            # One that is going says itself when it has gone.
            if not dependent.deleting:
                self.queue.add(dependent.uid)

    async def _orphan(self, item: Item) -> None:
        free = True
        for dependent in self._graph.dependents(item.uid):
            current = await self._read(dependent.resource, dependent.namespace, dependent.name)
            if current is not None and uid_of(current) == dependent.uid:
                free &= await self._drop_owners(current, dependent, {item.uid})
        if free:
            await self._remove_finalizer(item, ORPHAN)
        else:
            # One that still named its owner when that goes would go with it.
            self.queue.add_after(item.uid, CONFLICT_SECONDS)

    async def _drop_owners(self, current: JsonObject, item: Item, uids: set[str]) -> bool:
        kept = [entry for entry in owner_references(current) if entry["uid"] not in uids]
        return await self._patch(current, item, {"ownerReferences": kept or None})

    async def _unblock_owners(self, current: JsonObject, item: Item) -> None:
        """Let none of the owners wait for this object; what it asks for next is as usual."""
        references = owner_references(current)
        if any(entry.get("blockOwnerDeletion") for entry in references):
            kept = [{**entry, "blockOwnerDeletion": False} for entry in references]
            await self._patch(current, item, {"ownerReferences": kept})
            self.queue.add_after(item.uid, CONFLICT_SECONDS)
        else:
            await self._delete(item, "Foreground")

    async def _remove_finalizer(self, item: Item, finalizer: str) -> None:
        current = await self._read(item.resource, item.namespace, item.name)
        if current is None or uid_of(current) != item.uid:
            return
        have = metadata(current).get("finalizers") or []
        if finalizer in have:
            kept = [each for each in have if each != finalizer]
            await self._patch(current, item, {"finalizers": kept or None})

    async def _patch(self, current: JsonObject, item: Item, change: JsonObject) -> bool:
        """False if somebody else wrote the object meanwhile."""
        version = metadata(current)["resourceVersion"]
        body = {"metadata": {"uid": item.uid, "resourceVersion": version, **change}}
        try:
            await self.client.patch(
                item.resource, item.name, body, namespace=item.namespace or None
            )
        except NotFoundError:
            return True
        except ConflictError:
            self.queue.add_after(item.uid, CONFLICT_SECONDS)
            return False
        return True


def _policy(item: Item) -> str:
    if ORPHAN in item.finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in item.finalizers else "Background"
