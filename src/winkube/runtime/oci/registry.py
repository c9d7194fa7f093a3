"""Pull from registries: the distribution API v2 with anonymous, token and basic access.

Mirrors are tried first and the registry itself last; a blob is streamed to the store and counted
only when its digest is right.
"""

import asyncio
import base64
import functools
import json
import logging
import os
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from winkube.runtime.config import RegistryAuth, RegistryConfig
from winkube.runtime.oci.blobs import BlobStore
from winkube.runtime.oci.errors import ImageNotFoundError, RegistryError
from winkube.runtime.oci.manifest import INDEX_TYPES, MANIFEST_TYPES, Descriptor
from winkube.runtime.oci.reference import DEFAULT_REGISTRY, Reference

log = logging.getLogger(__name__)

_DOCKER_HUB: Final = "registry-1.docker.io"
_CHALLENGE: Final = re.compile(r'(\w+)="([^"]*)"')
_CHUNK: Final = 1 << 20
_MANIFEST_LIMIT: Final = 4 << 20
_TOKEN_LIMIT: Final = 1 << 20
_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=20, sock_read=60)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One place to ask: a base URL, and whether credentials of the registry may go there."""

    url: str
    trusted: bool = True


def is_local(host: str) -> bool:
    name = host.rpartition(":")[0] if ":" in host and not host.endswith("]") else host
    return name in ("localhost", "[::1]") or name.startswith("127.")


def plan_endpoints(registry: str, config: RegistryConfig) -> list[Endpoint]:
    """Where to look for images of a registry, best first."""

    def to_url(host: str) -> str:
        if "://" in host:
            return host.rstrip("/")
        plain = host in config.insecure or is_local(host)
        return f"{'http' if plain else 'https'}://{host}"

    found = [Endpoint(to_url(host), trusted=False) for host in config.mirrors.get(registry, ())]
    host = _DOCKER_HUB if registry == DEFAULT_REGISTRY else registry
    return [*found, Endpoint(to_url(host))]


def parse_challenge(header: str) -> tuple[str, dict[str, str]]:
    """The scheme and parameters of a WWW-Authenticate header."""
    scheme, _, rest = header.partition(" ")
    return scheme.lower(), dict(_CHALLENGE.findall(rest))


def to_basic(auth: RegistryAuth) -> str | None:
    """The header for a name and password (RFC 7617); None when there is no name."""
    if not auth.username:
        return None
    return "Basic " + base64.b64encode(f"{auth.username}:{auth.password}".encode()).decode()


class RegistryClient:
    """One pull: keeps its session, its endpoint and the token it was given."""

    def __init__(
        self, session: aiohttp.ClientSession, endpoint: Endpoint, auth: RegistryAuth | None
    ) -> None:
        self._session = session
        self._endpoint = endpoint
        self._auth = auth if endpoint.trusted else None
        self._header: str | None = None

    async def manifest(self, reference: Reference) -> tuple[bytes, str]:
        """A manifest's bytes and its digest as the registry names it."""
        accept = ", ".join((*MANIFEST_TYPES, *INDEX_TYPES))
        path = f"/v2/{reference.repository}/manifests/{reference.target}"
        async with self._get(path, accept) as response:
            if response.status == 404:
                raise ImageNotFoundError(str(reference))
            await _check(response)
            data = await response.content.read(_MANIFEST_LIMIT + 1)
            while not response.content.at_eof() and len(data) <= _MANIFEST_LIMIT:
                data += await response.content.read(_MANIFEST_LIMIT + 1 - len(data))
            if len(data) > _MANIFEST_LIMIT:
                raise RegistryError(path, "the manifest is too large")
            return data, response.headers.get("Docker-Content-Digest", "")

    async def blob(self, repository: str, descriptor: Descriptor, blobs: BlobStore) -> None:
        if blobs.has(descriptor.digest):
            return
        path = f"/v2/{repository}/blobs/{descriptor.digest}"
        if descriptor.size <= 0:
            raise RegistryError(path, "the manifest does not say how long the blob is")
        async with self._get(path, "*/*") as response:
            await _check(response)
            with blobs.writing(descriptor.digest, size=descriptor.size) as writer:
                async for chunk in response.content.iter_chunked(_CHUNK):
                    await asyncio.to_thread(writer.write, chunk)

    @asynccontextmanager
    async def _get(self, path: str, accept: str) -> AsyncIterator[aiohttp.ClientResponse]:
        """GET with the access we have; asks for a token once when the registry wants one."""
        url = self._endpoint.url + path
        try:
            for attempt in range(2):
                headers = {"Accept": accept}
                if self._header:
                    headers["Authorization"] = self._header
                async with self._session.get(url, headers=headers) as response:
                    challenge = response.headers.get("WWW-Authenticate", "")
                    if response.status == 401 and attempt == 0 and challenge:
                        await self._authorise(challenge)
                        continue
                    yield response
                    return
        except (aiohttp.ClientError, TimeoutError) as error:
            raise RegistryError(url, fault_words(error)) from error

    async def _authorise(self, challenge: str) -> None:
        scheme, fields = parse_challenge(challenge)
        basic = None if self._auth is None else to_basic(self._auth)
        if scheme == "basic":
            if basic is None:
                raise RegistryError(self._endpoint.url, "authorization failed: no basic auth")
            self._header = basic
        elif scheme == "bearer" and fields.get("realm"):
            query = {key: value for key, value in fields.items() if key in ("service", "scope")}
            headers = {"Authorization": basic} if basic else {}
            url = fields["realm"]
            async with self._session.get(url, params=query, headers=headers) as response:
                await _check(response)
                answer = await _read_token(response)
            token = answer.get("token") or answer.get("access_token")
            if not isinstance(token, str) or not token:
                raise RegistryError(fields["realm"], "the token server gave no token")
            self._header = f"Bearer {token}"
        else:
            raise RegistryError(self._endpoint.url, f"unknown authorization {scheme!r}")


