"""Who may talk to the kubelet: holders of a client certificate that is an administrator's.

The certificate's chain has been checked by TLS. Everything here gives control over the node, so
there is one rule for all paths and nothing is open to the anonymous.
"""

from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

ADMIN_GROUP: Final = "system:masters"
API_SERVER: Final = "kube-apiserver-kubelet-client"


@web.middleware
async def require_client(request: web.Request, handler: Handler) -> web.StreamResponse:
    transport = request.transport
    certificate = transport.get_extra_info("peercert") if transport is not None else None
    if not certificate:
        raise web.HTTPUnauthorized(text="Unauthorized")
    user, groups = _identity(certificate)
    if user != API_SERVER and ADMIN_GROUP not in groups:
        raise web.HTTPForbidden(
            text=f"Forbidden (user={user}, verb={request.method.lower()}, resource=nodes, "
            "subresource=proxy)"
        )
    return await handler(request)


def _identity(certificate: dict[str, object]) -> tuple[str, frozenset[str]]:
    """CN is the user, each O a group."""
    subject = certificate.get("subject")
    pairs = [pair for part in subject for pair in part] if isinstance(subject, tuple) else []
    users = [value for key, value in pairs if key == "commonName"]
    groups = frozenset(value for key, value in pairs if key == "organizationName")
    return (users[0] if users else ""), groups
