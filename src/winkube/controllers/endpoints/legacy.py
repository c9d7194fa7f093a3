"""The Endpoints controller: the v1 object older clients read, one per service."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import orjson

from winkube.api.errors import AlreadyExistsError, ForbiddenError
from winkube.api.meta import (
    annotations_of,
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    uid_of,
)
from winkube.base.types import JsonObject
from winkube.client.resource import ENDPOINTS
from winkube.controllers.controller import Context
from winkube.controllers.endpoints.backend import (
    HEADLESS,
    Backend,
    Port,
    Ports,
    backends,
    families,
    hostname,
    is_headless,
    is_managed,
    selected_pods,
    target_ref,
    to_ports,
)
from winkube.controllers.endpoints.order import endpoints_order
from winkube.controllers.endpoints.slice import ServiceFollower
from winkube.controllers.endpoints.trigger import stamp
from winkube.controllers.pods import node_of

MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
MANAGER: Final = "endpoint-controller"
OVER_CAPACITY: Final = "endpoints.kubernetes.io/over-capacity"
MAX_ADDRESSES: Final = 1000


def plan_subsets(service: JsonObject, found: Sequence[Backend]) -> list[JsonObject]:
    """Ports that the same addresses offer; a terminating pod counts only where all are published.

    (kubernetes: pkg/api/v1/endpoints/util.go, RepackSubsets)
    """
    publish = bool(service["spec"].get("publishNotReadyAddresses"))
    listed = [each for each in found if publish or not each.terminating]
    offers: dict[Port | None, list[Backend]] = defaultdict(list)
    for backend in listed:
        for port in backend.ports:
            offers[port].append(backend)
        if not backend.ports and is_headless(service):
            offers[None].append(backend)
    groups: dict[tuple[str, ...], list[Port]] = defaultdict(list)
    members: dict[tuple[str, ...], list[Backend]] = {}
    for offered, offering in offers.items():
        place = tuple(f"{backend.address} {uid_of(backend.pod)}" for backend in offering)
        members[place] = offering
        groups[place] += [] if offered is None else [offered]
    subsets = [_subset(service, tuple(groups[place]), members[place]) for place in members]
    return sorted(subsets, key=lambda subset: orjson.dumps(subset.get("ports")))


def truncate(subsets: list[JsonObject]) -> list[JsonObject]:
    """At most so many addresses, ready ones first; the subsets give up in proportion."""
    ready, waiting = (
        sum(len(each.get(part) or ()) for each in subsets)
        for part in ("addresses", "notReadyAddresses")
    )
    if ready + waiting <= MAX_ADDRESSES:
        return subsets
    part, total, room = "notReadyAddresses", waiting, MAX_ADDRESSES - ready
    if ready > MAX_ADDRESSES:
        part, total, room = "addresses", ready, MAX_ADDRESSES
    kept, left = [], room
    for subset in subsets:
        have = subset.get(part) or []
        share = min(left, math.ceil(len(have) / total * room))
        left -= min(share, len(have))
        fresh = {**subset, part: have[:share]}
        if part == "addresses":
            fresh["notReadyAddresses"] = []
        kept.append({key: value for key, value in fresh.items() if value})
    return kept


def _subset(service: JsonObject, ports: Ports, offering: Sequence[Backend]) -> JsonObject:
    ordered = sorted(offering, key=lambda backend: (backend.address, uid_of(backend.pod)))
    subset: JsonObject = {}
    for name, ready in (("addresses", True), ("notReadyAddresses", False)):
        addresses = [_address(service, each) for each in ordered if each.ready is ready]
        if addresses:
            subset[name] = addresses
    if ports:
        subset["ports"] = to_ports(endpoints_order(ports))
    return subset


def _address(service: JsonObject, backend: Backend) -> JsonObject:
    address: JsonObject = {"ip": backend.address}
    optional = {
        "hostname": hostname(service, backend.pod),
        "nodeName": node_of(backend.pod),
    }
    address |= {key: value for key, value in optional.items() if value}
    return address | {"targetRef": target_ref(backend.pod)}


class EndpointsController(ServiceFollower):
    name = "endpoints-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._endpoints = self.follow(ENDPOINTS)
        # Services that went while we looked: their Endpoints go with them, whoever wrote those.
        self._gone: set[str] = set()
        self.services.on_change(self._service_changed)

    def _service_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is None:
            self._gone.add(key)
        else:
            self._gone.discard(key)

    async def reconcile(self, key: str) -> None:
        service = self.services.get(key)
        if service is None or is_deleting(service):
            self.triggers.forget(key)
            await self._remove(key)
        elif is_managed(service):
            await self._write(key, service)

    async def _write(self, key: str, service: JsonObject) -> None:
        pods = selected_pods(self.pods, service)
        when = self.triggers.look(service, pods)
        found = backends(service, pods, families(service)[0])
        whole = plan_subsets(service, found)
        subsets = truncate(whole)
        labels = {**labels_of(service), MANAGED_BY: MANAGER}
        if is_headless(service):
            labels[HEADLESS] = ""
        current = self._endpoints.get(key)
        annotations = {OVER_CAPACITY: "truncated"} if subsets is not whole else {}
        if current is None:
            metadata = {
                "name": name_of(service), "namespace": namespace_of(service), "labels": labels,
                **({"annotations": annotations} if annotations else {}),
            }  # fmt: skip
            document = {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata}
            try:
                await self.client.create(ENDPOINTS, stamp({**document, "subsets": subsets}, when))
            except (AlreadyExistsError, ForbiddenError):
                # In the cache soon, or the namespace is on its way out.
                return
        elif (
            (current.get("subsets") or []) != subsets
            or labels_of(current) != labels
            or annotations.get(OVER_CAPACITY) != annotations_of(current).get(OVER_CAPACITY)
        ):
            notes = {k: v for k, v in annotations_of(current).items() if k != OVER_CAPACITY}
            metadata = {
                **current["metadata"], "labels": labels, "annotations": {**notes, **annotations}
            }  # fmt: skip
            fresh = {**current, "metadata": metadata, "subsets": subsets}
            await self.client.update(ENDPOINTS, stamp(fresh, when))

    async def _remove(self, key: str) -> None:
        current = self._endpoints.get(key)
        ours = current is not None and labels_of(current).get(MANAGED_BY) == MANAGER
        if current is not None and (ours or key in self._gone):
            await self.remove(ENDPOINTS, current)
        self._gone.discard(key)
