"""Who may talk to the kubelet: holders of a client certificate that is an administrator's.

The certificate's chain has been checked by TLS. Nearly everything here gives control over the node,
so there is one rule for all paths but figures, and nothing is open to the anonymous.
"""

from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

ADMIN_GROUP: Final = "system:masters"
API_SERVER: Final = "kube-apiserver-kubelet-client"
# It may see figures (upstream's nodes/metrics and nodes/stats), which give control over nothing.
METRICS_SERVER: Final = "system:metrics-server"
_FIGURES: Final = ("/metrics", "/stats/")


@web.middleware
async def require_client(request: web.Request, handler: Handler) -> web.StreamResponse:
    transport = request.transport
    certificate = transport.get_extra_info("peercert") if transport is not None else None
    if not certificate:
        refusal = web.HTTPUnauthorized(text="Unauthorized")
        # Who shows nothing keeps no connection either.
        refusal.force_close()
        raise refusal
    user, groups = _identity(certificate)
    sees_figures = user == METRICS_SERVER and request.path.startswith(_FIGURES)
    if user != API_SERVER and ADMIN_GROUP not in groups and not sees_figures:
        raise web.HTTPForbidden(
            text=f"Forbidden (user={user}, verb={request.method.lower()}, resource=nodes, "
            "subresource=proxy)"
        )
    return await handler(request)


def _identity(certificate: dict[str, object]) -> tuple[str, frozenset[str]]:
    """CN is the user, each O a group; of several names the last, as the signers of requests do."""
    subject = certificate.get("subject")
    pairs = [pair for part in subject for pair in part] if isinstance(subject, tuple) else []
    users = [value for key, value in pairs if key == "commonName"]
    groups = frozenset(value for key, value in pairs if key == "organizationName")
    return (users[-1] if users else ""), groups
