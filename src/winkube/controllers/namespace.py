"""Namespaces that are being deleted: empty them, then let them go.

The kinds to empty come from discovery, so that new kinds need no change here. A namespace keeps its
``kubernetes`` finalizer until nothing is left; what is in the way shows in its conditions.
"""

import copy
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from winkube.aio.backoff import Backoff
from winkube.api.errors import ApiError, MethodNotAllowedError, NotFoundError
from winkube.api.meta import is_deleting, name_of, set_condition
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.discovery import ServedResource, Surveyor
from winkube.client.errors import TransportError
from winkube.client.resource import NAMESPACES, PODS, Resource
from winkube.controllers.controller import Context, Controller
from winkube.controllers.namespace_census import Census, Registrar
from winkube.controllers.namespace_flow import NamespaceFlows

FINALIZER: Final = "kubernetes"
RETRY: Final = Backoff(first=0.25, ceiling=15.0)
# Fewer than these are looked through one by one: a census asks about all kinds, too.
CROWD: Final = 8


@dataclass(slots=True)
class Sweep:
    """What one attempt to empty a namespace found and left."""

    remaining: dict[str, int] = field(default_factory=dict)
    finalizers: dict[str, int] = field(default_factory=dict)
    silent: list[str] = field(default_factory=list)  # group versions whose server did not answer
    failures: list[str] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        return not (self.remaining or self.silent or self.failures)

    @property
    def is_early(self) -> bool:
        """Pods are left: upstream has not counted the rest yet, and says nothing of it."""
        return f"{PODS.plural}.{PODS.group}" in self.remaining


def plan_conditions(sweep: Sweep) -> list[JsonObject]:
    """What kubectl describe shows about a namespace that does not go away."""
    told = Sweep(silent=sweep.silent, failures=sweep.failures) if sweep.is_early else sweep
    return [
        _condition("NamespaceDeletionDiscoveryFailure", _said_of_groups(told.silent)),
        _condition("NamespaceDeletionGroupVersionParsingFailure", ""),
        _condition("NamespaceDeletionContentFailure", _said_of_failures(told.failures)),
        _condition("NamespaceContentRemaining", _said_of_kinds(told.remaining)),
        _condition("NamespaceFinalizersRemaining", _said_of_finalizers(told.finalizers)),
    ]


def _said_of_groups(silent: list[str]) -> str:
    if not silent:
        return ""
    groups = ", ".join(
        f"{group}: stale GroupVersion discovery: {group}" for group in sorted(silent)
    )
    return (
        f"Discovery failed for some groups, {len(silent)} failing: "
        f"unable to retrieve the complete list of server APIs: {groups}"
    )


def _said_of_failures(failures: list[str]) -> str:
    if not failures:
        return ""
    words = ", ".join(sorted(failures))
    return f"Failed to delete all resource types, {len(failures)} remaining: {words}"


def _said_of_kinds(remaining: dict[str, int]) -> str:
    kinds = [f"{kind} has {count} resource instances" for kind, count in sorted(remaining.items())]
    return f"Some resources are remaining: {', '.join(kinds)}" if kinds else ""


def _said_of_finalizers(finalizers: dict[str, int]) -> str:
    held = [f"{name} in {count} resource instances" for name, count in sorted(finalizers.items())]
    said = "Some content in the namespace has finalizers remaining"
    return f"{said}: {', '.join(held)}" if held else ""


class _Words(NamedTuple):
    problem: str
    well: str
    message: str


