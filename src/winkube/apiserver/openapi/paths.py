"""The paths of an OpenAPI document: which methods a resource has, and their parameters.

kubectl reads from here that fieldValidation and dryRun are understood by PATCH.
"""

from typing import Final

from winkube.api.kinds import Kind
from winkube.apiserver.form.spoken import subresource_kind
from winkube.apiserver.openapi.definition import V3_REF
from winkube.apiserver.pages.discovery import subresource_verbs
from winkube.base.types import JsonObject

_METHODS: Final = {
    "get": ("get", "get"),
    "list": ("get", "list"),
    "create": ("post", "post"),
    "update": ("put", "put"),
    "patch": ("patch", "patch"),
    "delete": ("delete", "delete"),
    "deletecollection": ("delete", "deletecollection"),
}
_ON_COLLECTION: Final = frozenset({"list", "create", "deletecollection"})
_WRITES: Final = frozenset({"create", "update", "patch"})
_LIST_PARAMETERS: Final = (
    ("allowWatchBookmarks", "boolean"),
    ("continue", "string"),
    ("fieldSelector", "string"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("timeoutSeconds", "integer"),
    ("watch", "boolean"),
)
_WRITE_PARAMETERS: Final = (
    ("dryRun", "string"),
    ("fieldManager", "string"),
    ("fieldValidation", "string"),
)
_DELETE_PARAMETERS: Final = (
    ("dryRun", "string"),
    ("gracePeriodSeconds", "integer"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
)
_PATCH_TYPES: Final = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)


class PathWriter:
    """``ref`` decides the dialect: where a document keeps its schemas."""

    def __init__(self, names: dict[tuple[str, str, str], str], ref: str) -> None:
        self._names = names
        self._ref = ref
        self._v3 = ref == V3_REF

    def paths(self, kind: Kind) -> JsonObject:
        root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
        folder = f"{root}/namespaces/{{namespace}}" if kind.namespaced else root
        collection = f"{folder}/{kind.plural}"
        result: JsonObject = {}
        here = [verb for verb in kind.verbs if verb in _ON_COLLECTION]
        if here:
            result[collection] = self._item(kind, here, kind.gvk, [])
        single = [verb for verb in kind.verbs if verb in _METHODS and verb not in _ON_COLLECTION]
        if single:
            result[f"{collection}/{{name}}"] = self._item(kind, single, kind.gvk, ["name"])
        for part in sorted(kind.subresources):
            spoken = subresource_kind(kind, part)
            verbs = list(subresource_verbs(part))
            path = f"{collection}/{{name}}/{part}"
            result[path] = self._item(kind, verbs, spoken, ["name"], part)
        if kind.namespaced and "list" in kind.verbs:
            result[f"{root}/{kind.plural}"] = self._item(
                kind, ["list"], kind.gvk, [], everywhere=True
            )
        return result

    def _item(
        self,
        kind: Kind,
        verbs: list[str],
        spoken: tuple[str, str, str],
        places: list[str],
        part: str = "",
        *,
        everywhere: bool = False,
    ) -> JsonObject:
        named = [*places, "namespace"] if kind.namespaced and not everywhere else places
        item: JsonObject = {
            "parameters": [self._parameter(name, "string", "path") for name in named]
        }
        for verb in verbs:
            method, action = _METHODS[verb]
            item[method] = self._operation(kind, verb, action, spoken, part)
            if everywhere:
                item[method]["operationId"] += "ForAllNamespaces"
        return item

    def _operation(
        self, kind: Kind, verb: str, action: str, spoken: tuple[str, str, str], part: str
    ) -> JsonObject:
        group = kind.group.partition(".")[0] or "core"
        words = (action, group.capitalize(), kind.version.capitalize())
        scope = "Namespaced" if kind.namespaced else ""
        operation: JsonObject = {
            "operationId": "".join((*words, scope, kind.kind, part.capitalize())),
            "tags": [f"{group}_{kind.version}"],
            "parameters": [self._parameter(*entry, "query") for entry in _parameters(verb)],
            "responses": {"200": self._response(verb, spoken)},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": {
                "group": spoken[0],
                "version": spoken[1],
                "kind": spoken[2],
            },
        }
        if verb in _WRITES:
            self._add_body(operation, verb, spoken)
        return operation

    def _parameter(self, name: str, kind: str, place: str) -> JsonObject:
        entry: JsonObject = {"name": name, "in": place}
        if place == "path":
            entry["required"] = True
        if self._v3:
            return {**entry, "schema": {"type": kind, "uniqueItems": True}}
        return {**entry, "type": kind, "uniqueItems": True}

    def _response(self, verb: str, spoken: tuple[str, str, str]) -> JsonObject:
        group, version, kind = spoken
        shown = (group, version, f"{kind}List") if verb == "list" else spoken
        name = self._names.get(shown)
        response: JsonObject = {"description": "OK"}
        if name is None:
            return response
        reference = {"$ref": self._ref + name}
        if self._v3:
            response["content"] = {"application/json": {"schema": reference}}
        else:
            response["schema"] = reference
        return response

    def _add_body(self, operation: JsonObject, verb: str, spoken: tuple[str, str, str]) -> None:
        patch = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch"
        name = patch if verb == "patch" else self._names.get(spoken)
        if name is None:
            return
        reference = {"$ref": self._ref + name}
        media = _PATCH_TYPES if verb == "patch" else ("*/*",)
        if self._v3:
            content = {entry: {"schema": reference} for entry in media}
            operation["requestBody"] = {"required": True, "content": content}
        else:
            operation["consumes"] = list(media)
            body = {"name": "body", "in": "body", "required": True, "schema": reference}
            operation["parameters"].insert(0, body)


def _parameters(verb: str) -> tuple[tuple[str, str], ...]:
    if verb in ("list", "deletecollection"):
        return _LIST_PARAMETERS
    if verb == "patch":
        return (*_WRITE_PARAMETERS, ("force", "boolean"))
    if verb in _WRITES:
        return _WRITE_PARAMETERS
    return _DELETE_PARAMETERS if verb == "delete" else ()
