"""How the group describes itself, for ``kubectl explain`` and clients that read schemas."""

import hashlib
from typing import Final

import orjson
from aiohttp import web

from winkube.base.types import JsonObject
from winkube.metrics.documents import API_VERSION, GROUP, VERSION

_PACKAGE: Final = "io.k8s.metrics.pkg.apis.metrics.v1beta1."
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_V2: Final = "#/definitions/"
_V3: Final = "#/components/schemas/"
_ROOT: Final = f"/apis/{API_VERSION}"
_NAMESPACED: Final = f"{_ROOT}/namespaces/{{namespace}}/pods"


def install(router: web.UrlDispatcher) -> None:
    router.add_get("/openapi/v2", _v2)
    router.add_get("/openapi/v3", _index)
    router.add_get(f"/openapi/v3{_ROOT}", _v3)


async def _v2(request: web.Request) -> web.Response:
    return _reply(document(_V2))


async def _index(request: web.Request) -> web.Response:
    digest = hashlib.sha512(orjson.dumps(document(_V3))).hexdigest().upper()
    url = f"/openapi/v3{_ROOT}?hash={digest}"
    return _reply({"paths": {_ROOT.lstrip("/"): {"serverRelativeURL": url}}})


async def _v3(request: web.Request) -> web.Response:
    return _reply(document(_V3))


def _reply(body: JsonObject) -> web.Response:
    return web.Response(body=orjson.dumps(body), content_type="application/json")


def document(ref: str) -> JsonObject:
    info = {"title": "metrics.k8s.io", "version": VERSION}
    if ref == _V2:
        return {
            "swagger": "2.0",
            "info": info,
            "paths": _paths(ref),
            "definitions": _schemas(ref),
        }
    return {
        "openapi": "3.0.0",
        "info": info,
        "paths": _paths(ref),
        "components": {"schemas": _schemas(ref)},
    }


def _paths(ref: str) -> JsonObject:
    return {
        path: {"get": _operation(ref, action, kind, name, places)}
        for path, action, kind, name, places in (
            (f"{_ROOT}/nodes", "list", "NodeMetrics", "listNodeMetrics", ()),
            (f"{_ROOT}/nodes/{{name}}", "get", "NodeMetrics", "readNodeMetrics", ("name",)),
            (f"{_ROOT}/pods", "list", "PodMetrics", "listPodMetricsForAllNamespaces", ()),
            (_NAMESPACED, "list", "PodMetrics", "listNamespacedPodMetrics", ("namespace",)),
            (
                f"{_NAMESPACED}/{{name}}",
                "get",
                "PodMetrics",
                "readNamespacedPodMetrics",
                ("name", "namespace"),
            ),
        )
    }


def _operation(ref: str, action: str, kind: str, name: str, places: tuple[str, ...]) -> JsonObject:
    v2 = ref == _V2
    text: JsonObject = {"type": "string"} if v2 else {"schema": {"type": "string"}}
    reference = {"$ref": f"{ref}{_PACKAGE}{kind}{'List' if action == 'list' else ''}"}
    answer: JsonObject = {"description": "OK"}
    answer |= (
        {"schema": reference} if v2 else {"content": {"application/json": {"schema": reference}}}
    )
    return {
        "operationId": name,
        "parameters": [{"name": place, "in": "path", "required": True, **text} for place in places],
        "responses": {"200": answer},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {"group": GROUP, "version": VERSION, "kind": kind},
    }


def _schemas(ref: str) -> JsonObject:
    return {
        f"{_PACKAGE}ContainerMetrics": {
            "type": "object",
            "description": "What one container uses.",
            "required": ["name", "usage"],
            "properties": {"name": _text("The container's name."), "usage": _usage()},
        },
        f"{_PACKAGE}NodeMetrics": _kind(ref, "NodeMetrics", "What a node uses.", usage=_usage()),
        f"{_PACKAGE}PodMetrics": _kind(
            ref,
            "PodMetrics",
            "What a pod uses, by container.",
            containers=_items(ref, "ContainerMetrics"),
        ),
        f"{_PACKAGE}NodeMetricsList": _list(ref, "NodeMetrics"),
        f"{_PACKAGE}PodMetricsList": _list(ref, "PodMetrics"),
        f"{_META}ListMeta": {"type": "object"},
        f"{_META}ObjectMeta": {"type": "object"},
    }


def _text(words: str, **more: str) -> JsonObject:
    return {"type": "string", "description": words, **more}


def _usage() -> JsonObject:
    words = "By resource: cpu, averaged over the window, and memory, the working set."
    values = {"type": "string"}
    return {"type": "object", "description": words, "additionalProperties": values}


def _items(ref: str, name: str) -> JsonObject:
    return {"type": "array", "items": {"$ref": f"{ref}{_PACKAGE}{name}"}}


def _kind(ref: str, name: str, words: str, **fields: JsonObject) -> JsonObject:
    timing = {
        "timestamp": _text("The end of the window.", format="date-time"),
        "window": _text("How long the figures were collected."),
    }
    metadata = {"metadata": {"$ref": f"{ref}{_META}ObjectMeta"}}
    return _versioned(name, words, {**metadata, **timing, **fields})


def _list(ref: str, name: str) -> JsonObject:
    fields = {"metadata": {"$ref": f"{ref}{_META}ListMeta"}, "items": _items(ref, name)}
    return _versioned(f"{name}List", f"A list of {name}.", fields)


def _versioned(name: str, words: str, fields: JsonObject) -> JsonObject:
    types = {
        "apiVersion": _text("Group and version of this form."),
        "kind": _text("What this object is."),
    }
    return {
        "type": "object",
        "description": words,
        "required": [field for field in fields if field != "metadata"],
        "properties": {**types, **fields},
        "x-kubernetes-group-version-kind": [{"group": GROUP, "version": VERSION, "kind": name}],
    }