_WORDS: Final = {
    "NamespaceDeletionDiscoveryFailure": _Words(
        "DiscoveryFailed", "ResourcesDiscovered", "All resources successfully discovered"
    ),
    "NamespaceDeletionGroupVersionParsingFailure": _Words(
        "GroupVersionParsingFailed",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": _Words(
        "ContentDeletionFailed",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": _Words(
        "SomeResourcesRemain", "ContentRemoved", "All content successfully removed"
    ),
    "NamespaceFinalizersRemaining": _Words(
        "SomeFinalizersRemain",
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
}


def _condition(type_: str, problem: str) -> JsonObject:
    words = _WORDS[type_]
    return {
        "type": type_,
        "status": "True" if problem else "False",
        "reason": words.problem if problem else words.well,
        "message": problem or words.message,
    }


class NamespaceController(Controller):
    name = "namespace-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._namespaces = self.informer(NAMESPACES)
        self._flows = NamespaceFlows(self._namespaces, "deletionTimestamp")
        self.follow(NAMESPACES)
        self._namespaces.on_change(self._note)
        self._attempts: dict[str, int] = {}
        # When each was first seen on its way out.
        self._seen: dict[str, float] = {}
        self._surveyor = Surveyor(self.client, self.clock)
        self._registrar = Registrar(self.client, self.clock)

    def _note(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is None or not is_deleting(new):
            self._seen.pop(key, None)
        else:
            self._seen.setdefault(key, self.clock.monotonic())

    def flow_of(self, key: str) -> str:
        return self._flows.of(key)

    async def reconcile(self, key: str) -> None:
        namespace = self._namespaces.get(key)
        if namespace is None or not is_deleting(namespace):
            self._attempts.pop(key, None)
            return
        if FINALIZER not in (namespace["spec"].get("finalizers") or ()):
            return
        sweep = await self._empty(key)
        if sweep.is_done:
            self._attempts.pop(key, None)
            await self._finalize(key)
            return
        await self._report(namespace, sweep)
        attempt = self._attempts[key] = self._attempts.get(key, 0) + 1
        self.queue.add_after(key, RETRY.delay(attempt))

    async def _empty(self, namespace: str) -> Sweep:
        found = await self._surveyor.survey()
        sweep = Sweep(silent=found.silent)
        entries = _pods_first(found.resources)
        census = await self._census(entries, namespace)
        for entry in entries:
            if census.lacks(entry.resource, namespace):
                continue
            try:
                left = await self._delete_all(entry, namespace)
            except ApiError as error:
                # One kind that cannot be emptied does not keep the others.
                sweep.failures.append(error.message)
                continue
            resource = entry.resource
            if left:
                sweep.remaining[f"{resource.plural}.{resource.group}"] = len(left)
            for item in left:
                for finalizer in item["metadata"].get("finalizers") or ():
                    sweep.finalizers[finalizer] = sweep.finalizers.get(finalizer, 0) + 1
            if left and resource == PODS:
                # What pods use stays until they have stopped (KEP-5080).
                break
        return sweep

    async def _census(self, entries: list[ServedResource], namespace: str) -> Census:
        """What is known without asking about this namespace: nothing where few others wait."""
        since = self._seen.get(namespace)
        if since is None or len(self.queue) < CROWD:
            return Census()
        return await self._registrar.census(entries, since)

    async def _delete_all(self, entry: ServedResource, namespace: str) -> list[JsonObject]:
        try:
            found = await self._items(entry.resource, namespace)
            if not found:
                return []
            if not await self._delete_collection(entry, namespace):
                await self._delete_each(entry.resource, found)
            return await self._items(entry.resource, namespace)
        except (NotFoundError, MethodNotAllowedError):
            return []

    async def _delete_collection(self, entry: ServedResource, namespace: str) -> bool:
        """Whether that is served: a refusal does not say that nothing is left."""
        if "deletecollection" not in entry.verbs:
            return False
        options = {"propagationPolicy": "Background"}
        try:
            await self.client.delete_collection(
                entry.resource, namespace=namespace, options=options
            )
        except (NotFoundError, MethodNotAllowedError):
            return False
        return True

    async def _items(self, resource: Resource, namespace: str) -> list[JsonObject]:
        # Names and finalizers are all that is asked for: what is in there may be large.
        listing = await self.client.list(resource, namespace=namespace, metadata_only=True)
        found: list[JsonObject] = listing.get("items") or []
        return found

    async def _delete_each(self, resource: Resource, items: list[JsonObject]) -> None:
        for item in items:
            try:
                await self.client.delete(
                    resource, name_of(item), namespace=item["metadata"]["namespace"]
                )
            except NotFoundError:
                continue

    async def _report(self, namespace: JsonObject, sweep: Sweep) -> None:
        fresh = copy.deepcopy(namespace)
        changed = False
        for condition in plan_conditions(sweep):
            now = to_rfc3339(self.clock.now())
            changed = set_condition(fresh, condition, now) or changed
        if changed:
            try:
                await self.client.update(NAMESPACES, fresh, subresource="status")
            except (ApiError, TransportError):
                # Only a report: emptying goes on.
                return

    async def _finalize(self, name: str) -> None:
        try:
            current = await self.client.get(NAMESPACES, name)
            kept = [each for each in current["spec"].get("finalizers") or () if each != FINALIZER]
            fresh = {**current, "spec": {**current["spec"], "finalizers": kept}}
            await self.client.update(NAMESPACES, fresh, subresource="finalize")
        except NotFoundError:
            return


def _pods_first(served: list[ServedResource]) -> list[ServedResource]:
    usable = [
        entry
        for entry in served
        if entry.resource.namespaced
        and {"list", "delete"} <= entry.verbs
        and entry.resource.group != "events.k8s.io"
    ]
    return sorted(usable, key=lambda entry: entry.resource != PODS)
