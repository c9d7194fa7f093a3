"""An API server in memory behind the ApiClient's methods, for tests of the components.

It keeps what components rely on: resourceVersions and conflicts, uids, generations, the status
subresource, graceful deletion, finalizers, binding, selectors, paged lists, and watches that can be
broken or expired at will. It does not validate or default; ``seed`` puts an object in as it stands.
"""

import asyncio
import bisect
import builtins
import copy
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self

from winkube.api.errors import AlreadyExistsError, ConflictError, NotFoundError
from winkube.api.kinds import KINDS
from winkube.api.patch import strategic_merge
from winkube.api.schema import load_schema
from winkube.base.clock import Clock, to_rfc3339
from winkube.base.ids import new_uid, random_suffix
from winkube.base.types import JsonObject
from winkube.client.config import ClientConfig
from winkube.client.resource import NAMESPACES, PODS, Resource
from winkube.client.rest import ApiClient, PatchType
from winkube.client.stream import WatchEvent
from winkube.testing.fake_clock import FakeClock
from winkube.testing.fake_objects import (
    add_propagation,
    check_preconditions,
    check_uid,
    content,
    discovery,
    finalizers,
    grace_seconds,
    has_status,
    kind_name,
    matcher,
    merge,
    place_of,
)
from winkube.testing.fake_watch import Change, Watch

Place = tuple[str, str]


