"""The API server's end of exec, attach and port-forward: from the client's upgrade to the kubelet.

Toward the kubelet it is always SPDY/3.1. A SPDY client's bytes are spliced; a WebSocket client's
channels are translated (``websocket``). The caller has already authorised the request
and found the kubelet. What the kubelet answers instead of 101 goes back as an ordinary response.
"""

import ssl as tls
from typing import Literal

import yarl
from aiohttp import web

from winkube.api.errors import BadRequestError
from winkube.apiserver.streaming.dial import dial_kubelet
from winkube.apiserver.streaming.portforward import proxy_portforward
from winkube.apiserver.streaming.websocket import proxy_command
from winkube.wire.remotecommand import PROTOCOL_HEADER, parse_protocols
from winkube.wire.remotecommand_websocket import is_websocket
from winkube.wire.upgrade import Upgraded, splice, take_over


async def proxy_stream(
    request: web.Request,
    url: yarl.URL,
    ssl: tls.SSLContext,
    *,
    kind: Literal["exec", "attach", "portforward"],
) -> web.StreamResponse:
    """Serve the client's upgrade from the kubelet at ``url``; lives as long as the session."""
    if is_websocket(request.headers):
        proxy = proxy_portforward if kind == "portforward" else proxy_command
        return await proxy(request, url, ssl)
    if request.headers.get("Upgrade", "").lower() == "spdy/3.1":
        return await _proxy_spdy(request, url, ssl)
    raise BadRequestError("Upgrade request required")


async def _proxy_spdy(
    request: web.Request, url: yarl.URL, ssl: tls.SSLContext
) -> web.StreamResponse:
    offered = parse_protocols(request.headers.getall(PROTOCOL_HEADER, ()))
    answer = await dial_kubelet(url, ssl, offered)
    if answer.duplex is None:
        return answer.to_response()
    chosen = answer.header(PROTOCOL_HEADER)
    headers = [("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1")]
    try:
        async with take_over(
            request, headers + ([(PROTOCOL_HEADER, chosen)] if chosen else [])
        ) as client:
            await splice(client, answer.duplex)
    finally:
        answer.duplex.close()
    return Upgraded()
