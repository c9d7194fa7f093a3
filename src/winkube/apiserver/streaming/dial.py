"""The call to the kubelet that every streaming request begins with."""

import ssl as tls
from collections.abc import Sequence

import yarl

from winkube.api.errors import InternalError
from winkube.wire.remotecommand import PROTOCOL_HEADER
from winkube.wire.upgrade import Answer, UpgradeError, request_upgrade


async def dial_kubelet(url: yarl.URL, ssl: tls.SSLContext, protocols: Sequence[str]) -> Answer:
    """Ask the kubelet for SPDY; the caller owns the connection of a 101."""
    headers = [("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1")]
    headers += [(PROTOCOL_HEADER, name) for name in protocols]
    try:
        return await request_upgrade(url, headers, ssl=ssl)
    except UpgradeError as error:
        raise InternalError(f"error dialing backend: {error}") from error
