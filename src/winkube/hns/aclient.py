"""The asyncio client, for components that live long: kube-proxy, the runtime, the host gateway."""

from pathlib import Path
from types import TracebackType
from typing import Any

import aiohttp
import orjson

from winkube.hns import protocol
from winkube.hns.errors import HnsError, HnsUnavailableError
from winkube.hns.protocol import Json


class AsyncHnsClient:
    """Requests may run side by side; the service puts them in order."""

    def __init__(self, socket_path: Path | str, *, timeout: float = 60.0) -> None:
        self._path, self._timeout = str(socket_path), timeout
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> "AsyncHnsClient":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def v1(self, method: str, path: str, body: Json | None = None) -> Any:
        """One HNSCall; the Output, or HnsError."""
        _, raw = await self._request(method, path, body)
        return protocol.parse_v1(raw)

    async def create(self, kind: str, document: Json, guid: str | None = None) -> Json:
        result: Json = await self._call(kind, "create", protocol.create_body(document, guid))
        return result

    async def query(self, kind: str, guid: str) -> Json:
        result: Json = await self._call(kind, "query", {"Id": guid})
        return result

    async def enumerate(self, kind: str, filters: Json | None = None) -> list[str]:
        result: list[str] = await self._call(kind, "enumerate", protocol.query_body(filters))
        return result

    async def list(self, kind: str, filters: Json | None = None) -> list[Json]:
        result: list[Json] = await self._call(kind, "list", protocol.query_body(filters))
        return result

    async def modify(self, kind: str, guid: str, request: Json) -> Json:
        result: Json = await self._call(kind, "modify", {"Id": guid, "Settings": request})
        return result

    async def delete(self, kind: str, guid: str) -> None:
        """Remove the object; an absent one is not an error."""
        try:
            await self._call(kind, "delete", {"Id": guid})
        except HnsError as error:
            if not error.is_not_found:
                raise

    async def _call(self, kind: str, verb: str, body: Json) -> Any:
        status, raw = await self._request("POST", f"/hcn/{kind}/{verb}", body)
        return protocol.parse_v2(kind, verb, status, raw)

    async def _request(self, method: str, path: str, body: Json | None) -> tuple[int, bytes]:
        session = self._open()
        data = None if body is None else orjson.dumps(body)
        try:
            async with session.request(method, f"http://hns{path}", data=data) as response:
                return response.status, await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise HnsUnavailableError(self._path, str(error)) from error

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.UnixConnector(self._path, limit=32),
                timeout=aiohttp.ClientTimeout(total=self._timeout),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session
