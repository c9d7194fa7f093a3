"""Upstream's own type definitions, compiled lazily into what the walkers need.

The schemas come from the kubernetes-validate package. A *shape* is the compiled form of one place
in an object (a property, a list's items, a map's values); a *definition* is a named Go struct.
Definitions are compiled when first visited, since a server touches few of the 700.
"""

import functools
import importlib.util
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

import orjson

from winkube.base.errors import WinkubeError
from winkube.base.types import JsonObject
from winkube.facts.version import SERVED

Gvk = tuple[str, str, str]


class SchemaVersionError(WinkubeError):
    def __init__(self, version: str, known: list[str]) -> None:
        super().__init__(
            f"no schema of Kubernetes {version!r}: choose one of {', '.join(known) or 'none'}"
        )
        self.version = version


class Type(IntEnum):
    ANY = 0
    OBJECT = 1
    LIST = 2
    MAP = 3
    STRING = 4
    INT32 = 5
    INT64 = 6
    NUMBER = 7
    BOOL = 8
    BYTES = 9
    TIME = 10
    QUANTITY = 11
    INT_OR_STRING = 12
    FREE_OBJECT = 13
    MICRO_TIME = 14


# Types whose JSON form is not that of a struct.
_SPECIAL: Final = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": Type.QUANTITY,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": Type.INT_OR_STRING,
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": Type.TIME,
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": Type.MICRO_TIME,
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": Type.ANY,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": Type.FREE_OBJECT,
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": Type.ANY,
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": Type.ANY,
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": Type.ANY,
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": (
        Type.ANY
    ),
}
_SCALARS: Final = {
    ("string", ""): Type.STRING,
    ("string", "byte"): Type.BYTES,
    ("boolean", ""): Type.BOOL,
    ("integer", ""): Type.INT64,
    ("integer", "int32"): Type.INT32,
    ("integer", "int64"): Type.INT64,
    ("number", ""): Type.NUMBER,
    ("number", "double"): Type.NUMBER,
}
_REF: Final = "#/$defs/"


class Shape:
    """``optional`` is Go's omitempty as far as a schema tells: an empty value is not kept."""

    __slots__ = (
        "definition",
        "item",
        "list_keys",
        "list_type",
        "map_type",
        "merge_key",
        "optional",
        "strategies",
        "type",
    )

    def __init__(self, schema: "Schema", raw: JsonObject) -> None:
        self.definition: Definition | None = None
        self.item: Shape | None = None
        self.type = self._resolve(schema, raw)
        kinds = raw.get("type")
        self.optional = isinstance(kinds, list) and "null" in kinds
        self.merge_key: str | None = raw.get("x-kubernetes-patch-merge-key")
        self.strategies = frozenset((raw.get("x-kubernetes-patch-strategy") or "").split(",")) - {
            ""
        }
        self.list_type: str | None = raw.get("x-kubernetes-list-type")
        self.list_keys: tuple[str, ...] = tuple(raw.get("x-kubernetes-list-map-keys") or ())
        self.map_type: str | None = raw.get("x-kubernetes-map-type") or self._named_map_type()

    def _named_map_type(self) -> str | None:
        """A struct that is written as a whole wherever it stands says so itself."""
        return None if self.definition is None else self.definition.raw.get("x-kubernetes-map-type")

    def _resolve(self, schema: "Schema", raw: JsonObject) -> Type:
        reference = raw.get("$ref")
        if reference is not None:
            name = reference.removeprefix(_REF)
            special = _SPECIAL.get(name)
            if special is None:
                self.definition = schema.compiled(name)
                return Type.OBJECT
            return special
        kinds = raw.get("type")
        kind = next((k for k in kinds if k != "null"), "") if isinstance(kinds, list) else kinds
        if kind in ("array", "object"):
            inner = raw.get("items") if kind == "array" else raw.get("additionalProperties")
            if inner is None:
                return Type.FREE_OBJECT if kind == "object" else Type.ANY
            self.item = Shape(schema, inner)
            return Type.LIST if kind == "array" else Type.MAP
        return _SCALARS.get((kind or "", raw.get("format") or ""), Type.ANY)


