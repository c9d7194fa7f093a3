"""A claim grows only when it is bound and its class says that its volumes can."""

from typing import ClassVar, Final

from winkube.api.quota.amounts import Amount, amount
from winkube.api.volumes import class_of
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.served import Resources
from winkube.base.types import JsonObject

_NOT_BOUND: Final = "Only bound persistent volume claims can be expanded"
_CANNOT: Final = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc "
    "must support resize"
)


class PersistentVolumeClaimResize:
    about: ClassVar = frozenset({"persistentvolumeclaims"})

    def __init__(self, resources: Resources) -> None:
        self._classes = resources.find("storage.k8s.io", "v1", "storageclasses")

    async def validate(self, request: Admission) -> None:
        new, old = request.obj, request.old
        if request.operation != "UPDATE" or request.subresource or new is None or old is None:
            return
        if _size(new).nano <= _size(old).nano:
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            raise request.forbidden(_NOT_BOUND)
        if not self._can_grow(class_of(new), class_of(old)):
            raise request.forbidden(_CANNOT)

    def _can_grow(self, new: str, old: str) -> bool:
        if not new or new != old or self._classes is None:
            return False
        item = self._classes.cache.get(self._classes.key("", new))
        return item is not None and bool(item.load().get("allowVolumeExpansion"))


def _size(claim: JsonObject) -> Amount:
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    return amount(requests.get("storage", "0"))
