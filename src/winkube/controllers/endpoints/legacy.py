"""The Endpoints controller: the v1 object older clients read, one per service."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from winkube.api.errors import AlreadyExistsError, ForbiddenError, NotFoundError
from winkube.api.meta import is_deleting, labels_of, name_of, namespace_of
from winkube.base.types import JsonObject
from winkube.client.resource import ENDPOINTS
from winkube.controllers.controller import Context
from winkube.controllers.endpoints.backend import (
    HEADLESS,
    Backend,
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
from winkube.controllers.endpoints.slice import ServiceFollower
from winkube.controllers.pods import node_of

MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
MANAGER: Final = "endpoint-controller"
OVER_CAPACITY: Final = "endpoints.kubernetes.io/over-capacity"
MAX_ADDRESSES: Final = 1000


def plan_subsets(service: JsonObject, found: Sequence[Backend]) -> list[JsonObject]:
    """Addresses grouped by their ports; a terminating pod counts only where all are published."""
    publish = bool(service["spec"].get("publishNotReadyAddresses"))
    groups: dict[Ports, tuple[list[JsonObject], list[JsonObject]]] = defaultdict(lambda: ([], []))
    for backend in [each for each in found if publish or not each.terminating][:MAX_ADDRESSES]:
        if not backend.ports and not is_headless(service):
            continue
        ready, not_ready = groups[backend.ports]
        (ready if backend.ready else not_ready).append(_address(service, backend))
    subsets = []
    for ports in sorted(groups):
        ready, not_ready = groups[ports]
        subset: JsonObject = {}
        if ready:
            subset["addresses"] = ready
        if not_ready:
            subset["notReadyAddresses"] = not_ready
        if ports:
            subset["ports"] = to_ports(ports)
        subsets.append(subset)
    return subsets


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

    async def reconcile(self, key: str) -> None:
        service = self.services.get(key)
        if service is None or is_deleting(service):
            await self._remove(key)
        elif is_managed(service):
            await self._write(key, service)

    async def _write(self, key: str, service: JsonObject) -> None:
        found = backends(service, selected_pods(self.pods, service), families(service)[0])
        subsets = plan_subsets(service, found)
        labels = {**labels_of(service), MANAGED_BY: MANAGER}
        if is_headless(service):
            labels[HEADLESS] = ""
        current = self._endpoints.get(key)
        annotations = {OVER_CAPACITY: "truncated"} if len(found) > MAX_ADDRESSES else {}
        if current is None:
            metadata = {
                "name": name_of(service), "namespace": namespace_of(service), "labels": labels,
                **({"annotations": annotations} if annotations else {}),
            }  # fmt: skip
            document = {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata}
            try:
                await self.client.create(ENDPOINTS, {**document, "subsets": subsets})
            except (AlreadyExistsError, ForbiddenError):
                # In the cache soon, or the namespace is on its way out.
                return
        elif (current.get("subsets") or []) != subsets or labels_of(current) != labels:
            metadata = {**current["metadata"], "labels": labels}
            await self.client.update(
                ENDPOINTS, {**current, "metadata": metadata, "subsets": subsets}
            )

    async def _remove(self, key: str) -> None:
        if self._endpoints.get(key) is None:
            return
        namespace, _, name = key.partition("/")
        if labels_of(self._endpoints.get(key) or {}).get(MANAGED_BY) != MANAGER:
            return
        try:
            await self.client.delete(ENDPOINTS, name, namespace=namespace)
        except NotFoundError:
            return
