"""The scale subresource: how many replicas, in one form for every workload kind."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from aiohttp import web

from winkube.api.decode import clone
from winkube.api.errors import ConflictError, InvalidError
from winkube.api.kinds import Kind
from winkube.api.selector.labels import selector_query
from winkube.api.table import columns, to_row
from winkube.api.validation.common import check_nonnegative
from winkube.api.validation.metadata import validate_metadata
from winkube.api.validation.problems import Problems
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.apply.managers import track_update
from winkube.apiserver.apply.owner import author, read_managers, write_managers
from winkube.apiserver.apply.scaled import parent_managers, scale_managers
from winkube.apiserver.body import decode_applied, decode_as, media_type, read_body
from winkube.apiserver.call import Call, not_allowed, reply
from winkube.apiserver.item import Item
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.accept import accept
from winkube.apiserver.registry.apply import granted, read_wish
from winkube.apiserver.registry.core import MODIFIED, Registry, get
from winkube.apiserver.registry.forms import changes_by_version
from winkube.apiserver.registry.owners import drop_repeated_owners
from winkube.apiserver.registry.patch import APPLY_PATCH, Patch, patched, read_patch, require_patch
from winkube.apiserver.registry.update import (
    WHOLE,
    ModifiedError,
    require_identity,
    require_place,
    update,
)
from winkube.apiserver.registry.version import parse_version
from winkube.apiserver.render import encode
from winkube.apiserver.served import Served
from winkube.base.clock import SystemClock
from winkube.base.types import JsonObject

_ATTEMPTS: Final = 6
_CLOCK: Final = SystemClock()
_PART: Final = replace(WHOLE, name="scale", tracked=False)
SCALE: Final = Kind("autoscaling", "v1", "Scale", "", "", namespaced=True)


# A change of a scale: from the one there is to the one that is wanted, owners included.
Change = Callable[[JsonObject], JsonObject]


class Scale:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def handle(self, call: Call) -> web.StreamResponse:
        if call.verb == "get":
            return _answer(call, get(call.served, *call.place))
        if call.verb not in ("update", "patch"):
            raise not_allowed()
        media = media_type(call.request.headers.get("Content-Type", ""))
        if call.verb == "patch":
            require_patch(media)
        applies = call.verb == "patch" and media == APPLY_PATCH
        options = WriteOptions.parse(call.user, call.query, call.verb.capitalize(), apply=applies)
        options.agent = call.request.headers.get("User-Agent", "")
        call.warnings = options.warnings
        raw = await read_body(call.request)
        change = await self._change(call, media, raw, options)
        for attempt in range(_ATTEMPTS):
            item = get(call.served, *call.place)
            try:
                return _answer(call, await self._write(call, item, change, options))
            except ModifiedError:
                if attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError("the loop returns or raises")

    async def _change(self, call: Call, media: str, raw: bytes, options: WriteOptions) -> Change:
        if call.verb == "update":
            document = await self._read(call, raw, options)
            return lambda live: self._tracked(live, clone(document), options)
        if media == APPLY_PATCH:
            get(call.served, *call.place)
            document = await decode_applied(raw)
            wish = read_wish(self._registry.schema, SCALE, document, options)
            return lambda live: _placed(
                call, granted(self._registry, wish, live, options, _PART.name)
            )
        wanted = read_patch(media, raw)
        return lambda live: self._tracked(
            live, _placed(call, self._patched(live, wanted, options)), options
        )

    async def _read(self, call: Call, raw: bytes, options: WriteOptions) -> JsonObject:
        document = await decode_as(SCALE.kind, raw, call.request)
        scale = accept(self._registry.schema, SCALE, document, options, raw=raw)
        item = get(call.served, *call.place)
        drop_repeated_owners(_placed(call, scale), options.warnings, admitted=False)
        require_identity(call.served, scale, item, dry_run=options.dry_run)
        return scale

    def _patched(self, live: JsonObject, wanted: Patch, options: WriteOptions) -> JsonObject:
        options.warnings.clear()
        return patched(self._registry, SCALE, clone(live), wanted, options)

    def _tracked(self, live: JsonObject, new: JsonObject, options: WriteOptions) -> JsonObject:
        owner = author(options.manager, SCALE.api_version, _PART.name)
        found = changes_by_version(self._registry.schema, SCALE, (live, new), ())
        track_update(found, live, new, owner, now="")
        return new

    async def _write(self, call: Call, item: Item, change: Change, options: WriteOptions) -> Item:
        obj, version = item.load(), call.served.kind.api_version
        parents = read_managers(obj["metadata"])
        live = to_scale(obj)
        owners = scale_managers(parents, version, SCALE.api_version)
        write_managers(live["metadata"], owners)
        scale = change(live)
        owners = read_managers(scale["metadata"])
        await self._ask(call, scale, to_scale(obj), options)
        _check(call.served, item, scale)
        obj["metadata"].pop("resourceVersion", None)
        obj.setdefault("spec", {})["replicas"] = (scale.get("spec") or {}).get("replicas", 0)
        new = accept(self._registry.schema, call.served.kind, obj, options)
        write_managers(new["metadata"], parent_managers(parents, owners, version))
        return await update(self._registry, call.served, item, new, options, _PART)

    async def _ask(
        self, call: Call, scale: JsonObject, old: JsonObject, options: WriteOptions
    ) -> None:
        """Those who are asked see the scale: what of it cannot be written is as it was."""
        scale["metadata"] = {**old["metadata"], **(scale.get("metadata") or {})}
        scale["status"] = old["status"]
        request = Admission(
            "UPDATE",
            call.served,
            *call.place,
            call.user,
            scale,
            old,
            "scale",
            options.dry_run,
            options.said,
            SCALE,
            warnings=options.warnings,
        )
        await self._registry.admission.ask_changers(request)
        drop_repeated_owners(scale, options.warnings, admitted=True)
        await self._registry.admission.ask_judges(request)


def _check(served: Served, item: Item, scale: JsonObject) -> None:
    problems = Problems()
    validate_metadata(SCALE, scale.get("metadata"), problems)
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    check_nonnegative(replicas, "spec.replicas", problems)
    if problems:
        raise InvalidError.of("Scale", item.name, problems.causes, group="autoscaling")
    kind, metadata = served.kind, scale.get("metadata") or {}
    uid, current = metadata.get("uid"), item.load()["metadata"].get("uid")
    if uid and uid != current:
        cause = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {current}"
        raise ConflictError.of(f"{kind.plural}/scale", item.name, cause, group=kind.group)
    version = metadata.get("resourceVersion")
    if version and version != str(item.revision):
        parse_version(version)
        raise ConflictError.of(kind.plural, item.name, MODIFIED, group=kind.group)


def _placed(call: Call, scale: JsonObject) -> JsonObject:
    require_place(scale, call.place)
    return scale


def _answer(call: Call, item: Item) -> web.Response:
    scale = to_scale(item.load())
    scale["metadata"]["resourceVersion"] = str(item.revision)
    if call.output.shape == "Table":
        return reply(call, encode(_to_table(scale, call), call.output))
    return reply(call, encode(scale, call.output))


def _to_table(scale: JsonObject, call: Call) -> JsonObject:
    version = f"meta.k8s.io/{call.output.version}"
    row: JsonObject = {"cells": to_row(SCALE, scale, _CLOCK)}
    if call.include == "Object":
        row["object"] = scale
    elif call.include != "None":
        shown = {"kind": "PartialObjectMetadata", "apiVersion": version}
        row["object"] = {**shown, "metadata": scale["metadata"]}
    return {
        "kind": "Table",
        "apiVersion": version,
        "metadata": {"resourceVersion": scale["metadata"]["resourceVersion"]},
        "columnDefinitions": columns(SCALE),
        "rows": [row],
    }


def to_scale(obj: JsonObject) -> JsonObject:
    metadata = obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: JsonObject = {"replicas": (obj.get("status") or {}).get("replicas", 0)}
    replicas = (obj.get("spec") or {}).get("replicas", 0)
    selector = selector_query((obj.get("spec") or {}).get("selector") or {})
    if selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in kept if name in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }
