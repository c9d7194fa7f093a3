"""The generic verbs at the HTTP side: read the request, call the registry, render the answer."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from winkube.api.errors import NotFoundError
from winkube.api.kinds import Kind
from winkube.apiserver.admission.chain import Admission, Operation
from winkube.apiserver.body import decode_applied, decode_as, media_type, read_body
from winkube.apiserver.call import Call, not_allowed, reply, reply_json, reply_large
from winkube.apiserver.delete_options import DeleteOptions, read_delete_options
from winkube.apiserver.form.conversion import item_as_served
from winkube.apiserver.item import Item
from winkube.apiserver.negotiate import YAML
from winkube.apiserver.options import WriteOptions, parse_flag
from winkube.apiserver.registry.accept import accept
from winkube.apiserver.registry.alike import Alike
from winkube.apiserver.registry.apply import apply
from winkube.apiserver.registry.core import Given, Registry, Result, get, not_found
from winkube.apiserver.registry.create import create
from winkube.apiserver.registry.delete import Deletion, delete
from winkube.apiserver.registry.listing import (
    ListParams,
    ListResult,
    Selection,
    find_items,
    read_list,
    to_page,
    too_large,
)
from winkube.apiserver.registry.owners import drop_repeated_owners
from winkube.apiserver.registry.patch import APPLY_PATCH, patch, read_patch, require_patch
from winkube.apiserver.registry.strategy import put_creates, returns_deleted
from winkube.apiserver.registry.update import (
    WHOLE,
    Part,
    require_identity,
    require_place,
    require_uid,
    update,
)
from winkube.apiserver.registry.version import ASKED_FOR, parse_version
from winkube.apiserver.render import Renderer
from winkube.apiserver.room import LARGE, Room
from winkube.apiserver.watch import WatchServer
from winkube.base.types import JsonObject

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

_JOB_PODS_STAY: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to"
    " remove them or set propagationPolicy=Orphan to suppress this warning"
)
# How many bytes can be looked at in the time that a write of one takes.
_SHAPED: Final = 16
_SELECTED: Final = 128
_NO_VERBS: Final = frozenset({"HEAD", "OPTIONS", "TRACE"})


class Verbs:
    def __init__(self, registry: Registry, renderer: Renderer, watches: WatchServer) -> None:
        self._registry = registry
        self._renderer = renderer
        self._room = Room()
        self._alike = Alike(registry)
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
            return await self.get(call)
        return await self._by_verb[call.verb](call)

    async def answer(self, call: Call, item: Item, status: int = 200) -> web.Response:
        if _is_plain(call) and not call.served.converts:
            return reply(call, item.data, status)
        data = await self._aside(call, _effort(call, [item]), self._rendered, call, item)
        return reply(call, data, status)

    def _rendered(self, call: Call, item: Item) -> bytes:
        shown = item_as_served(call.served, item)
        return self._renderer.item(call.served.kind, shown, call.output, call.include)

    async def _aside(
        self,
        call: Call,
        weight: int,
        function: Callable[Given, Result],
        *args: Given.args,
        **kwargs: Given.kwargs,
    ) -> Result:
        """Look at items as they are now; at many, while others are served."""
        options = WriteOptions(call.user, weight=weight)
        return await self._registry.work(options, function, *args, **kwargs)

    async def get(self, call: Call) -> web.Response:
        version = call.query.get("resourceVersion") if call.query else None
        if version:
            wanted = parse_version(version, ASKED_FOR)
            current = self._registry.storage.cache.revision
            if wanted > current:
                raise too_large(wanted, current)
        return await self.answer(call, get(call.served, *call.place))

    async def list(self, call: Call) -> web.StreamResponse:
        params, selection = read_list(call.served, call.target.namespace, call.query)
        return await self._list(call, await self._listed(call, params, selection))

    async def _listed(self, call: Call, params: ListParams, selection: Selection) -> ListResult:
        served = call.served
        items, revision = find_items(served, self._registry.storage.cache.revision, params)
        if selection.everything and not served.converts:
            return to_page(served, items, revision, params, selection)
        return await self._aside(
            call, _bytes(items) // _SELECTED, to_page, served, items, revision, params, selection
        )

    async def _list(self, call: Call, result: ListResult) -> web.StreamResponse:
        kind, output, listing = call.served.kind, call.output, self._renderer.listing
        if _is_plain(call):
            pieces = listing(kind, result, output, call.include)
        else:
            pieces = await self._aside(
                call, _effort(call, result.items), listing, kind, result, output, call.include
            )
        return await reply_large(call, pieces)

    async def create(self, call: Call) -> web.Response:
        served = call.served
        if call.target.name or bool(call.target.namespace) != served.kind.namespaced:
            raise not_allowed()
        options = WriteOptions.parse(call.user, call.query, "Create")
        options.agent = call.request.headers.get("User-Agent", "")
        call.warnings = options.warnings
        raw = await read_body(call.request)
        options.weight = len(raw)
        if options.weight < LARGE:
            return await self._create(call, raw, options)
        return await self._room.write(
            call.user.tenant,
            options.weight,
            lambda: self._create(call, raw, options),
            self._asked(call, "CREATE"),
        )

    async def _create(self, call: Call, raw: bytes, options: WriteOptions) -> web.Response:
        served, namespace = call.served, call.target.namespace
        document = await decode_as(served.kind.kind, raw, call.request)
        like = self._alike.likeness(served, namespace, document, raw, options)
        item = None
        if like is not None:
            item = await self._alike.create(served, namespace, like, options)
        if item is None:
            obj = await self._accepted(call, document, raw, options)
            item = await create(self._registry, served, namespace, obj, options)
            if like is not None:
                self._alike.learn(like, item, options.warnings)
        return await self.answer(call, item, 201)

    async def change(self, call: Call, part: Part = WHOLE) -> web.Response:
        """PUT and PATCH, of the object or of a part of it."""
        if not call.target.name or bool(call.target.namespace) != call.served.kind.namespaced:
            raise not_allowed()
        name = "Update" if call.verb == "update" else "Patch"
        media = media_type(call.request.headers.get("Content-Type", ""))
        if call.verb == "patch":
            require_patch(media)
        options = WriteOptions.parse(call.user, call.query, name, apply=media == APPLY_PATCH)
        options.agent = call.request.headers.get("User-Agent", "")
        call.warnings = options.warnings
        raw = await read_body(call.request)
        options.weight = len(raw) + _size(call)
        if options.weight < LARGE:
            return await self._change(call, raw, options, part)
        operation: Operation = "UPDATE" if _size(call) else "CREATE"
        return await self._room.write(
            call.user.tenant,
            options.weight,
            lambda: self._change(call, raw, options, part),
            self._asked(call, operation, part.name),
        )

    def _asked(self, call: Call, operation: Operation, part: str = "") -> frozenset[str]:
        """The webhooks that may be shown what is written, before it is read."""
        target = call.target
        probe = Admission(
            operation, call.served, target.namespace, target.name, call.user, subresource=part
        )
        return self._registry.admission.asked(probe)

    async def _change(
        self, call: Call, raw: bytes, options: WriteOptions, part: Part
    ) -> web.Response:
        if call.verb == "update":
            return await self._update(call, raw, options, part)
        media = media_type(call.request.headers.get("Content-Type", ""))
        if media == APPLY_PATCH:
            return await self._apply(call, raw, options, part)
        wanted = await self._registry.work(options, read_patch, media, raw)
        item = await patch(self._registry, call.served, call.place, wanted, options, part)
        return await self.answer(call, item)

    async def _accepted(
        self, call: Call, document: Any, raw: bytes, options: WriteOptions
    ) -> JsonObject:
        registry, kind = self._registry, call.served.kind
        return await registry.work(
            options, accept, registry.schema, kind, document, options, raw=raw
        )

    async def _update(
        self, call: Call, raw: bytes, options: WriteOptions, part: Part
    ) -> web.Response:
        served = call.served
        document = await decode_as(served.kind.kind, raw, call.request)
        obj = await self._accepted(call, document, raw, options)
        require_place(obj, call.place)
        drop_repeated_owners(obj, options.warnings, admitted=False)
        current = served.cache.get(served.key(*call.place))
        if current is None:
            return await self._create_by_put(call, obj, options, part)
        require_identity(served, obj, current, dry_run=options.dry_run)
        item = await update(self._registry, served, current, obj, options, part)
        return await self.answer(call, item)

    async def _create_by_put(
        self, call: Call, obj: JsonObject, options: WriteOptions, part: Part
    ) -> web.Response:
        if part.name or not put_creates(call.served.kind):
            raise not_found(call.served, call.target.name)
        uid = obj["metadata"].get("uid")
        if uid:
            require_uid(call.served, call.place, (uid, ""), dry_run=options.dry_run)
        item = await create(self._registry, call.served, call.target.namespace, obj, options)
        return await self.answer(call, item, 201)

    async def _apply(
        self, call: Call, raw: bytes, options: WriteOptions, part: Part
    ) -> web.Response:
        if part.name:
            get(call.served, *call.place)
        document = await decode_applied(raw)
        item, new = await apply(self._registry, call.served, call.place, document, options, part)
        return await self.answer(call, item, 201 if new else 200)

    async def delete(self, call: Call) -> web.Response:
        if not call.target.name or bool(call.target.namespace) != call.served.kind.namespaced:
            raise not_allowed()
        options = await read_delete_options(self._registry.schema, call)
        write = WriteOptions(call.user, dry_run=options.dry_run)
        call.warnings = write.warnings
        _warn_of_pods(call.served.kind, options, write)
        size = _size(call)
        if size < LARGE:
            return await self._delete(call, options, write)
        return await self._room.write(
            call.user.tenant,
            size,
            lambda: self._delete(call, options, write),
            self._asked(call, "DELETE"),
        )

    async def _delete(
        self, call: Call, options: DeleteOptions, write: WriteOptions
    ) -> web.Response:
        outcome = await delete(self._registry, call.served, call.place, options, write)
        return await self._deleted(call, outcome, options)

    async def _deleted(self, call: Call, outcome: Deletion, options: DeleteOptions) -> web.Response:
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
        return await self.answer(call, outcome.item, 202 if accepted else 200)

    async def delete_collection(self, call: Call) -> web.StreamResponse:
        served = call.served
        if served.kind.namespaced and not call.target.namespace:
            raise not_allowed()
        params, selection = read_list(served, call.target.namespace, call.query)
        if params.version not in ("", "0"):
            # Upstream takes them page by page, which is of that very version.
            params = replace(params, match=params.match or "Exact")
        options = await read_delete_options(self._registry.schema, call)
        result = await self._listed(call, params, selection)
        write = WriteOptions(call.user, dry_run=options.dry_run)
        call.warnings = write.warnings
        _warn_of_pods(served.kind, options, write)
        for item in result.items:
            if served.cache.get(item.key) is None:
                continue
            place = (item.namespace, item.name)
            # Somebody else was faster: it is gone all the same.
            with suppress(NotFoundError):
                await delete(self._registry, served, place, options, write)
        return await self._list(call, result)


def _is_plain(call: Call) -> bool:
    return not call.output.shape and call.output.media != YAML


def _effort(call: Call, items: "Sequence[Item]") -> int:
    return _bytes(items) // (1 if call.output.media == YAML else _SHAPED)


def _bytes(items: "Sequence[Item]") -> int:
    return sum(len(item.data) for item in items)


def _size(call: Call) -> int:
    item = call.served.cache.get(call.served.key(*call.place))
    return len(item.data) if item is not None else 0


def _warn_of_pods(kind: Kind, options: DeleteOptions, write: WriteOptions) -> None:
    if (kind.group, kind.plural) == ("batch", "jobs") and not options.says_propagation:
        write.warnings.append(_JOB_PODS_STAY)


def is_watch(query: dict[str, str]) -> bool:
    return parse_flag(query.get("watch", ""))
