"""Endpoints somebody wrote by hand, mirrored into EndpointSlices: proxies read only slices.

Concerns Endpoints of services without a selector; those with one have slices of their own.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final

from winkube.api.addresses import regular
from winkube.api.errors import AlreadyExistsError, ForbiddenError
from winkube.api.meta import (
    annotations_of,
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    to_owner_reference,
)
from winkube.base.ids import SUFFIX_ALPHABET
from winkube.base.types import JsonObject
from winkube.client.resource import ENDPOINTS, ENDPOINTSLICES, SERVICES
from winkube.controllers.controller import Context, Controller
from winkube.controllers.endpoints.slice_plan import MANAGED_BY, SERVICE_NAME
from winkube.controllers.endpoints.trigger import TRIGGER_TIME

MANAGER: Final = "endpointslicemirroring-controller.k8s.io"
SKIP: Final = "endpointslice.kubernetes.io/skip-mirror"
LEADER: Final = "control-plane.alpha.kubernetes.io/leader"
MIRRORED: Final = "mirrored"
MAX_ADDRESSES: Final = 1000
NOT_COPIED: Final = (TRIGGER_TIME, "kubectl.kubernetes.io/last-applied-configuration")


def is_mirrored(endpoints: JsonObject, service: JsonObject | None) -> bool:
    return (
        service is not None
        and not service["spec"].get("selector")
        and not is_deleting(endpoints)
        and labels_of(endpoints).get(SKIP) != "true"
        and LEADER not in annotations_of(endpoints)
    )


def plan_mirror(endpoints: JsonObject) -> list[JsonObject]:
    """The slices of an Endpoints object: one per subset and address family, names stable."""
    found = []
    for number, subset in enumerate(endpoints.get("subsets") or ()):
        addresses = [
            *((entry, True) for entry in subset.get("addresses") or ()),
            *((entry, False) for entry in subset.get("notReadyAddresses") or ()),
        ][:MAX_ADDRESSES]
        for family in ("IPv4", "IPv6"):
            of_family = [
                ({**entry, "ip": known[1]}, ready)
                for entry, ready in addresses
                if (known := regular(entry["ip"])) is not None and known[0] == family
            ]
            if of_family:
                found.append(_slice(endpoints, f"{number} {family}", family, subset, of_family))
    return found


def _slice(
    endpoints: JsonObject,
    place: str,
    family: str,
    subset: JsonObject,
    addresses: Iterable[tuple[JsonObject, bool]],
) -> JsonObject:
    name = name_of(endpoints)
    digest = hashlib.sha256(f"{endpoints['metadata'].get('uid')} {place}".encode()).digest()
    suffix = "".join(SUFFIX_ALPHABET[byte % len(SUFFIX_ALPHABET)] for byte in digest[:5])
    ports = [{"name": "", "protocol": "TCP", **port} for port in subset.get("ports") or ()]
    owner = {"apiVersion": "v1", "kind": "Endpoints", **endpoints}
    notes = {key: text for key, text in annotations_of(endpoints).items() if key not in NOT_COPIED}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": f"{name}-{suffix}",
            "generateName": f"{name}-",
            **({"annotations": notes} if notes else {}),
            "namespace": namespace_of(endpoints),
            "labels": {**labels_of(endpoints), SERVICE_NAME: name, MANAGED_BY: MANAGER},
            "ownerReferences": [to_owner_reference(owner)],
        },
        "addressType": family,
        "endpoints": [_endpoint(entry, ready=ready) for entry, ready in addresses],
        "ports": ports,
    }


def _endpoint(entry: JsonObject, *, ready: bool) -> JsonObject:
    copied = {key: entry[key] for key in ("hostname", "nodeName", "targetRef") if entry.get(key)}
    return {"addresses": [entry["ip"]], "conditions": {"ready": ready}, **copied}


class EndpointSliceMirroringController(Controller):
    name = "endpointslice-mirroring-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._endpoints = self.follow(ENDPOINTS)
        self._services = self.follow(SERVICES)
        self._slices = self.informer(ENDPOINTSLICES)
        self._slices.add_index(MIRRORED, _mirror_of)
        self._slices.on_change(self._slice_changed)

    def _slice_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        for slice_ in (old, new):
            for owner in () if slice_ is None else _mirror_of(slice_):
                self.queue.add(owner)

    async def reconcile(self, key: str) -> None:
        endpoints = self._endpoints.get(key)
        wanted: dict[str, JsonObject] = {}
        if endpoints is not None and is_mirrored(endpoints, self._services.get(key)):
            wanted = {name_of(each): each for each in plan_mirror(endpoints)}
        for slice_ in self._slices.by_index(MIRRORED, key):
            planned = wanted.pop(name_of(slice_), None)
            if planned is None:
                await self.remove(ENDPOINTSLICES, slice_)
            elif not _agrees(slice_, planned):
                given = {key: planned["metadata"][key] for key in ("labels", "annotations")
                         if key in planned["metadata"]}  # fmt: skip
                kept = {key: value for key, value in slice_["metadata"].items()
                        if key not in ("annotations", "generateName")}  # fmt: skip
                metadata = {**kept, **given}
                await self.client.update(ENDPOINTSLICES, {**planned, "metadata": metadata})
        for planned in wanted.values():
            try:
                await self.client.create(ENDPOINTSLICES, planned)
            except (AlreadyExistsError, ForbiddenError):
                # In the cache soon, or the namespace is on its way out.
                continue


def _agrees(slice_: JsonObject, planned: JsonObject) -> bool:
    parts = ("endpoints", "ports", "addressType")
    same = all((slice_.get(part) or []) == (planned[part] or []) for part in parts)
    noted = annotations_of(slice_) == annotations_of(planned)
    return same and noted and labels_of(slice_) == labels_of(planned)


def _mirror_of(slice_: JsonObject) -> Sequence[str]:
    labels = labels_of(slice_)
    if labels.get(MANAGED_BY) != MANAGER or not labels.get(SERVICE_NAME):
        return ()
    return (f"{namespace_of(slice_)}/{labels[SERVICE_NAME]}",)
