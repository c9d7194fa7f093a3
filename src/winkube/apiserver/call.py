"""One request to a resource, as the handlers see it; and how they answer."""

import asyncio
import bisect
import itertools
import re
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final

import orjson
from aiohttp import web
from multidict import MutableMultiMapping

from winkube.api.errors import ApiError, MethodNotAllowedError
from winkube.apiserver.auth.user import User
from winkube.apiserver.media.yaml_text import to_yaml
from winkube.apiserver.negotiate import JSON, PLAIN, YAML, Output, parse_accept
from winkube.apiserver.served import Served
from winkube.apiserver.target import Target
from winkube.apiserver.whole import WholeResponse
from winkube.base.types import JsonObject

_STREAM_FROM: Final = 128 * 1024
_CHUNK: Final = 256 * 1024
_MAX_WARNINGS: Final = 4 * 1024
_MAX_WARNING: Final = 256
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
Page = Callable[[web.BaseRequest, str], Awaitable[web.StreamResponse]]
_NO_CACHE: Final = "no-cache, private"


@dataclass(slots=True)
class Call:
    request: web.BaseRequest
    target: Target
    served: Served
    verb: str
    user: User
    query: Mapping[str, str]
    output: Output = PLAIN
    warnings: list[str] = field(default_factory=list)

    @property
    def place(self) -> tuple[str, str]:
        return self.target.namespace, self.target.name

    @property
    def include(self) -> str:
        """What a Table's rows carry beside their cells."""
        return self.query.get("includeObject", "")


def reply(call: Call, data: bytes, status: int = 200) -> web.Response:
    headers = {"Content-Type": call.output.media, "Cache-Control": _NO_CACHE}
    response = WholeResponse(body=data, status=status, headers=headers)
    add_warnings(response.headers, call.warnings)
    return response


def warning_header(text: str) -> str:
    return f"299 - {_quoted(text)}"


def add_warnings(headers: MutableMultiMapping[str], warnings: Sequence[str]) -> None:
    for warning in shown_warnings(warnings):
        headers.add("Warning", warning_header(warning))


def shown_warnings(warnings: Sequence[str]) -> list[str]:
    """Each once; what would be too much for a header is cut, and what comes after that left out.

    What no header can say, and would end the connection instead of the answer, is left out too. The
    limits are upstream's (k8s.io/apiserver: pkg/endpoints/filters/warning.go).
    """
    if not warnings:
        return []
    texts = [text for text in dict.fromkeys(warnings) if text and not _CONTROL.search(text)]
    lengths = list(itertools.accumulate(map(len, texts)))
    fitting = bisect.bisect_right(lengths, _MAX_WARNINGS)
    if fitting == len(texts):
        return texts
    cut = [text[:_MAX_WARNING] for text in texts]
    # The one that was too much is still said; then on until it is too much again.
    shown = cut[: fitting + 1]
    size = sum(map(len, shown))
    for text in cut[fitting + 1 :]:
        if size >= _MAX_WARNINGS:
            break
        shown.append(text)
        size += len(text)
    return shown


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


async def reply_large(call: Call, pieces: Sequence[bytes]) -> web.StreamResponse:
    """As ``reply``, for bodies of any size, given in pieces.

    Compressed when that is worth it (a peer on this machine reads faster plain), and otherwise
    sent bit by bit: joined, a large list would be in memory twice and the client idle meanwhile.
    """
    size = sum(map(len, pieces))
    if size < _STREAM_FROM:
        return reply(call, b"".join(pieces))
    encodings = call.request.headers.get("Accept-Encoding", "")
    if wants_gzip(encodings, call.request.remote):
        response = reply(call, await asyncio.to_thread(_gzip, b"".join(pieces)))
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Vary"] = "Accept-Encoding"
        return response
    stream = web.StreamResponse(
        headers={"Content-Type": call.output.media, "Cache-Control": _NO_CACHE}
    )
    stream.content_length = size
    await stream.prepare(call.request)
    for chunk in _chunks(pieces):
        await stream.write(chunk)
    await stream.write_eof()
    return stream


async def send_long(request: web.BaseRequest, response: web.Response) -> web.StreamResponse:
    """Send a body of any size bit by bit: encrypted at once it would hold up the others."""
    body = response.body
    if not isinstance(body, bytes) or len(body) < _STREAM_FROM or request.method == "HEAD":
        return response
    stream = web.StreamResponse(status=response.status, headers=response.headers)
    stream.content_length = len(body)
    await stream.prepare(request)
    for start in range(0, len(body), _CHUNK):
        await stream.write(body[start : start + _CHUNK])
    await stream.write_eof()
    return stream


def _chunks(pieces: Sequence[bytes]) -> Iterator[bytes]:
    batch: list[bytes] = []
    size = 0
    for piece in pieces:
        batch.append(piece)
        size += len(piece)
        if size >= _CHUNK:
            yield b"".join(batch)
            batch, size = [], 0
    if batch:
        yield b"".join(batch)


def wants_gzip(accept_encoding: str, peer: str | None) -> bool:
    if "gzip" not in accept_encoding:
        return False
    try:
        return peer is None or not ip_address(peer).is_loopback
    except ValueError:
        return True


def _gzip(data: bytes) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()


def reply_json(
    document: JsonObject,
    status: int = 200,
    content_type: str = JSON,
    *,
    warnings: Sequence[str] = (),
) -> web.Response:
    response = WholeResponse(
        body=orjson.dumps(document),
        status=status,
        headers={"Content-Type": content_type, "Cache-Control": _NO_CACHE},
    )
    add_warnings(response.headers, warnings)
    return response


def reply_error(error: ApiError, accept: str = "") -> web.Response:
    if error.plain:
        headers = {"X-Content-Type-Options": "nosniff"}
        return web.Response(text=f"{error.message}\n", status=error.code, headers=headers)
    document = error.to_status()
    token = error.details.get("continue")
    if token is not None:
        document["metadata"] = {"continue": token}
        document.pop("details")
    response = reply_json(document, error.code)
    if "yaml" in accept and parse_accept(accept)[0].media == YAML:
        response = web.Response(
            body=to_yaml(document), status=error.code, headers={"Content-Type": YAML}
        )
    add_warnings(response.headers, error.warnings)
    retry = error.details.get("retryAfterSeconds")
    if retry:
        response.headers["Retry-After"] = str(retry)
    if error.code == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="kubernetes"'
        response.force_close()  # a connection is kept for those we know
    return response


def not_allowed() -> MethodNotAllowedError:
    return MethodNotAllowedError(
        "the server does not allow this method on the requested resource", details={}
    )


def only_read(page: Page) -> Page:
    """A page that nothing but GET is for."""

    async def read(request: web.BaseRequest, path: str) -> web.StreamResponse:
        if request.method != "GET":
            raise not_allowed()
        return await page(request, path)

    return read
