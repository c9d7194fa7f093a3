"""A claim that names no storage class gets the default one, if there is one."""

from collections.abc import Callable
from typing import ClassVar

from winkube.api.meta import annotations_of
from winkube.api.volumes import CLASS_BETA, is_default_class
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.served import Resources, Served
from winkube.base.types import JsonObject


class DefaultStorageClass:
    about: ClassVar = frozenset({"persistentvolumeclaims"})

    def __init__(self, resources: Resources) -> None:
        self._classes = resources.find("storage.k8s.io", "v1", "storageclasses")

    async def admit(self, request: Admission) -> None:
        claim = request.obj
        if request.operation != "CREATE" or not request.is_for("persistentvolumeclaims"):
            return
        if claim is None or self._classes is None:
            return
        spec = claim.setdefault("spec", {})
        if spec.get("storageClassName") is not None or CLASS_BETA in annotations_of(claim):
            return
        name = newest_default(self._classes, is_default_class)
        if name is not None:
            spec["storageClassName"] = name


def newest_default(classes: Served, is_default: Callable[[JsonObject], bool]) -> str | None:
    """The newest of the classes that are default; of equals the first by name."""
    marked = [obj["metadata"] for item in classes.cache.items() if is_default(obj := item.load())]
    if not marked:
        return None
    newest = max(meta["creationTimestamp"] for meta in marked)
    return min(str(meta["name"]) for meta in marked if meta["creationTimestamp"] == newest)