class Definition:
    """A named struct; ``properties`` is compiled on first use, which also ends recursion."""

    def __init__(self, schema: "Schema", name: str, raw: JsonObject) -> None:
        self.name = name
        self.raw = raw
        self._schema = schema

    @property
    def go_name(self) -> str:
        return self.name.rpartition(".")[2]

    @functools.cached_property
    def properties(self) -> dict[str, Shape]:
        fields = self.raw.get("properties") or {}
        return {key: Shape(self._schema, raw) for key, raw in fields.items()}

    @property
    def required(self) -> frozenset[str]:
        return frozenset(self.raw.get("required") or ())

    @functools.cached_property
    def zeros(self) -> frozenset[str]:
        """Fields whose zero Go's encoder leaves out."""
        return frozenset(_go_fields().get(self.name, ((), {}))[0])

    @functools.cached_property
    def always(self) -> tuple[tuple[str, Any], ...]:
        """Fields Go's encoder writes even when nobody set them, with their zero."""
        fields: JsonObject = _go_fields().get(self.name, ((), {}))[1]
        known = self.raw.get("properties") or {}
        return tuple((key, zero) for key, zero in fields.items() if key in known)

    @functools.cached_property
    def shape(self) -> Shape:
        return Shape(self._schema, {"$ref": _REF + self.name})


class Schema:
    def __init__(self, version: str, definitions: dict[str, JsonObject]) -> None:
        self.version = version
        self.definitions = definitions
        self._compiled: dict[str, Definition] = {}

    def definition(self, name: str) -> JsonObject:
        """The raw definition of this name; KeyError when there is none."""
        return self.definitions[name]

    def compiled(self, name: str) -> Definition:
        found = self._compiled.get(name)
        if found is None:
            found = self._compiled[name] = Definition(self, name, self.definitions[name])
        return found

    def for_kind(self, gvk: Gvk) -> Definition | None:
        name = self._by_kind.get(tuple(gvk))
        return self.compiled(name) if name is not None else None

    @functools.cached_property
    def _by_kind(self) -> dict[tuple[str, ...], str]:
        return {
            (entry["group"], entry["version"], entry["kind"]): name
            for name, raw in self.definitions.items()
            for entry in raw.get("x-kubernetes-group-version-kind") or ()
        }


@functools.cache
def _go_fields() -> JsonObject:
    """By definition; tools/go_fields.py wrote it."""
    fields: JsonObject = orjson.loads(Path(__file__).with_name("go_fields.json").read_bytes())
    return fields


def _schema_root() -> Path:
    # Found, not imported: the package's __init__ pulls in a JSON-schema engine we do not use.
    spec = importlib.util.find_spec("kubernetes_validate")
    if spec is None or not spec.submodule_search_locations:
        raise WinkubeError("python package kubernetes-validate is missing: pip install it")
    return Path(spec.submodule_search_locations[0]) / "kubernetes-json-schema"


def known_versions() -> list[str]:
    """Minor versions with a schema, oldest first."""
    names = [path.name for path in _schema_root().glob("v*.0-local")]
    versions = [name.removeprefix("v").removesuffix(".0-local") for name in names]
    return sorted(versions, key=lambda text: tuple(int(part) for part in text.split(".")))


@functools.cache
def load_schema(version: str = SERVED) -> Schema:
    minor = ".".join(version.removeprefix("v").split(".")[:2])
    known = known_versions()
    if minor not in known:
        raise SchemaVersionError(version, known)
    path = _schema_root() / f"v{minor}.0-local" / "_definitions.json"
    document: Any = orjson.loads(path.read_bytes())
    return Schema(minor, document["$defs"])
