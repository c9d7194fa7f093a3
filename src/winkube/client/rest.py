"""The API client: one method per verb, objects in and out as JSON.

Owns the connection pool and the translation of failures: the server's ``Status`` becomes an
``ApiError``, a broken connection a ``TransportError``. It keeps no state about objects.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from enum import StrEnum
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlencode

import orjson

from winkube.aio.fair import FairGate
from winkube.api.errors import ApiError, TooManyRequestsError, from_status
from winkube.base.types import JsonObject
from winkube.client.config import ClientConfig
from winkube.client.connection import Answer
from winkube.client.errors import ClientError, TransportError
from winkube.client.lean import read_lean
from winkube.client.pool import Pool
from winkube.client.resource import Resource
from winkube.client.stream import EventStream, WatchEvent, transport_errors

REQUEST_SECONDS: Final = 60.0
# Watches are renewed every 5 to 10 minutes: none lives for ever (client-go: Reflector).
WATCH_SECONDS: Final = 300
WATCH_SLACK_SECONDS: Final = 30
THROTTLED_ATTEMPTS: Final = 5
METADATA_ONLY: Final = (
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)
MAX_RETRY_AFTER: Final = 10.0
# Requests under way at once, and those of one namespace: the server gains nothing from more, and
# every one that is under way is one that the next waits for.
IN_FLIGHT: Final = 256
OF_ONE_NAMESPACE: Final = 32


class PatchType(StrEnum):
    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class ApiClient:
    def __init__(self, config: ClientConfig) -> None:
        self.config = config
        self._pool: Pool | None = None
        # Namespaces take turns: work in one must not wait for a flood in another.
        self._gate: FairGate[str] = FairGate(IN_FLIGHT, OF_ONE_NAMESPACE)

    async def __aenter__(self) -> Self:
        headers = {
            "User-Agent": self.config.user_agent,
            "Accept": "application/json",
            # The server is near: packing a list takes longer than sending it.
            "Accept-Encoding": "identity",
        }
        if self.config.token:
            headers["Authorization"] = f"Bearer {self.config.token}"
        self._pool = Pool(self.config.server, self.config.ssl_context())
        self._pool.set_headers(headers)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None
            # The connections are told in the next round of the loop.
            await asyncio.sleep(0)

    def use_token(self, token: str) -> None:
        """From the next request on: tokens of pods are renewed while the client lives."""
        if self._pool is not None:
            self._pool.set_headers({"Authorization": f"Bearer {token}"})

    async def get(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> JsonObject:
        return await self._json("GET", resource.path(namespace, name, subresource))

    async def list(  # noqa: PLR0913 - the list options of the API
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        resource_version: str | None = None,
        limit: int | None = None,
        continue_token: str | None = None,
        metadata_only: bool = False,
    ) -> JsonObject:
        query = {
            "labelSelector": label_selector,
            "fieldSelector": field_selector,
            "resourceVersion": resource_version,
            "limit": limit,
            "continue": continue_token,
        }
        accept = METADATA_ONLY if metadata_only else None
        listing = await self._json("GET", resource.path(namespace), query=query, accept=accept)
        return listing if metadata_only else _with_types(listing)

    async def create(
        self,
        resource: Resource,
        obj: JsonObject,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
    ) -> JsonObject:
        """POST; ``name`` and ``subresource`` serve pods/binding, pods/eviction and their like."""
        place = namespace or obj.get("metadata", {}).get("namespace")
        path = resource.path(place, name if subresource else None, subresource)
        return await self._json("POST", path, body=obj)

    async def update(
        self, resource: Resource, obj: JsonObject, *, subresource: str | None = None
    ) -> JsonObject:
        metadata = obj["metadata"]
        path = resource.path(metadata.get("namespace"), metadata["name"], subresource)
        return await self._json("PUT", path, body=obj)

    async def patch(
        self,
        resource: Resource,
        name: str,
        body: Any,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        patch_type: PatchType = PatchType.MERGE,
    ) -> JsonObject:
        path = resource.path(namespace, name, subresource)
        return await self._json("PATCH", path, body=body, content_type=patch_type.value)

    async def apply(
        self,
        resource: Resource,
        obj: JsonObject,
        *,
        manager: str,
        subresource: str | None = None,
    ) -> JsonObject:
        """Server-side apply of the fields in ``obj``, also of those that another manager has."""
        where = obj["metadata"]
        path = resource.path(where.get("namespace"), where["name"], subresource)
        return await self._json(
            "PATCH",
            path,
            query={"fieldManager": manager, "force": "true"},
            body=obj,
            content_type=PatchType.APPLY.value,
        )

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        options: JsonObject | None = None,
    ) -> JsonObject:
        return await self._json("DELETE", resource.path(namespace, name), body=options)

    async def delete_collection(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        options: JsonObject | None = None,
    ) -> None:
        """What was deleted is not read: it may be much."""
        query = {"labelSelector": label_selector}
        await self._bytes("DELETE", resource.path(namespace), query=query, body=options)

    async def get_path(self, path: str) -> JsonObject:
        """A document outside the resource paths: discovery, version."""
        return await self._json("GET", path)

    @asynccontextmanager
    async def watch(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        resource_version: str,
        lean: bool = False,
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        """Events after ``resource_version``, bookmarks included; an ERROR event raises.

        ``lean`` leaves out what ``winkube.client.lean`` does.
        """
        seconds = WATCH_SECONDS + random.randrange(WATCH_SECONDS)
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": seconds,
            "labelSelector": label_selector,
            "fieldSelector": field_selector,
            "resourceVersion": resource_version,
        }
        path = _with_query(resource.path(namespace), query)
        async with AsyncExitStack() as stack:
            with transport_errors(self.config.server):
                opening = self._opened().open(path, {}, seconds + WATCH_SLACK_SECONDS)
                stream = await stack.enter_async_context(opening)
                if stream.response.status != HTTPStatus.OK:
                    raise _failure(stream.response.status, await stream.body())
            read = read_lean if lean else orjson.loads
            yield EventStream(aiter(stream), self.config.server, read)

    def _opened(self) -> Pool:
        if self._pool is None:
            raise ClientError("the API client is not open: use it as an async context manager")
        return self._pool

    async def _json(self, method: str, path: str, **asked: Any) -> JsonObject:
        return _decode(await self._bytes(method, path, **asked), self.config.server)

    async def _bytes(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        accept: str | None = None,
    ) -> bytes:
        data = None if body is None else orjson.dumps(body)
        headers = {} if body is None else {"Content-Type": content_type}
        if accept is not None:
            headers["Accept"] = accept
        target = _with_query(path, query) if query else path
        for attempt in range(1, THROTTLED_ATTEMPTS + 1):
            answer = await self._send(method, target, data, headers)
            if answer.status < HTTPStatus.MULTIPLE_CHOICES:
                return answer.body
            wait = _retry_after(answer.headers.get("retry-after"))
            failure = _failure(answer.status, answer.body)
            # Only 429 says that nothing was done; anything else is the caller's to judge.
            throttled = isinstance(failure, TooManyRequestsError) and wait is not None
            if not throttled or attempt == THROTTLED_ATTEMPTS:
                raise failure
            await asyncio.sleep(wait or 0.0)
        raise TransportError(self.config.server, "throttled")

    async def _send(
        self, method: str, target: str, data: bytes | None, headers: Mapping[str, str]
    ) -> Answer:
        namespace = _namespace_in(target)
        await self._gate.enter(namespace)
        try:
            return await self._opened().ask(method, target, data, headers, REQUEST_SECONDS)
        except (TimeoutError, OSError) as error:
            raise TransportError(self.config.server, error) from error
        finally:
            self._gate.leave(namespace)


def _namespace_in(path: str) -> str:
    return path.partition("?")[0].partition("/namespaces/")[2].partition("/")[0]


def _with_query(path: str, query: Mapping[str, Any]) -> str:
    said = {key: value for key, value in query.items() if value is not None}
    return f"{path}?{urlencode(said)}" if said else path


def _decode(answer: bytes, server: str) -> JsonObject:
    try:
        document = orjson.loads(answer)
    except orjson.JSONDecodeError as error:
        raise TransportError(server, "the answer is not JSON") from error
    if not isinstance(document, dict):
        raise TransportError(server, "the answer is not an object")
    return document


def _failure(code: int, answer: bytes) -> ApiError:
    try:
        status = orjson.loads(answer)
    except orjson.JSONDecodeError:
        status = None
    if not isinstance(status, dict) or status.get("kind") != "Status":
        # A proxy or another server answered: keep its words.
        text = answer[:500].decode(errors="replace").strip()
        status = {"code": code, "message": text or f"the server answered {code}"}
    return from_status({**status, "code": status.get("code") or code})


def _retry_after(header: str | None) -> float | None:
    try:
        return None if header is None else min(float(header), MAX_RETRY_AFTER)
    except ValueError:
        return None


def _with_types(listing: JsonObject) -> JsonObject:
    """Objects in a list do not say what they are: the list does."""
    version, kind = listing.get("apiVersion"), str(listing.get("kind") or "").removesuffix("List")
    for item in listing.get("items") or ():
        item.setdefault("apiVersion", version)
        item.setdefault("kind", kind)
    return listing
