"""A claim that names no storage class gets the default one, if there is one."""

from typing import ClassVar, Final

from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.served import Resources, Served
from winkube.base.types import JsonObject

_MARKS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_OLD_NOTE: Final = "volume.beta.kubernetes.io/storage-class"


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
        notes = claim["metadata"].get("annotations") or {}
        if spec.get("storageClassName") is not None or _OLD_NOTE in notes:
            return
        name = newest_marked(self._classes, *_MARKS)
        if name is not None:
            spec["storageClassName"] = name


def newest_marked(classes: Served, *marks: str) -> str | None:
    """The newest object that an annotation marks as default; of equals the first by name."""
    marked = [
        obj["metadata"] for item in classes.cache.items() if _is_marked(obj := item.load(), marks)
    ]
    if not marked:
        return None
    newest = max(meta["creationTimestamp"] for meta in marked)
    return min(str(meta["name"]) for meta in marked if meta["creationTimestamp"] == newest)


def _is_marked(obj: JsonObject, marks: tuple[str, ...]) -> bool:
    notes = obj["metadata"].get("annotations") or {}
    return any(notes.get(mark) == "true" for mark in marks)
