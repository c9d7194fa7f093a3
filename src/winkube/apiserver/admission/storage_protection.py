"""Volumes and claims that are in use stay: a finalizer from the start keeps them."""

from typing import ClassVar, Final

from winkube.apiserver.admission.chain import Admission

_FINALIZERS: Final = {
    "persistentvolumes": "kubernetes.io/pv-protection",
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
}


class StorageObjectInUseProtection:
    about: ClassVar = frozenset(_FINALIZERS)

    async def admit(self, request: Admission) -> None:
        kind = request.served.kind
        if request.operation != "CREATE" or request.obj is None or not request.is_for(kind.plural):
            return
        finalizer = _FINALIZERS.get(kind.plural)
        if finalizer is None:
            return
        have = request.obj["metadata"].get("finalizers") or []
        if finalizer not in have:
            request.obj["metadata"]["finalizers"] = [*have, finalizer]
