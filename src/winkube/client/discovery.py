"""Which resources a server has, from its discovery documents."""

from dataclasses import dataclass, field

from winkube.api.errors import ApiError
from winkube.base.types import JsonObject
from winkube.client.resource import Resource
from winkube.client.rest import ApiClient


@dataclass(frozen=True, slots=True)
class ServedResource:
    resource: Resource
    kind: str
    verbs: frozenset[str]


@dataclass(slots=True)
class Discovery:
    """What was found, and the group versions whose server did not answer."""

    resources: list[ServedResource]
    silent: list[str] = field(default_factory=list)


async def discover(client: ApiClient) -> list[ServedResource]:
    """Every resource at its group's preferred version; a group that fails is left out."""
    return (await survey(client)).resources


async def survey(client: ApiClient) -> Discovery:
    """As ``discover``, for those who must know whether that is all."""
    found = Discovery(parse_resources(await client.get_path("/api/v1")))
    for group in (await client.get_path("/apis")).get("groups") or ():
        preferred = group.get("preferredVersion") or group["versions"][0]
        version = preferred["groupVersion"]
        try:
            found.resources += parse_resources(await client.get_path(f"/apis/{version}"))
        except ApiError:
            found.silent.append(version)
    return found


def parse_resources(document: JsonObject) -> list[ServedResource]:
    """Read an APIResourceList; subresources are not resources of their own."""
    group, _, version = document["groupVersion"].rpartition("/")
    return [
        ServedResource(
            Resource(
                entry.get("group") or group,
                entry.get("version") or version,
                entry["name"],
                bool(entry["namespaced"]),
            ),
            entry["kind"],
            frozenset(entry.get("verbs") or ()),
        )
        for entry in document.get("resources") or ()
        if "/" not in entry["name"]
    ]
