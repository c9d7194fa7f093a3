"""The OpenAPI pages: /openapi/v2 whole, /openapi/v3 one document per group version."""

import asyncio
import hashlib
from typing import Final, Protocol

import orjson
from aiohttp import web

from winkube.api.errors import NoRouteError, NotAcceptableError
from winkube.api.kinds import Kind, KindTable
from winkube.api.schema import Schema
from winkube.apiserver.call import reply_json
from winkube.apiserver.edge import Edge
from winkube.apiserver.negotiate import JSON, parse_accept
from winkube.apiserver.openapi import gnostic
from winkube.apiserver.openapi.definition import V2_REF, V3_REF, closure, to_definition
from winkube.apiserver.openapi.paths import PathWriter
from winkube.base.types import JsonObject

# Part of the documents' hashes: clients keep a document as long as its hash stays.
_FORM: Final = "1"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_ALWAYS: Final = tuple(
    _META + name for name in ("DeleteOptions", "Status", "Patch", "APIResourceList")
)
_WHOLE: Final = ("v2", "v2.pb")
_ACCEPTED: Final = frozenset({JSON, "*/*", "application/*"})


class ExtraSpecs(Protocol):
    """Documents of group versions that other servers answer for; ``revision`` changes with them."""

    @property
    def revision(self) -> int: ...

    def names(self) -> list[str]: ...

    async def v3(self, name: str) -> JsonObject: ...

    async def v2(self) -> list[JsonObject]: ...


class OpenApi:
    def __init__(self, schema: Schema, kinds: KindTable, extra: ExtraSpecs) -> None:
        self._schema = schema
        self._extra = extra
        self._extra_revision = extra.revision
        self._names = {
            (entry["group"], entry["version"], entry["kind"]): name
            for name, raw in schema.definitions.items()
            for entry in raw.get("x-kubernetes-group-version-kind") or ()
        }
        self._kinds: dict[str, list[Kind]] = {}
        for kind in kinds.all():
            self._kinds.setdefault(_path(kind), []).append(kind)
        self._documents: dict[str, bytes] = {}

    def install(self, edge: Edge) -> None:
        edge.add_page("/openapi/v2", self.v2)
        edge.add_page("/openapi/v3", self.index)
        edge.add_tree("/openapi/v3/", self.v3)

    async def index(self, request: web.BaseRequest, path: str) -> web.Response:
        paths = {
            name: {"serverRelativeURL": f"/openapi/v3/{name}?hash={self._hash(name)}"}
            for name in (*self._kinds, *self._extra.names())
        }
        return reply_json({"paths": paths})

    async def v3(self, request: web.BaseRequest, path: str) -> web.Response:
        name = path.removeprefix("/openapi/v3/").strip("/")
        if name in self._extra.names():
            return reply_json(await self._extra.v3(name))
        if name not in self._kinds:
            raise NoRouteError
        header = request.headers.get("Accept", "")
        if header and not any(entry.media in _ACCEPTED for entry in parse_accept(header)):
            raise _not_acceptable()
        return await self._send(request, name)

    async def v2(self, request: web.BaseRequest, path: str) -> web.Response:
        self._forget_changed()
        for entry in parse_accept(str(request.headers.get("Accept", JSON))):
            if entry.media in gnostic.MEDIA_NAMES:
                return await self._send(request, "v2.pb", "application/octet-stream")
            if entry.media in _ACCEPTED:
                return await self._send(request, "v2")
        raise _not_acceptable()

    async def _send(
        self, request: web.BaseRequest, name: str, content_type: str = JSON
    ) -> web.Response:
        etag = f'"{self._hash(name)}"'
        if request.headers.get("If-None-Match") == etag:
            return web.Response(status=304)
        data = self._documents.get(name)
        if data is None:
            # Large, made once: other requests go on meanwhile.
            extra = await self._extra.v2() if name in _WHOLE else []
            data = self._documents[name] = await asyncio.to_thread(self._make, name, extra)
        return web.Response(
            body=data, headers={"Content-Type": content_type, "ETag": etag, "Vary": "Accept"}
        )

    def _hash(self, name: str) -> str:
        changing = name in _WHOLE or name not in self._kinds
        form = f"{_FORM}.{self._extra_revision}" if changing else _FORM
        text = f"{form}/{self._schema.version}/{name}"
        return hashlib.sha512(text.encode()).hexdigest().upper()

    def _forget_changed(self) -> None:
        if self._extra_revision != self._extra.revision:
            self._extra_revision = self._extra.revision
            for name in _WHOLE:
                self._documents.pop(name, None)

    def _make(self, name: str, extra: list[JsonObject]) -> bytes:
        if name == "v2.pb":
            return gnostic.to_protobuf(self._make_v2(extra))
        return orjson.dumps(self._make_v2(extra) if name == "v2" else self._make_v3(name))

    def _make_v2(self, extra: list[JsonObject]) -> JsonObject:
        kinds = [kind for listed in self._kinds.values() for kind in listed]
        paths, names = self._describe(kinds, V2_REF)
        definitions = {name: to_definition(self._schema, name, V2_REF) for name in names}
        for document in extra:
            paths = {**(document.get("paths") or {}), **paths}
            definitions = {**(document.get("definitions") or {}), **definitions}
        return {"swagger": "2.0", "info": self._info(), "paths": paths, "definitions": definitions}

    def _make_v3(self, name: str) -> JsonObject:
        paths, names = self._describe(self._kinds[name], V3_REF)
        schemas = {name: to_definition(self._schema, name, V3_REF) for name in names}
        return {
            "openapi": "3.0.0",
            "info": self._info(),
            "paths": paths,
            "components": {"schemas": schemas},
        }

    def _describe(self, kinds: list[Kind], ref: str) -> tuple[JsonObject, list[str]]:
        writer = PathWriter(self._names, ref)
        paths: JsonObject = {}
        roots = list(_ALWAYS)
        for kind in kinds:
            paths |= writer.paths(kind)
            group, version, name = kind.gvk
            spoken = ((group, version, name), (group, version, f"{name}List"))
            roots += [self._names[gvk] for gvk in spoken if gvk in self._names]
            if "scale" in kind.subresources:
                roots.append("io.k8s.api.autoscaling.v1.Scale")
        roots += ["io.k8s.api.policy.v1.Eviction", "io.k8s.api.authentication.v1.TokenRequest"]
        return paths, closure(self._schema, roots)

    def _info(self) -> JsonObject:
        return {"title": "Kubernetes", "version": f"v{self._schema.version}.0"}


def _path(kind: Kind) -> str:
    return f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"


def _not_acceptable() -> NotAcceptableError:
    return NotAcceptableError("only the following media types are accepted: application/json")
