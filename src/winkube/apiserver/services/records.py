"""Who has which cluster address, as objects: one IPAddress for each address.

The addresses themselves are taken by the hook in this process; these objects follow the Services
(KEP-1880), so that people and other programs can see them.
"""

import logging
from typing import Final

from winkube.api.addresses import regular
from winkube.api.errors import AlreadyExistsError, ApiError
from winkube.apiserver.auth.user import SELF
from winkube.apiserver.cache import Change
from winkube.apiserver.item import Item
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.core import Registry
from winkube.apiserver.registry.create import create
from winkube.apiserver.registry.update import delete_now
from winkube.apiserver.served import Served
from winkube.base.types import JsonObject

log = logging.getLogger(__name__)

_GROUP: Final = "networking.k8s.io"
_MANAGER: Final = "ipaddress.kubernetes.io/managed-by"
_FAMILY: Final = "ipaddress.kubernetes.io/ip-family"
_ALLOCATOR: Final = "ipallocator.k8s.io"
_LOOK_AGAIN: Final = 60.0


def addresses_of(service: JsonObject) -> list[str]:
    spec = service.get("spec") or {}
    found = (regular(address) for address in spec.get("clusterIPs") or ())
    return [each[1] for each in found if each is not None]


def plan_address(address: str, service: JsonObject) -> JsonObject:
    metadata = service["metadata"]
    family = "IPv6" if ":" in address else "IPv4"
    return {
        "kind": "IPAddress",
        "apiVersion": f"{_GROUP}/v1",
        "metadata": {"name": address, "labels": {_FAMILY: family, _MANAGER: _ALLOCATOR}},
        "spec": {
            "parentRef": {
                "resource": "services",
                "namespace": metadata["namespace"],
                "name": metadata["name"],
            }
        },
    }


class ServiceRecords:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._services = registry.resources.core("services")
        self._addresses = registry.resources.find(_GROUP, "v1", "ipaddresses")

    async def run(self) -> None:
        """Follow the Services for ever; versions without these kinds have nothing to follow."""
        if self._addresses is None:
            return
        while True:
            with self._services.cache.subscribe() as watcher:
                try:
                    await self._sync(self._addresses)
                    while not watcher.lagged:
                        for change in await watcher.take(_LOOK_AGAIN):
                            await self._follow(self._addresses, change)
                except ApiError as error:
                    log.warning("cannot record addresses", extra={"error": str(error)})
                    await watcher.take(1.0)

    async def _sync(self, addresses: Served) -> None:
        wanted = {
            address: plan_address(address, service)
            for service in (item.load() for item in self._services.cache.items())
            for address in addresses_of(service)
        }
        for item in addresses.cache.items():
            known = wanted.get(item.name)
            if _is_ours(item) and (known is None or known["spec"] != item.load().get("spec")):
                await delete_now(self._registry, addresses, item)
        for obj in wanted.values():
            await self._create(addresses, obj)

    async def _follow(self, addresses: Served, change: Change) -> None:
        current = self._services.cache.get(change.item.key)
        service = {} if current is None else current.load()
        kept = addresses_of(service)
        for address in addresses_of(change.item.load() if current is None else {}):
            await self._remove(addresses, address, change.item)
        if change.previous is not None:
            for address in addresses_of(change.previous.load()):
                if address not in kept:
                    await self._remove(addresses, address, change.item)
        for address in kept:
            await self._create(addresses, plan_address(address, service))

    async def _remove(self, addresses: Served, address: str, service: Item) -> None:
        item = addresses.cache.get(addresses.key("", address))
        if item is not None and _is_ours(item):
            parent = item.load()["spec"]["parentRef"]
            if (parent["namespace"], parent["name"]) == (service.namespace, service.name):
                await delete_now(self._registry, addresses, item)

    async def _create(self, addresses: Served, obj: JsonObject) -> None:
        if addresses.cache.get(addresses.key("", obj["metadata"]["name"])) is not None:
            return
        try:
            await create(self._registry, addresses, "", obj, WriteOptions(SELF))
        except AlreadyExistsError:
            log.debug("an address is recorded", extra={"address": obj["metadata"]["name"]})


def _is_ours(item: Item) -> bool:
    return (item.load()["metadata"].get("labels") or {}).get(_MANAGER) == _ALLOCATOR
