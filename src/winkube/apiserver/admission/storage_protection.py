"""Volumes, claims and classes in use stay: a finalizer from the start keeps them."""

from typing import ClassVar, Final

from winkube.apiserver.admission.chain import Admission

_FINALIZERS: Final = {
    "persistentvolumes": "kubernetes.io/pv-protection",
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "volumeattributesclasses.storage.k8s.io": "kubernetes.io/vac-protection",
}


class StorageObjectInUseProtection:
    about: ClassVar = frozenset(_FINALIZERS)

    async def admit(self, request: Admission) -> None:
        if request.operation != "CREATE" or request.obj is None or request.subresource:
            return
        finalizer = _FINALIZERS.get(request.served.kind.group_resource)
        if finalizer is None:
            return
        have = request.obj["metadata"].get("finalizers") or []
        if finalizer not in have:
            request.obj["metadata"]["finalizers"] = [*have, finalizer]
