"""The status subresource: writers of status never touch the spec, and the other way round."""

from aiohttp import web

from winkube.apiserver.call import Call, not_allowed
from winkube.apiserver.registry.update import STATUS
from winkube.apiserver.verbs import Verbs


class Status:
    def __init__(self, verbs: Verbs) -> None:
        self._verbs = verbs

    async def handle(self, call: Call) -> web.StreamResponse:
        if call.verb == "get":
            return self._verbs.get(call)
        if call.verb in ("update", "patch"):
            return await self._verbs.change(call, STATUS)
        raise not_allowed()
