"""ComponentStatuses, which nobody keeps: each is asked for when somebody looks.

Controllers and scheduler renew their leases while they are well. Where a lease is stale the port
upstream's program would listen on is tried, since those may run in place of ours.
"""

import asyncio
from typing import Final

import orjson
from aiohttp import web

from winkube.api.errors import ApiError, NotFoundError
from winkube.apiserver.call import Call, not_allowed, reply
from winkube.apiserver.item import Item
from winkube.apiserver.registry.core import Registry
from winkube.apiserver.registry.listing import ListResult, SelectionText
from winkube.apiserver.render import Renderer
from winkube.base.clock import parse_rfc3339

_LEASES: Final = ("coordination.k8s.io", "v1", "leases")
_DIAL_SECONDS: Final = 1.0
_UNVERSIONED: Final = b'"resourceVersion":"0"'
_STORE: Final = "etcd-0"
_PARTS: Final = {
    "scheduler": ("kube-scheduler", 10259),
    "controller-manager": ("kube-controller-manager", 10257),
}


class UnwatchedError(ApiError):
    """A kind that could be listed, and yet cannot be watched."""

    code, reason = 405, "MethodNotAllowed"

    def __init__(self) -> None:
        text = 'watch is not supported on resources of kind "componentstatuses"'
        super().__init__(text, details={"kind": "componentstatuses"})


class ComponentStatuses:
    def __init__(self, registry: Registry, renderer: Renderer) -> None:
        self._registry = registry
        self._renderer = renderer

    async def handle(self, call: Call) -> web.StreamResponse:
        if call.verb == "watch":
            raise UnwatchedError
        if call.request.method != "GET":
            raise not_allowed()
        data = await (self._one(call) if call.verb == "get" else self._every(call))
        # What is asked at this moment has no version.
        return reply(call, data.replace(_UNVERSIONED, b"", 1))

    async def _one(self, call: Call) -> bytes:
        name = call.target.name
        if name not in (*_PARTS, _STORE):
            raise NotFoundError.of("componentstatus", name)
        item = await self._item(name)
        return self._renderer.item(call.served.kind, item, call.output, call.include)

    async def _every(self, call: Call) -> bytes:
        selection = SelectionText.parse(call.query).of(call.served)
        items = [await self._item(name) for name in (*_PARTS, _STORE)]
        chosen = [item for item in items if selection.matches(item)]
        result = ListResult(chosen, 0)
        pieces = self._renderer.listing(call.served.kind, result, call.output, call.include)
        return b"".join(pieces)

    async def _item(self, name: str) -> Item:
        fault = "" if name == _STORE else await self._fault(*_PARTS[name])
        condition = {
            "type": "Healthy",
            "status": "False" if fault else "True",
            "message": fault or "ok",
        }
        obj = {
            "kind": "ComponentStatus",
            "apiVersion": "v1",
            "metadata": {"name": name},
            "conditions": [condition],
        }
        return Item(name, orjson.dumps(obj), 0, ("", name))

    async def _fault(self, lease: str, port: int) -> str:
        if self._is_renewed(lease):
            return ""
        address = f"127.0.0.1:{port}"
        start = f'Get "https://{address}/healthz": dial tcp {address}'
        try:
            async with asyncio.timeout(_DIAL_SECONDS):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            return f"{start}: connect: connection refused"
        except (OSError, TimeoutError):
            return f"{start}: i/o timeout"
        writer.close()
        return ""

    def _is_renewed(self, name: str) -> bool:
        served = self._registry.resources.find(*_LEASES)
        item = served.cache.get(served.key("kube-system", name)) if served is not None else None
        spec = (item.load().get("spec") or {}) if item is not None else {}
        if not spec.get("renewTime") or not spec.get("holderIdentity"):
            return False
        lasts = parse_rfc3339(spec["renewTime"]) + (spec.get("leaseDurationSeconds") or 0)
        return lasts > self._registry.clock.now()
