"""Request bodies: bounded in size and depth, JSON or YAML, duplicates noticed.

Nothing here knows kinds. A body that is not an object or nests too deep is refused with a 400, a
long one with a 413, before any other code sees it.
"""

import asyncio
from typing import Any, Final

import orjson
from aiohttp import web

from winkube.api.decode import MalformedError, parse_json
from winkube.api.errors import (
    BadRequestError,
    GatewayTimeoutError,
    RequestTooLargeError,
    UnsupportedMediaTypeError,
)
from winkube.apiserver.form.typed import unrecognized
from winkube.apiserver.media.yaml_document import parse_yaml
from winkube.apiserver.protobuf.decode import MEDIA, decode_protobuf

MAX_BODY: Final = 3 * 1024 * 1024
_BODY_SECONDS: Final = 60.0  # upstream's limit for a request that is no watch
_JSON_TYPES: Final = frozenset({"application/json", "", "application/octet-stream"})
_YAML_TYPES: Final = frozenset({"application/yaml", "text/yaml", "application/x-yaml"})
# Above this size YAML is parsed on a thread: the parser would hold up every other request.
_YAML_INLINE: Final = 32 * 1024
# As for YAML; but JSON is read fast.
_INLINE: Final = 256 * 1024


async def read_body(request: web.BaseRequest) -> bytes:
    if (request.content_length or 0) > MAX_BODY:
        raise _too_large()
    if not request.body_exists:
        return b""
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0
    elif request.content.is_eof():
        return request.content.read_nowait()  # it came with the header: nothing to wait for
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            return await _read_all(request)
    except TimeoutError:
        raise GatewayTimeoutError("the body of the request did not arrive in time") from None


async def _read_all(request: web.BaseRequest) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.content.iter_any():
        size += len(chunk)
        if size > MAX_BODY:
            raise _too_large()
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _too_large() -> RequestTooLargeError:
    return RequestTooLargeError(f"Request entity too large: limit is {MAX_BODY}")


def media_type(header: str) -> str:
    return header.partition(";")[0].strip().lower()


async def decode(data: bytes, content_type: str) -> Any:
    """Parse by media type; JsonObject or, for patches, any document."""
    media = media_type(content_type)
    if media in _YAML_TYPES:
        if len(data) > _YAML_INLINE:
            return await asyncio.to_thread(parse_yaml, data)
        return parse_yaml(data)
    if media == MEDIA:
        if len(data) > _YAML_INLINE:
            return await asyncio.to_thread(decode_protobuf, data)
        return decode_protobuf(data)
    if media not in _JSON_TYPES and not media.endswith("+json"):
        raise UnsupportedMediaTypeError(
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json, application/yaml, application/vnd.kubernetes.protobuf"
        )
    if len(data) > _INLINE:
        return await asyncio.to_thread(parse_json, data)
    return parse_json(data)


async def decode_as(kind: str, data: bytes, request: web.BaseRequest) -> Any:
    """As ``decode``; what cannot be read is said to be no object of ``kind``."""
    try:
        return await decode(data, request.headers.get("Content-Type", ""))
    except MalformedError as error:
        raise unrecognized(kind, error.message, data) from error


async def decode_applied(data: bytes) -> Any:
    """A configuration to apply is YAML, whatever it is of."""
    try:
        return await decode(data, "application/yaml")
    except MalformedError as error:
        fault = f"error converting YAML to JSON: {error.message}"
        raise BadRequestError(f"error decoding YAML: {fault}") from error


def may_repeat_keys(data: bytes, document: Any, more: int = 0) -> bool:
    """Whether a slow look for keys written twice is worth it.

    A compact body as long as its own re-serialisation has none, which spares nearly every client
    the slow parse. ``more`` is what the document lacks of it.
    """
    return len(orjson.dumps(document)) + more != len(data.strip())
