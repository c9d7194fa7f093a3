"""The API server's end of exec, attach and port-forward: from the client's upgrade to the kubelet.

Toward the kubelet it is always SPDY/3.1. A SPDY client's bytes are spliced; a WebSocket client's
channels are translated. The caller has already authorised the request and found the kubelet.
"""

import ssl as tls
from typing import Literal

import yarl
from aiohttp import web


async def proxy_stream(
    request: web.Request,
    url: yarl.URL,
    ssl: tls.SSLContext,
    *,
    kind: Literal["exec", "attach", "portforward"],
) -> web.StreamResponse:
    raise NotImplementedError
