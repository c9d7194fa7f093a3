"""The generic verbs at the HTTP side: read the request, call the registry, render the answer."""

from typing import TYPE_CHECKING, Final

from aiohttp import web

from winkube.api.decode import MalformedError
from winkube.api.errors import BadRequestError, UnexplainedError
from winkube.api.kinds import Kind
from winkube.apiserver.body import decode, decode_as, media_type, read_body
from winkube.apiserver.call import Call, not_allowed, reply, reply_json, reply_large
from winkube.apiserver.conversion import item_as_served
from winkube.apiserver.item import Item
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.accept import accept
from winkube.apiserver.registry.apply import apply
from winkube.apiserver.registry.core import Registry, get, not_found
from winkube.apiserver.registry.create import create
from winkube.apiserver.registry.delete import DeleteOptions, Deletion, delete
from winkube.apiserver.registry.listing import ListParams, Selection, list_items, too_large
from winkube.apiserver.registry.owners import drop_repeated_owners
from winkube.apiserver.registry.patch import APPLY_PATCH, patch, read_patch
from winkube.apiserver.registry.strategy import put_creates, returns_deleted
from winkube.apiserver.registry.update import (
    WHOLE,
    Part,
    check_version,
    require_identity,
    require_name,
    update,
)
from winkube.apiserver.render import Renderer
from winkube.apiserver.typed import header_fault, unregistered
from winkube.apiserver.watch import WatchServer
from winkube.base.types import JsonObject

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

_JOB_PODS_STAY: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to"
    " remove them or set propagationPolicy=Orphan to suppress this warning"
)
_NO_VERBS: Final = frozenset({"HEAD", "OPTIONS", "TRACE"})


