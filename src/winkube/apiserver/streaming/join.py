"""A request that makes its connection another protocol's, passed on: then bytes both ways."""

import ssl as tls

import yarl
from aiohttp import web
from multidict import CIMultiDict

from winkube.wire.upgrade import Upgraded, request_upgrade, splice, take_over


def wants_upgrade(request: web.BaseRequest) -> bool:
    return "upgrade" in request.headers.get("Connection", "").lower()


async def join(
    request: web.BaseRequest,
    url: yarl.URL,
    headers: CIMultiDict[str],
    *,
    ssl: tls.SSLContext | None,
    server_name: str | None = None,
) -> web.StreamResponse:
    """Join the client to the server at ``url``, or give it that server's refusal.

    Raises UpgradeError.
    """
    headers["Connection"] = "Upgrade"
    headers["Upgrade"] = request.headers.get("Upgrade", "")
    answer = await request_upgrade(
        url, headers.items(), method=request.method, ssl=ssl, server_name=server_name
    )
    if answer.duplex is None:
        return answer.to_response()
    try:
        async with take_over(request, answer.headers) as client:
            await splice(client, answer.duplex)
    finally:
        answer.duplex.close()
    return Upgraded()
