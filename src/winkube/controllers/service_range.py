"""Ranges of cluster addresses: ready when they are there, kept until no address needs them.

An address that only this range holds keeps it; one that another range holds too does not.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Iterator
from typing import Final

from winkube.api.addresses import Address, Network, gives, parse_address, parse_network
from winkube.api.errors import NotFoundError
from winkube.api.meta import get_condition, is_deleting, labels_of, metadata, name_of
from winkube.base.clock import parse_rfc3339, to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.informer import Informer
from winkube.client.resource import IPADDRESSES, SERVICECIDRS
from winkube.client.rest import PatchType
from winkube.controllers.controller import Context, Controller

FINALIZER: Final = "networking.k8s.io/service-cidr-finalizer"
# So long after a range is deleted may an API server not know it, and give addresses of it.
_GRACE_SECONDS: Final = 10.0
_READY: Final = {
    "type": "Ready",
    "status": "True",
    "reason": "",
    "message": "Kubernetes Service CIDR is ready",
}
_HELD: Final = {
    "type": "Ready",
    "status": "False",
    "reason": "Terminating",
    "message": "There are still IPAddresses referencing the ServiceCIDR, please remove them or "
    "create a new ServiceCIDR",
}


def networks_of(range_: JsonObject) -> Iterator[Network]:
    for text in (range_.get("spec") or {}).get("cidrs") or ():
        parsed = parse_network(text)
        if parsed is not None:
            yield parsed[1]


def is_needed(
    range_: JsonObject, every: Iterable[JsonObject], addresses: Iterable[JsonObject]
) -> bool:
    """Whether an address would be in no range without this one; ``every`` has it too."""
    name = name_of(range_)
    others = [network for each in every if name_of(each) != name for network in networks_of(each)]
    own = list(networks_of(range_))
    if all(any(_covers(other, network) for other in others) for network in own):
        return False
    parsed = (parse_address(name_of(each)) for each in addresses if is_allocated(each))
    return any(
        _is_in(own, address) and not _is_in(others, address)
        for address in parsed
        if address is not None
    )


def is_allocated(address: JsonObject) -> bool:
    """Whether it is a Service's, and not somebody's own record."""
    return labels_of(address).get("ipaddress.kubernetes.io/managed-by") == "ipallocator.k8s.io"


def _is_in(networks: Iterable[Network], address: Address) -> bool:
    return any(gives(network, address) for network in networks)


def _covers(outer: Network, inner: Network) -> bool:
    return outer.overlaps(inner) and outer.prefixlen <= inner.prefixlen


class ServiceRangeController(Controller):
    name = "service-cidr-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        # Not among the shared caches, which all wait for: older servers do not have the kinds.
        self._ranges = Informer(self.client, SERVICECIDRS)
        self._ranges.on_change(self._range_changed)
        self._addresses = Informer(self.client, IPADDRESSES)
        self._addresses.on_change(self._address_changed)

    def _range_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        self.queue.add(key)
        if old is None and new is not None:
            # Addresses that held another range back may be in this one too.
            self._look_at_deleted()

    def _address_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if old is None or new is None:
            self._look_at_deleted()

    def _look_at_deleted(self) -> None:
        for each in self._ranges.list():
            if is_deleting(each):
                self.queue.add(name_of(each))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for informer in (self._ranges, self._addresses):
                group.create_task(informer.run(), name=f"{self.name} {informer.resource.plural}")
            for informer in (self._ranges, self._addresses):
                await informer.synced.wait()
            group.create_task(super().run(), name=self.name)

    async def reconcile(self, key: str) -> None:
        range_ = self._ranges.get(key)
        if range_ is None:
            return
        with contextlib.suppress(NotFoundError):
            if is_deleting(range_):
                await self._release(range_)
            else:
                await self._keep(range_)

    async def _keep(self, range_: JsonObject) -> None:
        if FINALIZER not in (metadata(range_).get("finalizers") or ()):
            await self._patch(range_, {"finalizers": [FINALIZER]})
        await self._say(range_, _READY)

    async def _release(self, range_: JsonObject) -> None:
        if is_needed(range_, self._ranges.list(), self._addresses.list()):
            await self._say(range_, _HELD)
            return
        since = parse_rfc3339(metadata(range_)["deletionTimestamp"])
        left = since + _GRACE_SECONDS - self.clock.now()
        if left > 0:
            self.queue.add_after(name_of(range_), left)
        elif FINALIZER in (metadata(range_).get("finalizers") or ()):
            await self._patch(range_, {"$deleteFromPrimitiveList/finalizers": [FINALIZER]})

    async def _patch(self, range_: JsonObject, change: JsonObject) -> None:
        body = {"metadata": change}
        strategic = PatchType.STRATEGIC
        await self.client.patch(SERVICECIDRS, name_of(range_), body, patch_type=strategic)

    async def _say(self, range_: JsonObject, condition: JsonObject) -> None:
        known = get_condition(range_, condition["type"]) or {}
        if all((known.get(field) or "") == value for field, value in condition.items()):
            return
        said = {**condition, "lastTransitionTime": to_rfc3339(self.clock.now())}
        body = {
            "apiVersion": SERVICECIDRS.api_version,
            "kind": "ServiceCIDR",
            "metadata": {"name": name_of(range_)},
            "status": {"conditions": [said]},
        }
        await self.client.apply(SERVICECIDRS, body, manager=self.name, subresource="status")
