"""What an autoscaler scales: the resource of a kind, and its scale."""

from winkube.api.errors import ApiError, NotFoundError
from winkube.base.types import JsonObject
from winkube.client.discovery import parse_resources
from winkube.client.errors import TransportError
from winkube.client.resource import Resource
from winkube.client.rest import ApiClient
from winkube.controllers.autoscaling.errors import TargetError


class Targets:
    """Kinds by discovery; what was found once is remembered."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client
        self._known: dict[tuple[str, str], list[Resource]] = {}

    async def resources(self, api_version: str, kind: str) -> list[Resource]:
        """In every version of the group, the preferred one first."""
        group = split_group(api_version)
        known = self._known.get((group, kind))
        if known:
            return known
        try:
            found = [
                served.resource
                for path in await self._version_paths(group)
                for served in parse_resources(await self._client.get_path(path))
                if served.kind == kind
            ]
        except NotFoundError:
            found = []
        except (ApiError, TransportError) as error:
            raise TargetError(str(error)) from error
        if not found:
            raise TargetError(f'no matches for kind "{kind}" in group "{group}"')
        self._known[group, kind] = found
        return found

    async def _version_paths(self, group: str) -> list[str]:
        if not group:
            return ["/api/v1"]
        document = await self._client.get_path(f"/apis/{group}")
        return [f"/apis/{version['groupVersion']}" for version in document["versions"]]

    async def scale(self, reference: JsonObject, namespace: str) -> tuple[Resource, JsonObject]:
        """The first of the kind's resources that has a scale for this name."""
        failure: Exception | None = None
        for resource in await self.resources(reference.get("apiVersion", ""), reference["kind"]):
            try:
                scale = await self._client.get(
                    resource, reference["name"], namespace=namespace, subresource="scale"
                )
            except (ApiError, TransportError) as error:
                failure = failure or error
            else:
                return resource, scale
        raise TargetError(str(failure) if failure else "unrecognized resource") from failure


def split_group(api_version: str) -> str:
    if api_version.count("/") > 1:
        raise TargetError(f"unexpected GroupVersion string: {api_version}")
    return api_version.partition("/")[0] if "/" in api_version else ""
