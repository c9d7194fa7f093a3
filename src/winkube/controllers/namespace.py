"""Namespaces that are being deleted: empty them, then let them go.

The kinds to empty come from discovery, so that new kinds need no change here. A namespace keeps its
``kubernetes`` finalizer until nothing is left; what is in the way shows in its conditions.
"""

import copy
from typing import Final

from winkube.aio.backoff import Backoff
from winkube.api.errors import ApiError, MethodNotAllowedError, NotFoundError
from winkube.api.meta import is_deleting, name_of, set_condition
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.discovery import ServedResource, discover
from winkube.client.errors import TransportError
from winkube.client.resource import NAMESPACES, PODS, Resource
from winkube.controllers.controller import Context, Controller

FINALIZER: Final = "kubernetes"
RETRY: Final = Backoff(first=0.25, ceiling=15.0)


def plan_conditions(remaining: dict[str, int], finalizers: dict[str, int]) -> list[JsonObject]:
    """What kubectl describe shows about a namespace that does not go away."""
    kinds = ", ".join(
        f"{kind} has {count} resource instances" for kind, count in sorted(remaining.items())
    )
    held = ", ".join(
        f"{name} in {count} resource instances" for name, count in sorted(finalizers.items())
    )
    left = f"Some resources are remaining: {kinds}" if kinds else ""
    blocked = f"Some content in the namespace has finalizers remaining: {held}" if held else ""
    return [
        _condition("NamespaceDeletionDiscoveryFailure", problem="", ok="ResourcesDiscovered"),
        _condition(
            "NamespaceDeletionGroupVersionParsingFailure", problem="", ok="ParsedGroupVersions"
        ),
        _condition("NamespaceDeletionContentFailure", problem="", ok="ContentDeleted"),
        _condition("NamespaceContentRemaining", problem=left, ok="ContentRemoved"),
        _condition("NamespaceFinalizersRemaining", problem=blocked, ok="ContentHasNoFinalizers"),
    ]


_GOOD: Final = {
    "ResourcesDiscovered": "All resources successfully discovered",
    "ParsedGroupVersions": "All legacy kube types successfully parsed",
    "ContentDeleted": "All content successfully deleted, may be waiting on finalization",
    "ContentRemoved": "All content successfully removed",
    "ContentHasNoFinalizers": "All content-preserving finalizers finished",
}
_BAD: Final = {
    "NamespaceContentRemaining": "SomeResourcesRemain",
    "NamespaceFinalizersRemaining": "SomeFinalizersRemain",
}


def _condition(type_: str, *, problem: str, ok: str) -> JsonObject:
    return {
        "type": type_,
        "status": "True" if problem else "False",
        "reason": _BAD.get(type_, "") if problem else ok,
        "message": problem or _GOOD[ok],
    }


class NamespaceController(Controller):
    name = "namespace-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._namespaces = self.follow(NAMESPACES)
        self._attempts: dict[str, int] = {}

    async def reconcile(self, key: str) -> None:
        namespace = self._namespaces.get(key)
        if namespace is None or not is_deleting(namespace):
            self._attempts.pop(key, None)
            return
        if FINALIZER not in (namespace["spec"].get("finalizers") or ()):
            return
        remaining, finalizers = await self._empty(key)
        if remaining:
            # While pods are left upstream says nothing of what remains: it has not counted yet.
            early = f"{PODS.plural}.{PODS.group}" in remaining
            told: tuple[dict[str, int], dict[str, int]] = (
                ({}, {}) if early else (remaining, finalizers)
            )
            await self._report(namespace, *told)
            attempt = self._attempts[key] = self._attempts.get(key, 0) + 1
            self.queue.add_after(key, RETRY.delay(attempt))
            return
        self._attempts.pop(key, None)
        await self._finalize(key)

    async def _empty(self, namespace: str) -> tuple[dict[str, int], dict[str, int]]:
        remaining: dict[str, int] = {}
        finalizers: dict[str, int] = {}
        served = await discover(self.client)
        for entry in _pods_first(served):
            left = await self._delete_all(entry, namespace)
            if left:
                resource = entry.resource
                remaining[f"{resource.plural}.{resource.group}"] = len(left)
            for item in left:
                for finalizer in item["metadata"].get("finalizers") or ():
                    finalizers[finalizer] = finalizers.get(finalizer, 0) + 1
            if left and entry.resource == PODS:
                # What pods use stays until they have stopped (KEP-5080).
                break
        return remaining, finalizers

    async def _delete_all(self, entry: ServedResource, namespace: str) -> list[JsonObject]:
        try:
            found = await self._items(entry.resource, namespace)
            if not found:
                return []
            if "deletecollection" in entry.verbs:
                options = {"propagationPolicy": "Background"}
                await self.client.delete_collection(
                    entry.resource, namespace=namespace, options=options
                )
            else:
                await self._delete_each(entry.resource, found)
            return await self._items(entry.resource, namespace)
        except (NotFoundError, MethodNotAllowedError):
            return []

    async def _items(self, resource: Resource, namespace: str) -> list[JsonObject]:
        found: list[JsonObject] = (await self.client.list(resource, namespace=namespace)).get(
            "items"
        ) or []
        return found

    async def _delete_each(self, resource: Resource, items: list[JsonObject]) -> None:
        for item in items:
            try:
                await self.client.delete(
                    resource, name_of(item), namespace=item["metadata"]["namespace"]
                )
            except NotFoundError:
                continue

    async def _report(
        self, namespace: JsonObject, remaining: dict[str, int], finalizers: dict[str, int]
    ) -> None:
        fresh = copy.deepcopy(namespace)
        changed = False
        for condition in plan_conditions(remaining, finalizers):
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
