"""The objects a cluster starts with; made once, left alone when they exist.

A cluster cannot do without its system namespaces and the ``kubernetes`` Service: these come back
when somebody deletes them, as upstream's bootstrap controllers see to it.
"""

import asyncio
import logging
from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from typing import Final

from winkube.api.addresses import service_ranges
from winkube.api.defaults import apply_defaults
from winkube.api.errors import AlreadyExistsError, ApiError
from winkube.apiserver.auth.bootstrap import bootstrap_objects
from winkube.apiserver.auth.rbac import GROUP
from winkube.apiserver.auth.user import SELF
from winkube.apiserver.config import ApiServerConfig
from winkube.apiserver.item import Item
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.core import Registry
from winkube.apiserver.registry.create import create
from winkube.apiserver.registry.update import store_update
from winkube.apiserver.served import Served
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject

log = logging.getLogger(__name__)

_OURS: Final = frozenset({"endpoints", "endpointslices"})
_SELF: Final = WriteOptions(SELF)
_KEEP_SECONDS: Final = 2.0
TOKEN_TRACKING: Final = "kube-apiserver-legacy-service-account-token-tracking"
Seed = tuple[tuple[str, str, str], str, JsonObject]  # resource, namespace, object


async def seed(registry: Registry, config: ApiServerConfig) -> None:
    await _ensure(registry, _indispensable(config))
    # Side by side: a hundred writes that wait together become one commit.
    async with asyncio.TaskGroup() as group:
        for one in _objects(registry.clock.now()):
            group.create_task(_ensure(registry, [one]), name=one[2]["metadata"]["name"])


async def keep_seeds(registry: Registry, config: ApiServerConfig) -> None:
    """Bring back what a cluster cannot do without, for ever."""
    while True:
        await asyncio.sleep(_KEEP_SECONDS)
        try:
            await _ensure(registry, _indispensable(config))
        except ApiError as error:  # such as a service that took the address meanwhile
            log.warning("cannot restore a system object", extra={"error": str(error)})


async def _ensure(registry: Registry, seeds: Iterable[Seed]) -> None:
    for (group, version, plural), namespace, obj in seeds:
        served = registry.resources.find(group, version, plural)
        if served is None:
            continue
        item = served.cache.get(served.key(namespace, obj["metadata"]["name"]))
        if item is not None and plural in _OURS:
            await _refresh(registry, served, item, obj)
        if item is None:
            item = await _create(registry, served, namespace, obj)
        if item is not None and plural == "servicecidrs":
            await _say_ready(registry, served, item, obj)


async def _create(
    registry: Registry, served: Served, namespace: str, obj: JsonObject
) -> Item | None:
    obj["kind"], obj["apiVersion"] = served.kind.kind, served.kind.api_version
    apply_defaults(served.kind, obj)
    try:
        return await create(registry, served, namespace, obj, _SELF)
    except AlreadyExistsError:
        log.debug("seed exists", extra={"key": obj["metadata"]["name"]})
        return None


async def _refresh(registry: Registry, served: Served, item: Item, wanted: JsonObject) -> None:
    """Where this server is reached may change between its lives: its endpoints follow."""
    obj = item.load()
    for field, value in wanted.items():
        if field != "metadata":
            obj[field] = value
    await store_update(registry, served, item, obj, _SELF)


async def _say_ready(registry: Registry, served: Served, item: Item, wanted: JsonObject) -> None:
    """Addresses come from this range, unless it is another server's or somebody said otherwise."""
    obj = item.load()
    ranges = wanted["spec"]["cidrs"]
    if obj["spec"].get("cidrs") == ranges[:1] != ranges:  # a cluster that gets a second family
        item = await store_update(registry, served, item, {**obj, "spec": wanted["spec"]}, _SELF)
        obj = item.load()
    if obj["spec"].get("cidrs") != ranges or obj.get("status"):
        return
    condition = {
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": obj["metadata"]["creationTimestamp"],
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
    }
    obj["status"] = {"conditions": [condition]}
    await store_update(registry, served, item, obj, _SELF)


def _indispensable(config: ApiServerConfig) -> Iterator[Seed]:
    for name in ("default", "kube-system", "kube-public", "kube-node-lease"):
        yield ("", "v1", "namespaces"), "", {"metadata": {"name": name}}
    ranges = [str(network) for network in service_ranges(config.service_cidr)]
    cidr = {"metadata": {"name": "kubernetes"}, "spec": {"cidrs": ranges}}
    yield ("networking.k8s.io", "v1", "servicecidrs"), "", cidr
    yield from _kubernetes_service(config)


def _objects(now: float) -> Iterator[Seed]:
    for name, value, text in (
        (
            "system-cluster-critical",
            2000000000,
            "Used for system critical pods that must run in the cluster, but can be moved to "
            "another node if necessary.",
        ),
        (
            "system-node-critical",
            2000001000,
            "Used for system critical pods that must not be moved from their current node.",
        ),
    ):
        yield (
            ("scheduling.k8s.io", "v1", "priorityclasses"),
            "",
            {"metadata": {"name": name}, "value": value, "description": text},
        )
    # Since when the use of tokens kept in Secrets is noted: upstream's cleaner of them asks.
    since = {"metadata": {"name": TOKEN_TRACKING}, "data": {"since": to_rfc3339(now)[:10]}}
    yield ("", "v1", "configmaps"), "kube-system", since
    for plural, obj in bootstrap_objects():
        yield (GROUP, "v1", plural), obj["metadata"].get("namespace", ""), obj


def _kubernetes_service(config: ApiServerConfig) -> Iterator[Seed]:
    labels = {"component": "apiserver", "provider": "kubernetes"}
    address = str(service_ranges(config.service_cidr)[0][1])
    port = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": config.advertise_port}
    spec = {"type": "ClusterIP", "clusterIP": address, "ports": [port], "sessionAffinity": "None"}
    yield (
        ("", "v1", "services"),
        "default",
        {"metadata": {"name": "kubernetes", "labels": labels}, "spec": spec},
    )
    if ip_address(config.advertise_address).is_loopback:
        return  # an endpoint nobody else can reach is refused by validation
    served_port = {"name": "https", "port": config.advertise_port, "protocol": "TCP"}
    skip = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    subset = {"addresses": [{"ip": config.advertise_address}], "ports": [served_port]}
    yield (
        ("", "v1", "endpoints"),
        "default",
        {"metadata": {"name": "kubernetes", "labels": skip}, "subsets": [subset]},
    )
    yield (
        ("discovery.k8s.io", "v1", "endpointslices"),
        "default",
        {
            "metadata": {
                "name": "kubernetes",
                "labels": {"kubernetes.io/service-name": "kubernetes"},
            },
            "addressType": f"IPv{ip_address(config.advertise_address).version}",
            "endpoints": [{"addresses": [config.advertise_address], "conditions": {"ready": True}}],
            "ports": [served_port],
        },
    )