async def _read_token(response: aiohttp.ClientResponse) -> dict[str, Any]:
    data = await response.content.read(_TOKEN_LIMIT)
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        answer = None
    return answer if isinstance(answer, dict) else {}


def fault_words(error: Exception) -> str:
    """Why there was no answer, in the words of Go's clients, which people know and search for."""
    match error:
        case aiohttp.ClientConnectorDNSError():
            return f"dial tcp: lookup {error.host}: no such host"
        case aiohttp.ClientConnectorCertificateError():
            return f"tls: failed to verify certificate: {error.certificate_error}"
        case aiohttp.ClientConnectorError():
            reason = os.strerror(error.os_error.errno or 0).lower()
            return f"dial tcp {error.host}:{error.port}: connect: {reason}"
    return str(error) or type(error).__name__


async def _check(response: aiohttp.ClientResponse) -> None:
    if response.status == 200:
        return
    words = f"unexpected status {response.status} {response.reason}"
    if response.status in (401, 403):
        words = (
            "pull access denied, repository does not exist or may require authorization: "
            f"authorization failed: {response.status} {response.reason}"
        )
    raise RegistryError(str(response.url), words)


@asynccontextmanager
async def open_session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(
        timeout=_TIMEOUT,
        trust_env=True,
        auto_decompress=False,
        connector=aiohttp.TCPConnector(ssl=public_context()),
    ) as session:
        yield session


@functools.cache
def public_context() -> ssl.SSLContext:
    """The machine's certificate authorities; aiohttp's own context has none in our processes."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(("http/1.1",))
    return context


def parse_document(data: bytes, name: str) -> Any:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise RegistryError(name, "the manifest is not JSON") from None
    if not isinstance(document, dict):
        raise RegistryError(name, "the manifest is not an object")
    return document
