"""Ask a webhook: find its address, connect with its certificate authority, read its answer."""

import asyncio
import os
import random
import ssl
from typing import Any, Final

import aiohttp
import orjson

from winkube.api.errors import ApiError, NotFoundError, UnavailableError
from winkube.apiserver.admission.webhook.hooks import Hook
from winkube.apiserver.admission.webhook.review import CallError
from winkube.apiserver.admission.webhook.shape import no_document
from winkube.apiserver.aggregation.remote import SERVICE_NAME, endpoints, port_name
from winkube.apiserver.deadline import left
from winkube.apiserver.served import Resources
from winkube.apiserver.tls import read_bundle
from winkube.base.types import JsonObject

_AGENT: Final = "kube-apiserver-admission"
_MAX_ANSWER: Final = 8 * 1024 * 1024
_PIECE: Final = 64 * 1024
_CONTEXTS: Final = 128


class Caller:
    """One session for all; made when first needed."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._session: aiohttp.ClientSession | None = None
        self._contexts: dict[str, ssl.SSLContext] = {}

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def ask(self, hook: Hook, review: JsonObject) -> Any:
        """The answer's document; CallError in the words of upstream's client."""
        config = hook.spec.get("clientConfig") or {}
        service = config.get("service")
        url = self._url(config, service)
        shown = f"{url}?timeout={hook.seconds}s"
        try:
            target, name = (url, None) if service is None else self._locate(service)
            context = self._context(config.get("caBundle") or "")
            async with asyncio.timeout(min(hook.seconds, left())):
                return await self._post(f"{target}?timeout={hook.seconds}s", name, context, review)
        except TimeoutError:
            raise CallError(
                f'failed to call webhook: Post "{shown}": context deadline exceeded'
            ) from None
        except (aiohttp.ClientError, OSError, ApiError) as error:
            words = _words(error)
            raise CallError(f'failed to call webhook: Post "{shown}": {words}') from None

    async def _post(
        self, url: str, name: str | None, context: ssl.SSLContext, review: JsonObject
    ) -> Any:
        headers = {"Content-Type": "application/json", "User-Agent": _AGENT}
        if name is not None:
            headers["Host"] = name
        async with self._client().post(
            url,
            data=orjson.dumps(review),
            headers=headers,
            ssl=context,
            server_hostname=name,
            allow_redirects=False,
        ) as response:
            body = await _read(response.content)
            if response.status >= 300:
                plain = response.content_type.startswith("text/")
                words = body.decode(errors="replace").strip() if plain else ""
                raise CallError(f"failed to call webhook: {_refusal(response.status, words)}")
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError:
            raise CallError(f"failed to call webhook: {no_document('')}") from None

    def _url(self, config: JsonObject, service: JsonObject | None) -> str:
        if service is None:
            return str(config.get("url") or "")
        host = f"{service.get('name')}.{service.get('namespace')}.svc:{service.get('port') or 443}"
        return f"https://{host}{service.get('path') or '/'}"

    def _locate(self, service: JsonObject) -> tuple[str, str]:
        """The address of a ready endpoint, and the name its certificate has to have."""
        namespace, name = service.get("namespace") or "", service.get("name") or ""
        services = self._resources.core("services")
        item = services.cache.get(services.key(namespace, name))
        if item is None:
            raise NotFoundError(f'service "{name}" not found')
        found, number = item.load(), service.get("port") or 443
        path, server = service.get("path") or "/", f"{name}.{namespace}.svc"
        if found["spec"].get("type") == "ExternalName":
            return f"https://{found['spec']['externalName']}:{number}{path}", server
        port = port_name(found, number)
        if port is None:
            raise UnavailableError(f'no service port {number} found for service "{name}"')
        served = self._resources.require("discovery.k8s.io", "v1", "endpointslices")
        slices = [
            item.load()
            for item in served.cache.items(served.folder(namespace))
            if item.labels.get(SERVICE_NAME) == name
        ]
        ready = endpoints(slices, port)
        if not ready:
            raise UnavailableError(f'no endpoints available for service "{name}"')
        host, number = random.choice(ready)
        shown = f"[{host}]" if ":" in host else host
        return f"https://{shown}:{number}{path}", server

    def _context(self, bundle: str) -> ssl.SSLContext:
        context = self._contexts.get(bundle)
        if context is None:
            try:
                pem = read_bundle(bundle) if bundle else None
                context = ssl.create_default_context(cadata=pem)
            except ssl.SSLError as error:
                raise CallError(f"could not get REST client: {error}") from None
            while len(self._contexts) >= _CONTEXTS:
                self._contexts.pop(next(iter(self._contexts)))
            self._contexts[bundle] = context
        return context

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=None)
            )
        return self._session


async def _read(content: aiohttp.StreamReader) -> bytes:
    body = bytearray()
    async for piece in content.iter_chunked(_PIECE):
        body += piece
        if len(body) > _MAX_ANSWER:
            raise CallError(f"failed to call webhook: answer of more than {_MAX_ANSWER} bytes")
    return bytes(body)


def _words(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"tls: failed to verify certificate: x509: {_distrust(error.certificate_error)}"
    if isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno or 0
        reason = os.strerror(number).lower() if number > 0 else str(error.os_error)
        return f"dial tcp {error.host}:{error.port}: connect: {reason}"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "EOF"
    return str(error)


def _distrust(error: Exception) -> str:
    """In the words of Go's x509, for what is met most."""
    words = getattr(error, "verify_message", "") or str(error)
    if "issuer" in words or "self-signed" in words or "self signed" in words:
        return "certificate signed by unknown authority"
    if "expired" in words:
        return "certificate has expired or is not yet valid"
    return str(words)


# What upstream's client says about a code whose answer is no Status.
_REFUSALS: Final = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be "
    "processing the request",
}


def _refusal(status: int, words: str) -> str:
    said = words or "unknown"
    if status == 403:
        return said
    if status in _REFUSALS:
        return _REFUSALS[status]
    if status >= 500:
        text = said.replace('"', '\\"')
        return f'an error on the server ("{text}") has prevented the request from succeeding'
    return f"the server responded with the status code {status} but did not return more information"
