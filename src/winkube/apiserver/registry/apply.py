"""Server-side apply: create or merge, with owners kept in managedFields."""

from typing import Any, Final

from winkube.api.errors import BadRequestError, UndecodableError, UnexplainedError
from winkube.api.kinds import Kind
from winkube.api.patch import json_name
from winkube.api.schema import Schema, Shape
from winkube.apiserver.apply.declared import schema_problems
from winkube.apiserver.apply.managers import (
    BEFORE,
    Managers,
    Owner,
    changes,
    conflict_error,
    conflicts,
    read_managers,
    stated_fields,
    take_over,
    write_managers,
)
from winkube.apiserver.apply.merge import merge, remove
from winkube.apiserver.apply.tree import difference, paths, reaches, union, without
from winkube.apiserver.item import Item
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.accept import PatchNotes, accept
from winkube.apiserver.registry.core import Registry, check_name, not_found
from winkube.apiserver.registry.create import create
from winkube.apiserver.registry.turns import ATTEMPTS
from winkube.apiserver.registry.update import ModifiedError, Part, require_name, served_form, update
from winkube.apiserver.served import Served
from winkube.apiserver.yaml_document import YamlObject
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject

_TREE: Final = PatchNotes(converts=True)
_VERSION: Final = "resourceVersion"


async def apply(
    registry: Registry,
    served: Served,
    place: tuple[str, str],
    document: Any,
    options: WriteOptions,
    part: Part,
) -> tuple[Item, bool]:
    """The object and whether it is new."""
    check_name(place[1])
    where = f"({_place(document)}; {_gvk(served.kind)})"
    wanted = await registry.work(
        options, _configuration, registry.schema, served.kind, document, place, options
    )
    owner = Owner(options.field_manager, "Apply", served.kind.api_version, part.name)
    key = served.key(*place)
    for attempt in range(ATTEMPTS):
        async with registry.turns.take(key, attempt):
            item = served.cache.get(key)
            if item is None:
                if part.name:
                    raise not_found(served, place[1])
                return await _create(registry, served, place, wanted, options, where), True
            live = await registry.work(options, served_form, served, item)
            new = await registry.work(
                options, _merged, registry, served.kind, live, wanted, owner, force=options.force
            )
            owners = new["metadata"]["managedFields"]
            new = await registry.work(
                options, _converted, registry, served.kind, new, where, options
            )
            new["metadata"]["managedFields"] = owners
            require_name(new, place[1])
            try:
                return await update(registry, served, item, new, options, part), False
            except ModifiedError:
                if attempt == ATTEMPTS - 1:
                    raise
    raise AssertionError("the loop returns or raises")


def _configuration(
    schema: Schema, kind: Kind, document: Any, place: tuple[str, str], options: WriteOptions
) -> JsonObject:
    document = {} if document is None else document
    if not isinstance(document, dict):
        raise BadRequestError(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot "
            f"unmarshal {json_name(document)} into Go value of type map[string]interface {{}}"
        )
    if document.get("kind") != kind.kind or document.get("apiVersion") != kind.api_version:
        group, _, version = str(document.get("apiVersion") or "").rpartition("/")
        found = f"{group}/{version}, Kind={document.get('kind') or ''}"
        raise BadRequestError(f"invalid object type: {found}")
    metadata = document.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields"):
        raise BadRequestError("metadata.managedFields must be nil")
    _check(schema, kind, document)
    _complete_name(document, place[1])
    _check_repeated(document, options)
    return {**document}


def _complete_name(document: JsonObject, wanted: str) -> None:
    """A name that is wrong is found out when the object is complete."""
    if document.get("metadata") is None:
        document["metadata"] = {}
    document["metadata"].setdefault("name", wanted)


def _check_repeated(document: JsonObject, options: WriteOptions) -> None:
    """Keys that stand twice matter only when the fields themselves are sound."""
    repeated = document.repeated if isinstance(document, YamlObject) else ()
    if not repeated or options.field_validation == "Ignore":
        return
    if options.field_validation == "Strict":
        lines = "".join(f"\n  {line}" for line in repeated)
        fault = f"error converting YAML to JSON: yaml: unmarshal errors:{lines}"
        raise BadRequestError(f"error strict decoding YAML: {fault}")
    options.warnings.extend(repeated)


