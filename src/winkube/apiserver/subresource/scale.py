"""The scale subresource: how many replicas, in one form for every workload kind."""

from dataclasses import replace
from typing import Final

from aiohttp import web

from winkube.api.errors import ConflictError, InvalidError
from winkube.api.kinds import Kind
from winkube.api.selectors import selector_query
from winkube.api.table import columns, to_row
from winkube.api.validation.common import check_nonnegative
from winkube.api.validation.metadata import validate_metadata
from winkube.api.validation.problems import Problems
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.body import decode_as, media_type, read_body
from winkube.apiserver.call import Call, not_allowed, reply
from winkube.apiserver.item import Item
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.accept import accept
from winkube.apiserver.registry.core import MODIFIED, Registry, get
from winkube.apiserver.registry.patch import Patch, patched, read_patch
from winkube.apiserver.registry.update import WHOLE, ModifiedError, require_name, update
from winkube.apiserver.render import encode
from winkube.apiserver.served import Served
from winkube.base.clock import SystemClock
from winkube.base.types import JsonObject

_ATTEMPTS: Final = 6
_CLOCK: Final = SystemClock()
_PART: Final = replace(WHOLE, name="scale")
SCALE: Final = Kind("autoscaling", "v1", "Scale", "", "", namespaced=True)


class Scale:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def handle(self, call: Call) -> web.StreamResponse:
        if call.verb == "get":
            return _answer(call, get(call.served, *call.place))
        if call.verb not in ("update", "patch"):
            raise not_allowed()
        options = WriteOptions.parse(call.user, call.query, call.verb.capitalize())
        options.agent = call.request.headers.get("User-Agent", "")
        call.warnings = options.warnings
        raw = await read_body(call.request)
        header = call.request.headers.get("Content-Type", "")
        patching = call.verb == "patch"
        wanted = read_patch(media_type(header), raw) if patching else None
        document = await self._read(call, raw, options) if wanted is None else {}
        for attempt in range(_ATTEMPTS):
            item = get(call.served, *call.place)
            scale = document
            if wanted is not None:
                scale = self._patched(to_scale(item.load()), wanted, options)
            try:
                return _answer(call, await self._write(call, item, scale, options))
            except ModifiedError:
                if attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError("the loop returns or raises")

    async def _read(self, call: Call, raw: bytes, options: WriteOptions) -> JsonObject:
        document = await decode_as(SCALE.kind, raw, call.request)
        scale = accept(self._registry.schema, SCALE, document, options, raw=raw)
        get(call.served, *call.place)
        require_name(scale, call.target.name)
        return scale

    def _patched(self, scale: JsonObject, wanted: Patch, options: WriteOptions) -> JsonObject:
        options.warnings.clear()
        name = scale["metadata"]["name"]
        new = patched(self._registry, SCALE, scale, wanted, options)
        require_name(new, name)
        return new

    async def _write(
        self, call: Call, item: Item, scale: JsonObject, options: WriteOptions
    ) -> Item:
        obj = item.load()
        await self._ask(call, scale, to_scale(obj), options)
        _check(call.served, item, scale)
        obj["metadata"].pop("resourceVersion", None)
        obj.setdefault("spec", {})["replicas"] = (scale.get("spec") or {}).get("replicas", 0)
        new = accept(self._registry.schema, call.served.kind, obj, options)
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
        await self._registry.admission.ask_judges(request)


def _check(served: Served, item: Item, scale: JsonObject) -> None:
    problems = Problems()
    validate_metadata(SCALE, scale.get("metadata"), problems)
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    check_nonnegative(replicas, "spec.replicas", problems)
    if problems:
        raise InvalidError.of("Scale", item.name, problems.causes, group="autoscaling")
    version = (scale.get("metadata") or {}).get("resourceVersion")
    if version and version != str(item.revision):
        kind = served.kind
        raise ConflictError.of(kind.plural, item.name, MODIFIED, group=kind.group)


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
