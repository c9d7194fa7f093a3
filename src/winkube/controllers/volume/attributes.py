"""Classes of volume attributes stay while claims or volumes have them: a finalizer sees to it."""

import asyncio
from collections.abc import Iterator
from typing import Final

from winkube.base.types import JsonObject
from winkube.client.informer import Informer
from winkube.client.resource import (
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    VOLUMEATTRIBUTESCLASSES,
)
from winkube.controllers.controller import Context
from winkube.controllers.volume.protection import Protection, plan_finalizers

FINALIZER: Final = "kubernetes.io/vac-protection"
_CLASS: Final = "attributes class"


def attributes_classes(obj: JsonObject) -> Iterator[str]:
    """The classes that a claim or a volume has, is to have, or is being given."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    changing = status.get("modifyVolumeStatus") or {}
    named = (
        spec.get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        changing.get("targetVolumeAttributesClassName"),
    )
    return (name for name in {*named} if name)


class AttributesClassProtection(Protection):
    name = "volumeattributesclass-protection-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        # Not one of the shared caches, which all wait for: older servers do not have the kind.
        self._classes = Informer(self.client, VOLUMEATTRIBUTESCLASSES)
        self._classes.on_change(lambda key, old, new: self.queue.add(key))
        self._users = [self.informer(kind) for kind in (PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES)]
        for users in self._users:
            users.add_index(_CLASS, attributes_classes)
            users.on_change(self._user_changed)

    def _user_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        for name in {*attributes_classes(old or {})} - {*attributes_classes(new or {})}:
            self.queue.add(name)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._classes.run(), name=f"{self.name} classes")
            group.create_task(super().run(), name=self.name)

    async def reconcile(self, key: str) -> None:
        found = self._classes.get(key)
        if found is None:
            return
        in_use = any(users.count(_CLASS, key) for users in self._users)
        wanted = plan_finalizers(found, FINALIZER, in_use=in_use)
        if wanted is not None:
            await self.write_finalizers(VOLUMEATTRIBUTESCLASSES, found, wanted)