def _check(schema: Schema, kind: Kind, document: JsonObject) -> None:
    problems = schema_problems(_shape(schema, kind), document)
    if problems:
        raise UnexplainedError(
            f"failed to create typed patch object ({_place(document)}; {_gvk(kind)}): "
            + _listed(problems)
        )


def _converted(
    registry: Registry, kind: Kind, document: JsonObject, where: str, options: WriteOptions
) -> JsonObject:
    """The tree that somebody's wish made, as an object of its kind."""
    try:
        return accept(registry.schema, kind, document, options, patch=_TREE)
    except UndecodableError as error:
        group = f"{kind.group}/{kind.version}" if kind.group else f"/{kind.version}"
        raise UnexplainedError(
            f"failed to convert new object {where} to proper version: unable to convert "
            f"unstructured object to {group}, Kind={kind.kind}: {error.fault}"
        ) from error


def _listed(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else "errors:\n" + "\n".join(f"  {t}" for t in texts)


def _place(document: Any) -> str:
    metadata = document.get("metadata") if isinstance(document, dict) else None
    fields = metadata if isinstance(metadata, dict) else {}
    texts = (fields.get(key) for key in ("namespace", "name"))
    return "/".join(text if isinstance(text, str) else "" for text in texts)


def _gvk(kind: Kind) -> str:
    return f"{kind.group}/{kind.version}, Kind={kind.kind}"


async def _create(
    registry: Registry,
    served: Served,
    place: tuple[str, str],
    wanted: JsonObject,
    options: WriteOptions,
    where: str,
) -> Item:
    obj = await registry.work(options, _made, registry, served.kind, wanted, options, where)
    require_name(obj, place[1])
    return await create(registry, served, place[0], obj, options)


def _made(
    registry: Registry, kind: Kind, wanted: JsonObject, options: WriteOptions, where: str
) -> JsonObject:
    shape = _shape(registry.schema, kind)
    owner = Owner(options.field_manager, "Apply", kind.api_version)
    fields = stated_fields(shape, wanted, "")
    now = to_rfc3339(registry.clock.now())
    metadata = {key: wanted["metadata"][key] for key in wanted["metadata"] if key != _VERSION}
    made = {**wanted, "metadata": metadata}
    obj = _converted(registry, kind, made, where, options)
    managers: Managers = {owner: (fields, now)}
    write_managers(obj["metadata"], managers)
    return obj


def _merged(
    registry: Registry,
    kind: Kind,
    live: JsonObject,
    wanted: JsonObject,
    owner: Owner,
    *,
    force: bool,
) -> JsonObject:
    shape = _shape(registry.schema, kind)
    now = to_rfc3339(registry.clock.now())
    managers = read_managers(live["metadata"])
    if not managers:
        managers[Owner(BEFORE, "Update", kind.api_version)] = (stated_fields(shape, live, ""), now)
    mine, since = managers.pop(owner, (None, ""))
    fields = stated_fields(shape, wanted, owner.subresource)
    new: JsonObject = merge(shape, live, wanted)
    kept = fields
    for theirs, _ in managers.values():
        kept = union(kept, theirs)
    # What holds something that somebody still owns stays, whoever left it.
    left = paths(difference(mine, kept))
    remove(shape, new, [path for path in left if not reaches(kept, path)])
    # What a part of an object may not change is no change.
    fixed = ("f:spec" if owner.subresource == "status" else "f:status",)
    differs = changes(shape, live, new)
    changed, removed = (without(tree, fixed) for tree in differs)
    found = conflicts(changed, managers)
    if found and not force:
        raise conflict_error(found)
    take_over(managers, union(changed, removed))
    # Who changes nothing leaves no time, as upstream's library has it.
    managers[owner] = (fields, since if differs == (None, None) else now)
    new["metadata"] = dict(new["metadata"])
    write_managers(new["metadata"], managers)
    return new


def _shape(schema: Schema, kind: Kind) -> Shape:
    definition = schema.for_kind(kind.gvk)
    if definition is None:
        raise BadRequestError(f"{kind.kind} cannot be applied: it has no schema")
    return definition.shape
