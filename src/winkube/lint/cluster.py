"""The objects of a running cluster, and the targets its Windows nodes are."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from winkube.api.errors import ApiError
from winkube.base.types import JsonObject
from winkube.client.config import ClientConfig
from winkube.client.discovery import ServedResource, discover
from winkube.client.resource import NODES, Resource
from winkube.client.rest import ApiClient
from winkube.lint.errors import ClusterError
from winkube.rules.model import Target
from winkube.rules.paths import first
from winkube.rules.target import targets_of_nodes

_PAGE: Final = 500
# Kinds that no rule is about, or that must not be read without need.
_SKIPPED: Final = frozenset(
    [
        "events",
        "secrets",
        "configmaps",
        "leases",
        "endpoints",
        "endpointslices",
        "controllerrevisions",
        "componentstatuses",
        "csinodes",
        "csistoragecapacities",
        "volumeattachments",
        "bindings",
        "certificatesigningrequests",
        "serviceaccounts",
        "roles",
        "rolebindings",
        "clusterroles",
        "clusterrolebindings",
        "apiservices",
        "customresourcedefinitions",
        "prioritylevelconfigurations",
        "flowschemas",
    ]
)


@dataclass(frozen=True, slots=True)
class Live:
    objects: list[JsonObject]
    targets: tuple[Target, ...]
    unread: tuple[str, ...]


async def read_cluster(config: ClientConfig) -> Live:
    """Everything that a person wrote: objects that a controller owns are left to their owner."""
    async with ApiClient(config) as client:
        try:
            resources = await discover(client)
            nodes = [node async for node in _pages(client, NODES)]
        except ApiError as error:
            raise ClusterError(f"{config.server}: {error}") from error
        objects: list[JsonObject] = []
        unread: list[str] = []
        for served in _wanted(resources):
            try:
                items = [item async for item in _pages(client, served.resource)]
                objects += [item for item in items if not _is_controlled(item)]
            except ApiError as error:
                unread.append(f"{served.resource.plural}: {error}")
    return Live(objects, targets_of_nodes(nodes), tuple(unread))


def _wanted(resources: list[ServedResource]) -> list[ServedResource]:
    return [
        served
        for served in resources
        if "list" in served.verbs
        and "get" in served.verbs
        and served.resource.plural not in _SKIPPED
        and served.resource.group != "metrics.k8s.io"
    ]


async def _pages(client: ApiClient, resource: Resource) -> AsyncIterator[JsonObject]:
    token: str | None = None
    while True:
        listing = await client.list(resource, limit=_PAGE, continue_token=token)
        for item in listing.get("items") or ():
            yield item
        token = first(listing, "metadata", "continue")
        if not token:
            return


def _is_controlled(item: JsonObject) -> bool:
    owners = first(item, "metadata", "ownerReferences") or ()
    return any(owner.get("controller") for owner in owners)
