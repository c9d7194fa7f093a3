"""Claims stay while a pod uses them, volumes while they are bound: finalizers see to it."""

from typing import Final

from winkube.api.errors import NotFoundError
from winkube.api.meta import is_deleting, metadata, namespace_of
from winkube.base.types import JsonObject
from winkube.client.resource import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS, Resource
from winkube.controllers.controller import Context, Controller
from winkube.controllers.volume.usage import CLAIM, add_claim_index, claim_keys, is_using

CLAIM_FINALIZER: Final = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER: Final = "kubernetes.io/pv-protection"


def plan_finalizers(obj: JsonObject, finalizer: str, *, in_use: bool) -> list[str] | None:
    """The finalizers the object should have; None when they are right."""
    have: list[str] = metadata(obj).get("finalizers") or []
    if not is_deleting(obj):
        return None if finalizer in have else [*have, finalizer]
    if finalizer in have and not in_use:
        return [each for each in have if each != finalizer]
    return None


class _Protection(Controller):
    async def _write(self, resource: Resource, obj: JsonObject, finalizers: list[str]) -> None:
        fresh = {**obj, "metadata": {**obj["metadata"], "finalizers": finalizers}}
        try:
            await self.client.update(resource, fresh)
        except NotFoundError:
            return


class ClaimProtection(_Protection):
    name = "persistentvolumeclaim-protection-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._claims = self.follow(PERSISTENTVOLUMECLAIMS)
        self._pods = self.informer(PODS)
        add_claim_index(self._pods)
        self._pods.on_change(self._pod_changed)

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
            await self._write(PERSISTENTVOLUMECLAIMS, claim, wanted)

    async def _is_used(self, key: str, claim: JsonObject) -> bool:
        if any(is_using(pod, claim) for pod in self._pods.by_index(CLAIM, key)):
            return True
        # What we let go is gone: the cache may be behind, the server is not.
        found = await self.client.list(PODS, namespace=namespace_of(claim))
        return any(is_using(pod, claim) for pod in found["items"])


class VolumeProtection(_Protection):
    name = "persistentvolume-protection-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._volumes = self.follow(PERSISTENTVOLUMES)

    async def reconcile(self, key: str) -> None:
        volume = self._volumes.get(key)
        if volume is None:
            return
        in_use = (volume.get("status") or {}).get("phase") == "Bound"
        wanted = plan_finalizers(volume, VOLUME_FINALIZER, in_use=in_use)
        if wanted is not None:
            await self._write(PERSISTENTVOLUMES, volume, wanted)
