"""How the servers behind APIServices describe themselves: their OpenAPI documents, fetched."""

import logging

import aiohttp

from winkube.api.errors import ApiError, UnavailableError
from winkube.apiserver.aggregation.availability import Availability
from winkube.apiserver.aggregation.backend import Backends
from winkube.apiserver.aggregation.remote import Remote, Remotes
from winkube.base.types import JsonObject

log = logging.getLogger(__name__)


class RemoteSpecs:
    def __init__(self, remotes: Remotes, backends: Backends, availability: Availability) -> None:
        self._remotes = remotes
        self._backends = backends
        self._availability = availability
        self._v2: tuple[int, list[JsonObject]] = (-1, [])

    @property
    def revision(self) -> int:
        return self._availability.revision

    def names(self) -> list[str]:
        return [remote.path.lstrip("/") for remote in self._answering()]

    async def v3(self, name: str) -> JsonObject:
        remote = next(each for each in self._answering() if each.path.lstrip("/") == name)
        document = await self._fetch(remote, f"/openapi/v3/{name}")
        if document is None:
            raise UnavailableError("service unavailable")
        return document

    async def v2(self) -> list[JsonObject]:
        """One document for each server; they are asked again when something has changed."""
        revision = self.revision
        if self._v2[0] != revision:
            servers = {(r.namespace, r.service, r.port): r for r in self._answering()}
            found = [await self._fetch(remote, "/openapi/v2") for remote in servers.values()]
            self._v2 = (revision, [document for document in found if document is not None])
        return self._v2[1]

    def _answering(self) -> list[Remote]:
        return [remote for remote in self._remotes.all() if remote.available]

    async def _fetch(self, remote: Remote, path: str) -> JsonObject | None:
        try:
            return await self._backends.fetch(remote, path)
        except (aiohttp.ClientError, TimeoutError, ValueError, ApiError) as error:
            log.debug("no OpenAPI", extra={"server": remote.name, "error": str(error)})
            return None
