"""Generic ephemeral volumes: a claim for each, from the pod's template, owned by the pod."""

from typing import Final

from winkube.api.errors import AlreadyExistsError, ApiError
from winkube.api.meta import (
    is_controlled_by,
    is_deleting,
    key_of,
    namespace_of,
    to_owner_reference,
)
from winkube.api.volumes import ephemeral_claim_key, say_foreign
from winkube.base.errors import WinkubeError
from winkube.base.types import JsonObject
from winkube.client.resource import PERSISTENTVOLUMECLAIMS, PODS
from winkube.controllers.controller import Context, Controller
from winkube.controllers.volume.usage import CLAIM, add_claim_index

_POD: Final = {"apiVersion": "v1", "kind": "Pod"}


class ForeignClaimError(WinkubeError):
    """A claim of the name this pod's volume needs belongs to somebody else."""

    def __init__(self, claim: JsonObject, pod: JsonObject) -> None:
        super().__init__(say_foreign(key_of(claim), key_of(pod)))


def plan_claim(pod: JsonObject, volume: JsonObject) -> JsonObject:
    template = volume["ephemeral"].get("volumeClaimTemplate") or {}
    metadata: JsonObject = {
        "name": ephemeral_claim_key(pod, volume).rpartition("/")[2],
        "namespace": namespace_of(pod),
        "ownerReferences": [to_owner_reference({**_POD, **pod})],
    }
    for field in ("annotations", "labels"):
        if (template.get("metadata") or {}).get(field):
            metadata[field] = template["metadata"][field]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": template.get("spec") or {},
    }


def _ephemeral(pod: JsonObject) -> list[JsonObject]:
    volumes = (pod.get("spec") or {}).get("volumes") or ()
    return [volume for volume in volumes if volume.get("ephemeral")]


class EphemeralVolumeController(Controller):
    name = "ephemeral-volume-controller"
    event_source = "ephemeral_volume"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._pods = self.informer(PODS)
        self._claims = self.informer(PERSISTENTVOLUMECLAIMS)
        add_claim_index(self._pods)
        self._pods.on_change(self._pod_changed)
        self._claims.on_change(self._claim_changed)

    def _pod_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        # A pod's volumes never change: a new pod is all there is to see.
        if old is None and new is not None and _ephemeral(new):
            self.queue.add(key)

    def _claim_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is None:
            for pod in self._pods.by_index(CLAIM, key):
                if _ephemeral(pod):
                    self.queue.add(key_of(pod))

    async def reconcile(self, key: str) -> None:
        pod = self._pods.get(key)
        if pod is None or is_deleting(pod):
            return
        for volume in _ephemeral(pod):
            try:
                await self._ensure(pod, volume)
            except (ForeignClaimError, ApiError) as error:
                text = f"ephemeral volume {volume['name']}: {error}"
                self.event(pod, "Warning", "FailedBinding", text)
                raise

    async def _ensure(self, pod: JsonObject, volume: JsonObject) -> None:
        claim = plan_claim(pod, volume)
        found = self._claims.get(key_of(claim))
        if found is not None:
            if not is_controlled_by(found, pod):
                raise ForeignClaimError(found, pod)
            return
        try:
            await self.client.create(PERSISTENTVOLUMECLAIMS, claim)
        except AlreadyExistsError:
            # Our cache is behind: the next look decides whose it is.
            self.queue.add_after(key_of(pod), 1.0)
