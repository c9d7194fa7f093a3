"""Where a node's kubelet listens, and plain HTTP to it (or to a pod), passed on as it comes."""

import asyncio
import ssl
from collections.abc import Mapping
from typing import Final

import aiohttp
import yarl
from aiohttp import web
from multidict import CIMultiDict

from winkube.api.errors import (
    ApiError,
    BadRequestError,
    InternalError,
    NotFoundError,
    UnavailableError,
    UnexplainedError,
)
from winkube.apiserver.config import ApiServerConfig
from winkube.apiserver.links import Links
from winkube.apiserver.message_stream import relay_messages, wants_messages
from winkube.apiserver.presence import while_connected
from winkube.apiserver.registry.core import get
from winkube.apiserver.served import Resources
from winkube.apiserver.tls import kubelet_context
from winkube.base.types import JsonObject

_DEFAULT_PORT: Final = 10250
# A page that is longer passes as it is: who serves it may never end.
MAX_PAGE: Final = 2 * 1024 * 1024
_MAX_WORDS: Final = 64 * 1024
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
UNSAID: Final = ("Accept", "Content-Type", "User-Agent")
_REFUSED: Final = 400
_PREFERRED: Final = ("InternalIP", "Hostname", "ExternalIP")


class Kubelets:
    def __init__(self, config: ApiServerConfig, resources: Resources) -> None:
        self._config = config
        self._nodes = resources.core("nodes")
        self._context: ssl.SSLContext | None = None
        self._session: aiohttp.ClientSession | None = None

    @property
    def context(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = kubelet_context(self._config)
        return self._context

    def pod_url(self, pod: JsonObject, path: str) -> yarl.URL:
        """At the kubelet of the pod's node; upstream words the node's absence as the pod's."""
        node_name = pod["spec"]["nodeName"]
        if self._nodes.cache.get(self._nodes.key("", node_name)) is None:
            raise NotFoundError.of("pods", node_name)
        return self.url(node_name, path)

    def url(self, node_name: str, path: str) -> yarl.URL:
        node = get(self._nodes, "", node_name).load()
        status = node.get("status") or {}
        found = {entry["type"]: entry["address"] for entry in status.get("addresses") or ()}
        host = next((found[kind] for kind in _PREFERRED if kind in found), "")
        if not host:
            known = " ".join(f"{{{kind} {address}}}" for kind, address in found.items())
            raise UnexplainedError(f"no preferred addresses found; known addresses: [{known}]")
        endpoints = (status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}
        port = int(endpoints.get("Port") or _DEFAULT_PORT)
        return yarl.URL.build(scheme="https", host=host, port=port, path=path)

    async def forward(
        self,
        request: web.BaseRequest,
        url: yarl.URL,
        *,
        secure: bool = True,
        judge: bool = False,
        links: Links | None = None,
    ) -> web.StreamResponse:
        """Send the request on and stream the answer back, flushing as it arrives.

        With ``judge`` a refusal becomes a Status of ours with the refuser's words; with ``links``
        those of the answer lead through us again. Only kubelets have certificates of our CA.
        """
        headers = forwarded_headers(request.headers)
        if links is not None:
            headers["X-Forwarded-Uri"] = links.change(url.raw_path)
        # Not the client's own: what we relay has to be what we measure.
        headers["Accept-Encoding"] = "identity"
        data = request.content if request.body_exists else None
        try:
            async with (
                while_connected(request),
                self._client().request(
                    request.method,
                    url,
                    headers=headers,
                    data=data,
                    ssl=self.context if secure else False,
                    allow_redirects=False,
                    timeout=aiohttp.ClientTimeout(total=None, sock_connect=10),
                ) as answer,
            ):
                if judge and answer.status >= _REFUSED:
                    words = await read_some(answer, _MAX_WORDS)
                    raise _refusal(answer.status, words[:_MAX_WORDS].decode(errors="replace"))
                if judge and wants_messages(request):
                    return await relay_messages(request, answer)
                return await relay(request, answer, links)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _unreachable(url, error) from error

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                auto_decompress=False,
                skip_auto_headers=UNSAID,
                cookie_jar=aiohttp.DummyCookieJar(),
                # A kept connection would fail the first request after a kubelet's restart.
                connector=aiohttp.TCPConnector(force_close=True, limit=0),
            )
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


def forwarded_headers(headers: Mapping[str, str]) -> CIMultiDict[str]:
    return CIMultiDict(
        (key, value)
        for key, value in headers.items()
        if key.lower() not in _NOT_FORWARDED and not key.lower().startswith("impersonate-")
    )


async def relay(
    request: web.BaseRequest, answer: aiohttp.ClientResponse, links: Links | None = None
) -> web.StreamResponse:
    headers = forwarded_headers(answer.headers)
    if links is not None and "Location" in headers:
        headers["Location"] = links.change(headers["Location"])
    begin = b""
    if links is not None and "Location" not in headers and _is_page(answer):
        begin = await read_some(answer, MAX_PAGE + 1)
        if len(begin) <= MAX_PAGE:
            body = await asyncio.to_thread(_changed_page, links, begin)
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


def _refusal(status: int, words: str) -> ApiError:
    """What upstream makes of a kubelet's answer (registry/generic/rest/response_checker.go)."""
    if status == BadRequestError.code:
        return BadRequestError(words.strip())
    if status == NotFoundError.code:
        return NotFoundError("the server could not find the requested resource")
    return InternalError(
        f'an error on the server ("{words.strip()}") has prevented the request from succeeding'
    )


def _unreachable(url: yarl.URL, error: Exception) -> ApiError:
    where = f"{url.scheme}://{url.host}:{url.port}{url.path}"
    return UnavailableError(f"error trying to reach service: {where}: {error}")


def pick_container(pod: JsonObject, wanted: str) -> str:
    """The container a request is about: named, or the only one."""
    spec, name = pod["spec"], pod["metadata"]["name"]
    every = [
        entry["name"]
        for field in ("initContainers", "containers", "ephemeralContainers")
        for entry in spec.get(field) or ()
    ]
    if wanted:
        if wanted in every:
            return wanted
        raise BadRequestError(f"container {wanted} is not valid for pod {name}")
    regular = spec.get("containers") or []
    if len(regular) == 1:
        return str(regular[0]["name"])
    raise BadRequestError(
        f"a container name must be specified for pod {name}, choose one of: [{' '.join(every)}]"
    )
