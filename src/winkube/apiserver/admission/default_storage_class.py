"""A claim that names no storage class gets the default one, if there is one."""

from typing import Final

from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.served import Resources

_MARK: Final = "storageclass.kubernetes.io/is-default-class"
_OLD_NOTE: Final = "volume.beta.kubernetes.io/storage-class"


class DefaultStorageClass:
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
        marked = [
            obj["metadata"]
            for item in self._classes.cache.items()
            if ((obj := item.load())["metadata"].get("annotations") or {}).get(_MARK) == "true"
        ]
        if marked:
            newest = max(marked, key=lambda meta: (meta["creationTimestamp"], meta["name"]))
            spec["storageClassName"] = newest["name"]
