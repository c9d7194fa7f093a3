"""Requests passed on to another server as they came, and its answers passed back as they come."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import aiohttp
import yarl
from aiohttp import web
from multidict import CIMultiDict

from winkube.aio.fair import FairGate
from winkube.apiserver.streaming.links import Links
from winkube.apiserver.streaming.presence import while_connected

_CONNECT_SECONDS: Final = 10
# A page that is longer passes as it is: who serves it may never end.
MAX_PAGE: Final = 2 * 1024 * 1024
# Hop-by-hop (RFC 9110 7.6.1), and what the two connections settle for themselves.
_NOT_FORWARDED: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "host",
        "content-length",
        "authorization",
        "accept-encoding",
        "content-encoding",
    }
)
# What the client did not say is not said for it.
_UNSAID: Final = ("Accept", "Content-Type", "User-Agent")


class Forwarder:
    """The connections to other servers, kept for a while when nobody uses them."""

    def __init__(self, *, keep_seconds: float) -> None:
        self._keep_seconds = keep_seconds
        self._session: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def send(
        self,
        request: web.BaseRequest,
        url: yarl.URL,
        headers: CIMultiDict[str],
        *,
        ssl: ssl.SSLContext | bool,
        server_name: str | None = None,
        seconds: float | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer to the request at another place; given up when the client goes."""
        # Not the client's own: what we relay has to be what we measure.
        headers["Accept-Encoding"] = "identity"
        async with (
            while_connected(request),
            self.session.request(
                request.method,
                url,
                headers=headers,
                data=request.content if request.body_exists else None,
                ssl=ssl,
                server_hostname=server_name,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=seconds, sock_connect=_CONNECT_SECONDS),
            ) as answer,
        ):
            yield answer

    @property
    def session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                auto_decompress=False,
                skip_auto_headers=_UNSAID,
                cookie_jar=aiohttp.DummyCookieJar(),
                connector=self._connector(),
            )
        return self._session

    def _connector(self) -> aiohttp.TCPConnector:
        if not self._keep_seconds:
            return aiohttp.TCPConnector(limit=0, force_close=True)
        return aiohttp.TCPConnector(limit=0, keepalive_timeout=self._keep_seconds)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


def forwarded_headers(headers: Mapping[str, str]) -> CIMultiDict[str]:
    return CIMultiDict(
        (key, value)
        for key, value in headers.items()
        if key.lower() not in _NOT_FORWARDED and not key.lower().startswith("impersonate-")
    )


@dataclass(frozen=True, slots=True)
class Pages:
    """How links are changed: one page at a time, as a hostile one takes seconds."""

    links: Links
    gate: FairGate[str]
    tenant: str

    async def change(self, page: bytes) -> bytes:
        await self.gate.enter(self.tenant)
        try:
            return await asyncio.to_thread(_changed_page, self.links, page)
        finally:
            self.gate.leave(self.tenant)


async def relay(
    request: web.BaseRequest, answer: aiohttp.ClientResponse, pages: Pages | None = None
) -> web.StreamResponse:
    headers = forwarded_headers(answer.headers)
    if pages is not None and "Location" in headers:
        headers["Location"] = pages.links.change(headers["Location"])
    begin = b""
    if pages is not None and "Location" not in headers and _is_page(answer):
        begin = await read_some(answer, MAX_PAGE + 1)
        if len(begin) <= MAX_PAGE:
            body = await pages.change(begin)
            return web.Response(status=answer.status, headers=headers, body=body)
    response = web.StreamResponse(status=answer.status, headers=headers)
    if answer.content_length is not None:
        response.content_length = answer.content_length
    await response.prepare(request)
    if begin:
        await response.write(begin)
    async for chunk in answer.content.iter_any():
        await response.write(chunk)
    await response.write_eof()
    return response


def _changed_page(links: Links, page: bytes) -> bytes:
    text = page.decode(errors="surrogateescape")
    return links.change_page(text).encode(errors="surrogateescape")


async def read_some(answer: aiohttp.ClientResponse, most: int) -> bytes:
    """The body, if it is shorter than ``most``; otherwise about so much of it."""
    found = bytearray()
    async for chunk in answer.content.iter_any():
        found += chunk
        if len(found) >= most:
            break
    return bytes(found)


def _is_page(answer: aiohttp.ClientResponse) -> bool:
    return answer.content_type == "text/html" and "Content-Encoding" not in answer.headers