class FakeApi(ApiClient):
    def __init__(self, clock: Clock | None = None) -> None:
        super().__init__(ClientConfig(server="fake"))
        self.clock: Clock = clock or FakeClock()
        self.calls: list[tuple[str, str, str]] = []
        self._objects: dict[Resource, dict[Place, JsonObject]] = defaultdict(dict)
        self._version = 1
        self._history: list[Change] = []
        self._oldest = 0
        self._epoch = 0
        self._failures: list[Exception] = []
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    # -- what tests use

    def seed(self, resource: Resource, obj: JsonObject) -> JsonObject:
        """Put an object in as it stands, adding only what every stored object has."""
        return self._insert(resource, obj)

    def all(self, resource: Resource) -> builtins.list[JsonObject]:
        return [copy.deepcopy(obj) for obj in self._objects[resource].values()]

    def find(self, resource: Resource, key: str) -> JsonObject | None:
        namespace, _, name = key.rpartition("/")
        found = self._objects[resource].get((namespace, name))
        return copy.deepcopy(found)

    def fail_next(self, *errors: Exception) -> None:
        """Let the next writes fail, one error each."""
        self._failures.extend(errors)

    def break_watches(self) -> None:
        """Cut every open watch, as a dying server does."""
        self._epoch += 1
        self._wake()

    def compact(self) -> None:
        """Forget history: watches from before now answer 410."""
        self._oldest = self._version
        self._history.clear()
        self.break_watches()

    # -- the ApiClient's methods

    async def get(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> JsonObject:
        return copy.deepcopy(self._stored(resource, namespace, name))

    async def list(  # noqa: PLR0913 - the list options of the API
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        resource_version: str | None = None,
        limit: int | None = None,
        continue_token: str | None = None,
        metadata_only: bool = False,
    ) -> JsonObject:
        matches = matcher(resource, namespace, label_selector, field_selector)
        places = sorted(place for place, obj in self._objects[resource].items() if matches(obj))
        start = int(continue_token or 0)
        end = start + limit if limit else len(places)
        metadata: JsonObject = {"resourceVersion": str(self._version)}
        if end < len(places):
            metadata["continue"] = str(end)
        items = [copy.deepcopy(self._objects[resource][place]) for place in places[start:end]]
        return {
            "apiVersion": resource.api_version,
            "kind": f"{kind_name(resource)}List",
            "metadata": metadata,
            "items": items,
        }

    async def create(
        self,
        resource: Resource,
        obj: JsonObject,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
    ) -> JsonObject:
        self._write("create", resource, subresource or "")
        if resource == PODS and subresource == "binding":
            return self._bind(namespace or obj["metadata"]["namespace"], name or "", obj)
        if resource == PODS and subresource == "eviction":
            return await self.delete(resource, name or "", namespace=namespace)
        fresh = copy.deepcopy(obj)
        if resource.namespaced:
            fresh["metadata"].setdefault("namespace", namespace or "default")
        return self._insert(resource, fresh)

    async def update(
        self, resource: Resource, obj: JsonObject, *, subresource: str | None = None
    ) -> JsonObject:
        self._write("update", resource, subresource or "")
        metadata = obj["metadata"]
        old = self._stored(resource, metadata.get("namespace"), metadata["name"])
        wanted = metadata.get("resourceVersion")
        if wanted and wanted != old["metadata"]["resourceVersion"]:
            raise ConflictError.of(
                resource.plural,
                metadata["name"],
                "the object has been modified; please apply your changes to the latest version "
                "and try again",
                group=resource.group,
            )
        return self._replace(resource, old, copy.deepcopy(obj), subresource)

    async def patch(
        self,
        resource: Resource,
        name: str,
        body: Any,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        patch_type: PatchType = PatchType.MERGE,
    ) -> JsonObject:
        if patch_type not in (PatchType.MERGE, PatchType.STRATEGIC):
            raise NotImplementedError(patch_type)
        old = self._stored(resource, namespace, name)
        check_uid(resource, old, body)
        doc, change = copy.deepcopy(old), copy.deepcopy(body)
        kind = KINDS.by_resource(resource.group, resource.version, resource.plural)
        if patch_type == PatchType.STRATEGIC and kind is not None:
            merged = strategic_merge(load_schema(), kind, doc, change)
            if not merged["metadata"].get("finalizers"):
                merged["metadata"].pop("finalizers", None)
        else:
            merged = merge(doc, change)
        return await self.update(resource, merged, subresource=subresource)

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        options: JsonObject | None = None,
    ) -> JsonObject:
        self._write("delete", resource, "")
        old = self._stored(resource, namespace, name)
        options = options or {}
        check_preconditions(resource, old, options)
        fresh = copy.deepcopy(old)
        add_propagation(fresh, options.get("propagationPolicy"))
        grace = grace_seconds(resource, old, options)
        if grace == 0 and not finalizers(fresh):
            return self._remove(resource, fresh)
        metadata = fresh["metadata"]
        metadata.setdefault("deletionTimestamp", to_rfc3339(self.clock.now() + grace))
        metadata["deletionGracePeriodSeconds"] = grace
        if resource == NAMESPACES:
            fresh.setdefault("status", {})["phase"] = "Terminating"
        return self._store(resource, fresh, "MODIFIED", old)

    async def delete_collection(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        options: JsonObject | None = None,
    ) -> None:
        found = await self.list(resource, namespace=namespace, label_selector=label_selector)
        for item in found["items"]:
            metadata = item["metadata"]
            await self.delete(
                resource, metadata["name"], namespace=metadata.get("namespace"), options=options
            )

    async def get_path(self, path: str) -> JsonObject:
        return discovery(path)

    @asynccontextmanager
    async def watch(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        resource_version: str,
        lean: bool = False,
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        matches = matcher(resource, namespace, label_selector, field_selector)
        yield Watch(self, resource, matches, int(resource_version))

    def watch_state(self) -> tuple[int, int, asyncio.Event]:
        """For a watch: the epoch of open streams, the oldest version kept, the next change."""
        return self._epoch, self._oldest, self._changed

    def changes_after(self, version: int) -> builtins.list[Change]:
        start = bisect.bisect_right(self._history, version, key=lambda change: change.version)
        return self._history[start:]

    # -- storage

    def _write(self, verb: str, resource: Resource, subresource: str) -> None:
        self.calls.append((verb, resource.plural, subresource))
        if self._failures:
            raise self._failures.pop(0)

    def _stored(self, resource: Resource, namespace: str | None, name: str) -> JsonObject:
        place = ((namespace or "default") if resource.namespaced else "", name)
        found = self._objects[resource].get(place)
        if found is None:
            raise NotFoundError.of(resource.plural, name, group=resource.group)
        return found

    def _insert(self, resource: Resource, obj: JsonObject) -> JsonObject:
        fresh = copy.deepcopy(obj)
        metadata = fresh.setdefault("metadata", {})
        if resource.namespaced:
            metadata.setdefault("namespace", "default")
        if "name" not in metadata:
            metadata["name"] = metadata["generateName"] + random_suffix()
        if (metadata.get("namespace", ""), metadata["name"]) in self._objects[resource]:
            raise AlreadyExistsError.of(resource.plural, metadata["name"], group=resource.group)
        metadata.setdefault("uid", new_uid())
        metadata.setdefault("generation", 1)
        metadata.setdefault("creationTimestamp", to_rfc3339(self.clock.now()))
        fresh.setdefault("apiVersion", resource.api_version)
        fresh.setdefault("kind", kind_name(resource))
        if resource == NAMESPACES:
            fresh.setdefault("spec", {}).setdefault("finalizers", ["kubernetes"])
            fresh.setdefault("status", {}).setdefault("phase", "Active")
        if resource == PODS:
            fresh.setdefault("status", {}).setdefault("phase", "Pending")
        return self._store(resource, fresh, "ADDED", None)

    def _replace(
        self, resource: Resource, old: JsonObject, new: JsonObject, subresource: str | None
    ) -> JsonObject:
        if subresource == "status":
            kept = copy.deepcopy(old)
            kept["status"] = new.get("status", {})
            if "annotations" in new["metadata"]:
                kept["metadata"]["annotations"] = new["metadata"]["annotations"]
            new = kept
        elif has_status(resource) and subresource is None:
            new.pop("status", None)
            if "status" in old:
                new["status"] = copy.deepcopy(old["status"])
        metadata, before = new["metadata"], old["metadata"]
        for field in ("uid", "creationTimestamp", "generation", "deletionTimestamp"):
            if field in before:
                metadata[field] = before[field]
        if content(new) == content(old):
            return copy.deepcopy(old)
        if new.get("spec") != old.get("spec"):
            metadata["generation"] = metadata.get("generation", 0) + 1
        grace = metadata.get("deletionGracePeriodSeconds", 0)
        if metadata.get("deletionTimestamp") and not finalizers(new) and grace == 0:
            return self._remove(resource, new)
        return self._store(resource, new, "MODIFIED", old)

    def _bind(self, namespace: str, name: str, binding: JsonObject) -> JsonObject:
        old = self._stored(PODS, namespace, name)
        if old.get("spec", {}).get("nodeName"):
            raise ConflictError.of("pods/binding", name, f"pod {name} is already assigned to node")
        fresh = copy.deepcopy(old)
        fresh.setdefault("spec", {})["nodeName"] = binding["target"]["name"]
        conditions = fresh["status"].setdefault("conditions", [])
        conditions[:] = [entry for entry in conditions if entry["type"] != "PodScheduled"]
        conditions.append({"type": "PodScheduled", "status": "True"})
        self._store(PODS, fresh, "MODIFIED", old)
        return {"kind": "Status", "apiVersion": "v1", "status": "Success", "code": 201}

    def _store(
        self, resource: Resource, obj: JsonObject, type_: str, old: JsonObject | None
    ) -> JsonObject:
        self._version += 1
        obj["metadata"]["resourceVersion"] = str(self._version)
        self._objects[resource][place_of(obj)] = obj
        self._record(resource, type_, obj, old)
        return copy.deepcopy(obj)

    def _remove(self, resource: Resource, obj: JsonObject) -> JsonObject:
        self._version += 1
        obj["metadata"]["resourceVersion"] = str(self._version)
        old = self._objects[resource].pop(place_of(obj))
        self._record(resource, "DELETED", obj, old)
        return copy.deepcopy(obj)

    def _record(
        self, resource: Resource, type_: str, obj: JsonObject, old: JsonObject | None
    ) -> None:
        self._history.append(Change(self._version, resource, type_, copy.deepcopy(obj), old))
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
