"""Requests take turns: one who asks much waits for himself.

A simple form of upstream's priority and fairness. A flow is what one tenant does in one namespace;
only so many of its requests are worked on at a time, the others stand in its line, and a line that
grows too long is turned away (429), which says that nothing was done. Requests that last, and the
leases by which the control plane lives, never wait.
"""

import math
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from winkube.aio.fair import FairGate
from winkube.api.errors import TooManyRequestsError
from winkube.apiserver.call import Call
from winkube.apiserver.deadline import begin

# More at once gain nothing: one thread does the work, and a commit takes what waits together.
SHARE: Final = 32
# Those that a slow webhook holds up keep their seats, but never leave none (``FairGate``).
SEATS: Final = 16 * SHARE
LONGEST_LINE: Final = 2000
# Streams and their like; they come and go as they please (upstream: long-running requests).
STREAMED: Final = frozenset({"log", "exec", "attach", "portforward", "proxy"})
_VITAL_NAMESPACES: Final = frozenset({"kube-system", "kube-node-lease"})
_TURNED_AWAY: Final = "Too many requests, please try again later."
_RETRY_SECONDS: Final = 1

Flow = tuple[str, str]
Handler = Callable[[Call], Awaitable[web.StreamResponse]]


class Turns:
    def __init__(self, *, share: int = SHARE, longest: int = LONGEST_LINE) -> None:
        self._gate: FairGate[Flow] = FairGate(SEATS, share)
        self._longest = longest

    async def serve(self, call: Call, handler: Handler) -> web.StreamResponse:
        if call.verb == "watch" or call.target.subresource in STREAMED or _is_vital(call):
            begin(math.inf)
            return await handler(call)
        flow = (call.user.tenant, call.target.namespace)
        if self._gate.waiting(flow) >= self._longest:
            details = {"retryAfterSeconds": _RETRY_SECONDS}
            raise TooManyRequestsError(_TURNED_AWAY, details=details)
        await self._gate.enter(flow)
        begin()
        try:
            return await handler(call)
        finally:
            self._gate.leave(flow)


def _is_vital(call: Call) -> bool:
    """Leases of tenants are like anything else of theirs."""
    target = call.target
    return target.group == "coordination.k8s.io" and target.namespace in _VITAL_NAMESPACES
