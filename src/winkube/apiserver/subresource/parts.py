"""Serve the parts of ``part``: read the whole object, write one part of it."""

from typing import Final

from aiohttp import web

from winkube.apiserver.call import Call, not_allowed
from winkube.apiserver.edge import Edge
from winkube.apiserver.registry.update import Part
from winkube.apiserver.subresource.part import PARTS
from winkube.apiserver.verbs import Verbs


def install_parts(edge: Edge, verbs: Verbs) -> None:
    for (plural, name), part in PARTS.items():
        edge.add_subresource(plural, name, PartHandler(verbs, part).handle)


_WRITE_ONLY: Final = frozenset({"finalize"})


class PartHandler:
    def __init__(self, verbs: Verbs, part: Part) -> None:
        self._verbs = verbs
        self._part = part

    async def handle(self, call: Call) -> web.StreamResponse:
        if call.verb == "get" and self._part.name not in _WRITE_ONLY:
            return await self._verbs.get(call)
        if call.verb in ("update", "patch"):
            return await self._verbs.change(call, self._part)
        raise not_allowed()
