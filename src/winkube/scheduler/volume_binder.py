"""Make the volumes of a pod real before the pod is bound (the scheduler's PreBind).

Volumes that exist are given to their claims; for the others the claim gets the node's name, which
tells the provisioner where to make one. Then we wait until every claim is bound.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from winkube.api.errors import ApiError
from winkube.api.meta import (
    annotations_of,
    is_deleting,
    key_of,
    name_of,
    namespace_of,
    resource_version,
    uid_of,
)
from winkube.api.volumes import (
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    claim_reference,
    class_of,
    is_bound,
    is_for,
    meant_for,
    offers,
)
from winkube.base.errors import WinkubeError
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.informer import Informer
from winkube.client.resource import (
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    STORAGECLASSES,
)
from winkube.client.rest import ApiClient
from winkube.scheduler.shape import PodInfo
from winkube.scheduler.volumes import VolumeChoice, Volumes

BIND_SECONDS: Final = 600.0
_CLASS: Final = "class"
_MEANT: Final = "meant"


class VolumeBindError(WinkubeError):
    """The pod cannot have its volumes on this node after all."""


class VolumeBinder:
    def __init__(self, client: ApiClient, volumes: Volumes) -> None:
        self._client = client
        self._volumes = volumes
        self._claims = Informer(client, PERSISTENTVOLUMECLAIMS)
        self._persistent = Informer(client, PERSISTENTVOLUMES)
        self._classes = Informer(client, STORAGECLASSES)
        self._persistent.add_index(_CLASS, offers)
        self._persistent.add_index(_MEANT, meant_for)
        volumes.find_claim = self._claims.get
        volumes.find_volume = self._persistent.get
        volumes.find_class = self._classes.get
        volumes.candidates = self._candidates

    def _candidates(self, claim: JsonObject) -> list[JsonObject]:
        return [
            *self._persistent.by_index(_MEANT, key_of(claim)),
            *self._persistent.by_index(_CLASS, class_of(claim)),
        ]

    @property
    def informers(self) -> tuple[Informer, ...]:
        return self._claims, self._persistent, self._classes

    async def bind(
        self, pod: PodInfo, node: str, choice: VolumeChoice, is_wanted: Callable[[], bool]
    ) -> None:
        """Return when every claim of the pod is bound; give up when the pod is not wanted."""
        try:
            for claim, volume in choice.bind:
                await self._give(volume, claim)
            asked = {key_of(claim): await self._ask(claim, node) for claim in choice.provision}
            async with asyncio.timeout(BIND_SECONDS):
                while not self._is_done(pod, node, asked):
                    if not is_wanted():
                        raise VolumeBindError("pod does not exist any more")
                    await self._volumes.next_change()
        except TimeoutError:
            raise VolumeBindError("binding volumes: context deadline exceeded") from None
        except (ApiError, TransportError) as error:
            raise VolumeBindError(f"binding volumes: {error}") from error
        finally:
            self._volumes.forget(choice)

    async def _give(self, volume: JsonObject, claim: JsonObject) -> None:
        reference = volume["spec"].get("claimRef") or {}
        if is_for(volume, claim) and reference.get("uid"):
            return
        notes = dict(annotations_of(volume))
        if not is_for(volume, claim):
            notes[BOUND_BY_CONTROLLER] = "yes"
        metadata = {**volume["metadata"], "annotations": notes}
        spec = {**volume["spec"], "claimRef": claim_reference(claim)}
        await self._client.update(PERSISTENTVOLUMES, {**volume, "metadata": metadata, "spec": spec})

    async def _ask(self, claim: JsonObject, node: str) -> int:
        """Have a volume made on this node; the version of the claim that says so."""
        if annotations_of(claim).get(SELECTED_NODE) == node:
            return resource_version(claim)
        # Only our own annotation is at stake: others may write to a young claim at the same time.
        metadata = {"uid": uid_of(claim), "annotations": {SELECTED_NODE: node}}
        written = await self._client.patch(
            PERSISTENTVOLUMECLAIMS,
            name_of(claim),
            {"metadata": metadata},
            namespace=namespace_of(claim),
        )
        return resource_version(written)

    def _is_done(self, pod: PodInfo, node: str, asked: Mapping[str, int]) -> bool:
        for key in pod.claims:
            claim = self._claims.get(key)
            if claim is None or is_deleting(claim):
                raise VolumeBindError(f'persistentvolumeclaim "{key.partition("/")[2]}" not found')
            if is_bound(claim):
                continue
            # What the cache showed before it showed our annotation says nothing.
            seen = key in asked and resource_version(claim) >= asked[key]
            if seen and annotations_of(claim).get(SELECTED_NODE) != node:
                raise VolumeBindError(f'provisioning failed for PVC "{name_of(claim)}"')
            return False
        return True