class Verbs:
    def __init__(self, registry: Registry, renderer: Renderer, watches: WatchServer) -> None:
        self._registry = registry
        self._renderer = renderer
        self._by_verb: Mapping[str, Callable[[Call], Awaitable[web.StreamResponse]]] = {
            "list": self.list,
            "watch": watches.serve,
            "create": self.create,
            "update": self.change,
            "patch": self.change,
            "delete": self.delete,
            "deletecollection": self.delete_collection,
        }

    async def handle(self, call: Call) -> web.StreamResponse:
        if call.verb not in call.served.kind.verbs or call.request.method in _NO_VERBS:
            raise not_allowed()
        if call.verb == "get":
            return self.get(call)
        return await self._by_verb[call.verb](call)

    def answer(self, call: Call, item: Item, status: int = 200) -> web.Response:
        shown = item_as_served(call.served, item)
        data = self._renderer.item(call.served.kind, shown, call.output, call.include)
        return reply(call, data, status)

    def get(self, call: Call) -> web.Response:
        version = call.query.get("resourceVersion") if call.query else None
        if version:
            check_version(version, "resourceVersion: Invalid value: ")
            current = self._registry.storage.cache.revision
            if int(version) > current:
                raise too_large(int(version), current)
        return self.answer(call, get(call.served, *call.place))

    async def list(self, call: Call) -> web.StreamResponse:
        params = ListParams.parse(call.target.namespace, call.query)
        selection = Selection.parse(call.served, call.query)
        result = list_items(call.served, self._registry.storage.cache.revision, params, selection)
        pieces = self._renderer.listing(call.served.kind, result, call.output, call.include)
        return await reply_large(call, pieces)

    async def create(self, call: Call) -> web.Response:
        served = call.served
        if call.target.name or bool(call.target.namespace) != served.kind.namespaced:
            raise not_allowed()
        options = WriteOptions.parse(call.user, call.query, "Create")
        options.agent = call.request.headers.get("User-Agent", "")
        call.warnings = options.warnings
        raw = await read_body(call.request)
        document = await decode_as(served.kind.kind, raw, call.request)
        obj = accept(self._registry.schema, served.kind, document, options, raw=raw)
        item = await create(self._registry, served, call.target.namespace, obj, options)
        return self.answer(call, item, 201)

    async def change(self, call: Call, part: Part = WHOLE) -> web.Response:
        """PUT and PATCH, of the object or of a part of it."""
        if not call.target.name or bool(call.target.namespace) != call.served.kind.namespaced:
            raise not_allowed()
        operation = "Update" if call.verb == "update" else "Patch"
        media = media_type(call.request.headers.get("Content-Type", ""))
        options = WriteOptions.parse(call.user, call.query, operation, apply=media == APPLY_PATCH)
        options.agent = call.request.headers.get("User-Agent", "")
        call.warnings = options.warnings
        raw = await read_body(call.request)
        if call.verb == "update":
            return await self._update(call, raw, options, part)
        if media == APPLY_PATCH:
            return await self._apply(call, raw, options, part)
        item = await patch(
            self._registry, call.served, call.place, read_patch(media, raw), options, part
        )
        return self.answer(call, item)

    async def _update(
        self, call: Call, raw: bytes, options: WriteOptions, part: Part
    ) -> web.Response:
        served = call.served
        document = await decode_as(served.kind.kind, raw, call.request)
        obj = accept(self._registry.schema, served.kind, document, options, raw=raw)
        current = served.cache.get(served.key(*call.place))
        if current is None:
            return await self._create_by_put(call, obj, options, part)
        require_identity(served, obj, current)
        drop_repeated_owners(obj, options.warnings, admitted=False)
        item = await update(self._registry, served, current, obj, options, part)
        return self.answer(call, item)

    async def _create_by_put(
        self, call: Call, obj: JsonObject, options: WriteOptions, part: Part
    ) -> web.Response:
        if part.name or not put_creates(call.served.kind):
            raise not_found(call.served, call.target.name)
        require_name(obj, call.target.name)
        item = await create(self._registry, call.served, call.target.namespace, obj, options)
        return self.answer(call, item, 201)

    async def _apply(
        self, call: Call, raw: bytes, options: WriteOptions, part: Part
    ) -> web.Response:
        try:
            document = await decode(raw, "application/yaml")
        except MalformedError as error:
            fault = f"error converting YAML to JSON: {error.message}"
            raise BadRequestError(f"error decoding YAML: {fault}") from error
        item, new = await apply(self._registry, call.served, call.place, document, options, part)
        return self.answer(call, item, 201 if new else 200)

    async def delete(self, call: Call) -> web.Response:
        if not call.target.name or bool(call.target.namespace) != call.served.kind.namespaced:
            raise not_allowed()
        options = DeleteOptions.parse(await self._delete_body(call), call.query)
        write = WriteOptions(call.user, dry_run=options.dry_run)
        call.warnings = write.warnings
        _warn_of_pods(call.served.kind, options, write)
        outcome = await delete(self._registry, call.served, call.place, options, write)
        return self._deleted(call, outcome, options)

    def _deleted(self, call: Call, outcome: Deletion, options: DeleteOptions) -> web.Response:
        kind = call.served.kind
        if outcome.gone and not returns_deleted(kind):
            details: JsonObject = {
                "name": outcome.item.name,
                **({"group": kind.group} if kind.group else {}),
                "kind": kind.plural,
                "uid": outcome.item.load()["metadata"].get("uid"),
            }
            return reply_json(
                {
                    "kind": "Status",
                    "apiVersion": "v1",
                    "metadata": {},
                    "status": "Success",
                    "details": details,
                }
            )
        accepted = not outcome.gone and options.orphan is False
        return self.answer(call, outcome.item, 202 if accepted else 200)

    async def _delete_body(self, call: Call) -> JsonObject:
        raw = await read_body(call.request)
        if not raw.strip():
            return {}
        try:
            document = await decode(raw, call.request.headers.get("Content-Type", ""))
        except MalformedError as error:
            raise UnexplainedError(error.message) from error
        fault = header_fault(document)
        if fault is None and (document.get("kind") or "DeleteOptions") != "DeleteOptions":
            fault = unregistered(document["kind"], document.get("apiVersion") or "v1")
        if fault is not None:
            raise UnexplainedError(fault)
        options: JsonObject = document
        return options

    async def delete_collection(self, call: Call) -> web.StreamResponse:
        served = call.served
        if served.kind.namespaced and not call.target.namespace:
            raise not_allowed()
        options = DeleteOptions.parse(await self._delete_body(call), call.query)
        params = ListParams.parse(call.target.namespace, call.query)
        selection = Selection.parse(served, call.query)
        result = list_items(served, self._registry.storage.cache.revision, params, selection)
        write = WriteOptions(call.user, dry_run=options.dry_run)
        call.warnings = write.warnings
        _warn_of_pods(served.kind, options, write)
        for item in result.items:
            if served.cache.get(item.key) is None:
                continue
            place = (item.namespace, item.name)
            await delete(self._registry, served, place, options, write)
        pieces = self._renderer.listing(served.kind, result, call.output, call.include)
        return await reply_large(call, pieces)


def _warn_of_pods(kind: Kind, options: DeleteOptions, write: WriteOptions) -> None:
    if (kind.group, kind.plural) == ("batch", "jobs") and not options.says_propagation:
        write.warnings.append(_JOB_PODS_STAY)


def is_watch(query: dict[str, str]) -> bool:
    """Whatever is not plainly no is yes, also nothing at all."""
    return query.get("watch", "").lower() not in ("false", "0")
