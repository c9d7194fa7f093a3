"""Requests to the servers behind APIServices, with the identity of who asks in headers.

They trust those headers because our certificate is signed by the front proxy's own authority, which
signs nothing else.
"""

import ssl
from functools import lru_cache
from typing import Final
from urllib.parse import quote

import aiohttp
import orjson
import yarl
from aiohttp import web
from multidict import CIMultiDict

from winkube.api.errors import ApiError, UnavailableError
from winkube.apiserver.aggregation.remote import Remote, Remotes
from winkube.apiserver.auth.user import User
from winkube.apiserver.config import ApiServerConfig
from winkube.apiserver.streaming.join import join, wants_upgrade
from winkube.apiserver.streaming.relay import Forwarder, forwarded_headers, read_some, relay
from winkube.apiserver.tls import trusting_context
from winkube.base.types import JsonObject
from winkube.wire.upgrade import UpgradeError

_IDENTITY: Final = "x-remote-"
_DISCOVERY_SECONDS: Final = 5.0
_MAX_DOCUMENT: Final = 16 * 1024 * 1024
_UNAVAILABLE: Final = 503
_BAD_GATEWAY: Final = 502
_REDIRECTS: Final = 3
_NO_REDIRECT: Final = "the backend attempted to redirect this request, which is not permitted"
# Whoever checks whether a server answers has to be let in by it.
CHECKER: Final = User("system:kube-aggregator", ("system:masters",))


class Backends:
    def __init__(self, config: ApiServerConfig, remotes: Remotes) -> None:
        self._config = config
        self._remotes = remotes
        self._forwarder = Forwarder(keep_seconds=30)
        self._context = lru_cache(maxsize=64)(self._make_context)

    async def forward(
        self, request: web.BaseRequest, remote: Remote, user: User, *, discovery: bool
    ) -> web.StreamResponse:
        """Pass the request on and its answer back as it arrives."""
        try:
            host, port = self._locate(remote)
            context = self._context(remote.ca, remote.insecure)
        except ApiError:
            return _refusal("service unavailable")
        except ssl.SSLError as error:
            return _refusal(f"unable to load root certificates: {error}")
        url = yarl.URL(f"https://{_bracketed(host)}:{port}{request.raw_path}", encoded=True)
        headers = forwarded_headers(request.headers)
        for name in [name for name in headers if name.lower().startswith(_IDENTITY)]:
            headers.popall(name, None)
        headers.extend(identity_headers(user))
        try:
            if wants_upgrade(request):
                name = remote.server_name
                return await join(request, url, headers, ssl=context, server_name=name)
            async with self._forwarder.send(
                request,
                url,
                headers,
                ssl=context,
                server_name=remote.server_name,
                seconds=_DISCOVERY_SECONDS if discovery else None,
            ) as answer:
                if answer.status // 100 == _REDIRECTS and answer.headers.get("Location"):
                    # It would send the client, with its credentials, to where it pleases.
                    return web.Response(status=_BAD_GATEWAY, text=_NO_REDIRECT)
                return await relay(request, answer)
        except (aiohttp.ClientError, TimeoutError, UpgradeError) as error:
            return _refusal(str(error) or "context deadline exceeded")

    def _locate(self, remote: Remote) -> tuple[str, int]:
        if not remote.available:
            raise UnavailableError("service unavailable")
        return self._remotes.resolve(remote)

    async def fetch(self, remote: Remote, path: str) -> JsonObject:
        """A document of the server's own, for our use; raises aiohttp's errors and ApiErrors.

        Its certificate is not looked at: a wrong one is found out when somebody's request goes
        there, and nothing of ours depends on this answer.
        """
        host, port = self._remotes.resolve(remote)
        async with self._forwarder.session.get(
            f"https://{_bracketed(host)}:{port}{path}",
            headers={**identity_headers(CHECKER), "Accept": "application/json"},
            ssl=self._context("", True),
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=_DISCOVERY_SECONDS),
        ) as answer:
            answer.raise_for_status()
            data = await read_some(answer, _MAX_DOCUMENT + 1)
            if len(data) > _MAX_DOCUMENT:
                raise ValueError(f"a document of more than {_MAX_DOCUMENT} bytes")
            document: JsonObject = orjson.loads(data)
            return document

    def _make_context(self, ca: str, insecure: bool) -> ssl.SSLContext:
        context = trusting_context() if insecure else ssl.create_default_context(cadata=ca or None)
        cert, key = self._config.proxy_client_cert, self._config.proxy_client_key
        if cert is not None and key is not None:
            context.load_cert_chain(cert, key)
        return context

    async def close(self) -> None:
        await self._forwarder.close()


def identity_headers(user: User) -> CIMultiDict[str]:
    headers = CIMultiDict({"X-Remote-User": user.name})
    if user.uid:
        headers["X-Remote-Uid"] = user.uid
    for group in user.groups:
        headers.add("X-Remote-Group", group)
    for key, values in user.extra.items():
        for value in values:
            headers.add(f"X-Remote-Extra-{quote(key, safe='')}", value)
    return headers


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _refusal(words: str) -> web.Response:
    """As upstream's proxy refuses: plain text, not a Status."""
    return web.Response(
        status=_UNAVAILABLE, text=words + "\n", headers={"X-Content-Type-Options": "nosniff"}
    )
