"""Claims stay while a pod uses them, volumes while they are bound: finalizers see to it."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from weakref import WeakValueDictionary

from winkube.api.errors import NotFoundError
from winkube.api.meta import is_deleting, key_of, metadata, namespace_of, resource_version
from winkube.base.clock import Clock
from winkube.base.types import JsonObject
from winkube.client.resource import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS, Resource
from winkube.client.rest import ApiClient
from winkube.controllers.controller import Context, Controller
from winkube.controllers.volume.usage import (
    CLAIM,
    VOLUMES,
    add_claim_index,
    claim_keys,
    is_using,
    tenant_of,
)

CLAIM_FINALIZER: Final = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER: Final = "kubernetes.io/pv-protection"
# Of so many namespaces the pods are remembered, and for so long.
_LISTINGS: Final = 4
_FRESH_SECONDS: Final = 1.0


def plan_finalizers(obj: JsonObject, finalizer: str, *, in_use: bool) -> list[str] | None:
    """The finalizers the object should have; None when they are right."""
    have: list[str] = metadata(obj).get("finalizers") or []
    if not is_deleting(obj):
        return None if finalizer in have else [*have, finalizer]
    if finalizer in have and not in_use:
        return [each for each in have if each != finalizer]
    return None


class Protection(Controller):
    async def write_finalizers(
        self, resource: Resource, obj: JsonObject, finalizers: list[str]
    ) -> None:
        fresh = {**obj, "metadata": {**obj["metadata"], "finalizers": finalizers}}
        try:
            await self.client.update(resource, fresh)
        except NotFoundError:
            return


@dataclass(frozen=True, slots=True)
class _Listing:
    begun: float
    version: int
    by_claim: Mapping[str, Sequence[JsonObject]]


class ServedPods:
    """The pods of a namespace as the server has them, by the claims they name.

    Thousands of claims may go together. A list that is as new as the mark of a claim's deletion,
    and hardly older than the question, says which pods use it, whoever it was made for. That one
    does is asked again: it may have gone, which nobody would say a second time.
    """

    def __init__(self, client: ApiClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._listings: dict[str, _Listing] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def use(self, claim: JsonObject) -> bool:
        namespace, asked = namespace_of(claim), self._clock.monotonic()
        lock = self._locks.get(namespace)
        if lock is None:
            lock = self._locks[namespace] = asyncio.Lock()
        async with lock:
            known = self._listings.get(namespace)
            if known is not None and _is_fresh(known, claim, asked) and not _uses(known, claim):
                return False
            if known is None or known.begun < asked:
                known = await self._list(namespace)
        return _uses(known, claim)

    async def _list(self, namespace: str) -> _Listing:
        begun = self._clock.monotonic()
        found = await self._client.list(PODS, namespace=namespace)
        pods: dict[str, list[JsonObject]] = {}
        for pod in found["items"]:
            for key in claim_keys(pod):
                pods.setdefault(key, []).append(pod)
        self._listings.pop(namespace, None)
        while len(self._listings) >= _LISTINGS:
            del self._listings[next(iter(self._listings))]
        listing = self._listings[namespace] = _Listing(begun, resource_version(found), pods)
        return listing


def _is_fresh(listing: _Listing, claim: JsonObject, now: float) -> bool:
    return listing.begun > now - _FRESH_SECONDS and listing.version >= resource_version(claim)


def _uses(listing: _Listing, claim: JsonObject) -> bool:
    return any(is_using(pod, claim) for pod in listing.by_claim.get(key_of(claim), ()))


class ClaimProtection(Protection):
    name = "persistentvolumeclaim-protection-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._claims = self.follow(PERSISTENTVOLUMECLAIMS)
        self._pods = self.informer(PODS)
        add_claim_index(self._pods)
        self._pods.on_change(self._pod_changed)
        self._served = ServedPods(self.client, self.clock)

    def _pod_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        # Only a pod that stops using a claim matters: one that starts was told of it.
        if new is None or is_deleting(new):
            for claim in claim_keys(new or old or {}):
                self.queue.add(claim)

    async def reconcile(self, key: str) -> None:
        claim = self._claims.get(key)
        if claim is None:
            return
        in_use = is_deleting(claim) and await self._is_used(key, claim)
        wanted = plan_finalizers(claim, CLAIM_FINALIZER, in_use=in_use)
        if wanted is not None:
            await self.write_finalizers(PERSISTENTVOLUMECLAIMS, claim, wanted)

    async def _is_used(self, key: str, claim: JsonObject) -> bool:
        if any(is_using(pod, claim) for pod in self._pods.by_index(CLAIM, key)):
            return True
        # What we let go is gone: the cache may be behind, the server is not.
        return await self._served.use(claim)


class VolumeProtection(Protection):
    name = "persistentvolume-protection-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._volumes = self.informer(PERSISTENTVOLUMES)
        self.follow(PERSISTENTVOLUMES)

    def flow_of(self, key: str) -> str:
        return tenant_of(f"{VOLUMES}/{key}", self._volumes)

    async def reconcile(self, key: str) -> None:
        volume = self._volumes.get(key)
        if volume is None:
            return
        in_use = (volume.get("status") or {}).get("phase") == "Bound"
        wanted = plan_finalizers(volume, VOLUME_FINALIZER, in_use=in_use)
        if wanted is not None:
            await self.write_finalizers(PERSISTENTVOLUMES, volume, wanted)
