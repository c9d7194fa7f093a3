"""Claims that ask for more than they have: somebody outside has to grow the volume."""

from fractions import Fraction

from winkube.api.meta import uid_of
from winkube.api.quantity import parse_quantity
from winkube.base.types import JsonObject
from winkube.client.resource import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES
from winkube.controllers.controller import Context, Controller

_WAITING = "waiting for an external controller to expand this PVC"


def wanted_size(claim: JsonObject) -> Fraction:
    return _storage((claim["spec"].get("resources") or {}).get("requests"))


def present_size(claim: JsonObject) -> Fraction:
    return _storage((claim.get("status") or {}).get("capacity"))


def _storage(amounts: JsonObject | None) -> Fraction:
    return parse_quantity((amounts or {}).get("storage") or "0")


class VolumeExpander(Controller):
    name = "persistentvolume-expander-controller"
    event_source = "volume_expand"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._claims = self.informer(PERSISTENTVOLUMECLAIMS)
        self._claims.on_change(self._claim_changed)
        self._volumes = self.informer(PERSISTENTVOLUMES)

    def _claim_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is None or (new.get("status") or {}).get("phase") != "Bound":
            return
        if old is None or any(size(new) > size(old) for size in (wanted_size, present_size)):
            self.queue.add(key)

    async def reconcile(self, key: str) -> None:
        claim = self._claims.get(key)
        if claim is None or wanted_size(claim) <= present_size(claim):
            return
        volume = self._volumes.get(claim["spec"].get("volumeName") or "") or {}
        reference = (volume.get("spec") or {}).get("claimRef") or {}
        if reference.get("uid") == uid_of(claim):
            self.event(claim, "Normal", "ExternalExpanding", _WAITING)
