"""Server-side apply: create or merge, with owners kept in managedFields."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from winkube.api.decode import clone
from winkube.api.errors import BadRequestError, ConflictError, UndecodableError, UnexplainedError
from winkube.api.kinds import Kind
from winkube.api.patch import json_name
from winkube.api.schema import Schema, Shape
from winkube.apiserver.apply.declared import live_problems, schema_problems, without_truths
from winkube.apiserver.apply.element import KeylessError
from winkube.apiserver.apply.given import known_managers
from winkube.apiserver.apply.last_applied import MANAGER, disputed, renew_note
from winkube.apiserver.apply.managers import (
    BEFORE,
    changes,
    conflict_error,
    conflicts,
    differ,
    present_fields,
    stated_fields,
    take_over,
)
from winkube.apiserver.apply.merge import merge, remove
from winkube.apiserver.apply.owner import (
    Held,
    Managers,
    Owner,
    applier,
    author,
    read_managers,
    write_managers,
)
from winkube.apiserver.apply.reset import Reset, reset_fields
from winkube.apiserver.apply.tree import Tree, difference, paths, reaches, union
from winkube.apiserver.form.conversion import as_version
from winkube.apiserver.item import Item
from winkube.apiserver.media.yaml_document import YamlObject
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.accept import PatchNotes, accept
from winkube.apiserver.registry.core import Registry, check_name, not_found
from winkube.apiserver.registry.create import create
from winkube.apiserver.registry.forms import changes_by_version, form_shape
from winkube.apiserver.registry.turns import ATTEMPTS
from winkube.apiserver.registry.update import (
    ModifiedError,
    Part,
    require_place,
    served_form,
    update,
)
from winkube.apiserver.served import Served
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject

_TREE: Final = PatchNotes(converts=True)
_VERSION: Final = "resourceVersion"


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody applies: of which kind, and named in messages by ``where``."""

    kind: Kind
    body: JsonObject
    where: str


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
    wish = await registry.work(options, read_wish, registry.schema, served.kind, document, options)
    key = served.key(*place)
    for attempt in range(ATTEMPTS):
        async with registry.turns.take(key, attempt):
            item = served.cache.get(key)
            if item is None:
                if part.name:
                    raise not_found(served, place[1])
                return await _create(registry, served, place, wish, options), True
            live = await registry.work(options, served_form, served, item)
            new = await registry.work(options, granted, registry, wish, live, options, part.name)
            require_place(new, place)
            try:
                return await update(registry, served, item, new, options, part), False
            except ModifiedError:
                if attempt == ATTEMPTS - 1:
                    raise
    raise AssertionError("the loop returns or raises")


def read_wish(schema: Schema, kind: Kind, document: Any, options: WriteOptions) -> Wish:
    where = f"({_place(document)}; {_gvk(kind)})"
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
    if isinstance(metadata, dict) and _are_entries(metadata.get("managedFields")):
        raise BadRequestError("metadata.managedFields must be nil")
    _check(schema, kind, document)
    if metadata is None:
        document["metadata"] = {}
    _check_repeated(document, options)
    return Wish(kind, {**document}, where)


def _are_entries(managers: Any) -> bool:
    return isinstance(managers, list) and all(isinstance(entry, dict) for entry in managers)


def granted(
    registry: Registry, wish: Wish, live: JsonObject, options: WriteOptions, part: str
) -> JsonObject:
    """The live object with what is wished for, and its owners."""
    owner = applier(options.field_manager, part)
    reset = reset_fields(wish.kind, part)
    try:
        merged = _merged(registry, wish, live, owner, reset, force=options.force)
        owners = merged["metadata"]["managedFields"]
        new = _converted(registry, wish, merged, options)
    except KeylessError as error:
        problems = live_problems(_shape(registry.schema, wish.kind), live)
        raise _unowned(wish.kind, live, _listed(problems)) from error
    except (ConflictError, UnexplainedError):
        # Conflicts come first, and true for a number is one, though Python takes it for a 1.
        body = without_truths(_shape(registry.schema, wish.kind), wish.body)
        _merged(registry, replace(wish, body=body), live, owner, reset, force=options.force)
        raise
    new["metadata"]["managedFields"] = owners
    if options.field_manager == MANAGER:
        renew_note(new, wish.body)
    return new


def _unowned(kind: Kind, live: JsonObject, fault: str) -> UnexplainedError:
    where = f"({_place(live)}; {_gvk(kind)})"
    if live["metadata"].get("managedFields"):
        return UnexplainedError(f"failed to create typed live object {where}: {fault}")
    return UnexplainedError(
        "failed to create manager for existing fields: failed to convert new object "
        f"{where} to smd typed: {fault}"
    )


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
    registry: Registry, wish: Wish, document: JsonObject, options: WriteOptions
) -> JsonObject:
    """The tree that somebody's wish made, as an object of its kind."""
    kind = wish.kind
    try:
        return accept(registry.schema, kind, document, options, patch=_TREE)
    except UndecodableError as error:
        group = f"{kind.group}/{kind.version}" if kind.group else f"/{kind.version}"
        raise UnexplainedError(
            f"failed to convert new object {wish.where} to proper version: unable to convert "
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
    wish: Wish,
    options: WriteOptions,
) -> Item:
    obj = await registry.work(options, _made, registry, wish, options)
    uid = obj["metadata"].get("uid")
    if uid:
        cause = (
            f"uid mismatch: the provided object specified uid {uid}, "
            "and no existing object was found"
        )
        raise ConflictError.of(served.kind.plural, place[1], cause, group=served.kind.group)
    require_place(obj, place)
    return await create(registry, served, place[0], obj, options)


def _made(registry: Registry, wish: Wish, options: WriteOptions) -> JsonObject:
    kind, wanted = wish.kind, wish.body
    fields = stated_fields(_shape(registry.schema, kind), wanted, reset_fields(kind, ""))
    now = to_rfc3339(registry.clock.now())
    metadata = {key: wanted["metadata"][key] for key in wanted["metadata"] if key != _VERSION}
    obj = _converted(registry, wish, {**wanted, "metadata": metadata}, options)
    owner = applier(options.field_manager)
    write_managers(obj["metadata"], {owner: Held(fields, now, kind.api_version)})
    if options.field_manager == MANAGER:
        renew_note(obj, wanted)
    return obj


def _merged(
    registry: Registry, wish: Wish, live: JsonObject, owner: Owner, reset: Reset, *, force: bool
) -> JsonObject:
    shape, version = _shape(registry.schema, wish.kind), wish.kind.api_version
    now = to_rfc3339(registry.clock.now())
    managers = read_managers(live["metadata"])
    if managers:
        managers = known_managers(managers, version) or {}
    else:
        before = author(BEFORE, version, owner.subresource)
        managers[before] = Held(present_fields(shape, live, reset), now, version)
    mine = managers.pop(owner, Held(None, "", version))
    fields = stated_fields(shape, wish.body, reset)
    merged = merge(shape, clone(live), wish.body)
    if mine.fields is not None:
        wishes = {**managers, owner: Held(fields, "", version)}
        merged = _pruned(registry.schema, wish.kind, merged, mine, wishes)
    new: JsonObject = merged
    changes_in = changes_by_version(registry.schema, wish.kind, (live, new), reset)
    found = conflicts(managers, changes_in)
    if found and not force:
        if owner.manager == MANAGER:
            found = disputed(shape, live, version, found)
        if found:
            raise conflict_error(found)
    take_over(managers, changes_in)
    # Who changes nothing leaves no time, as upstream's library has it.
    since = now if differ(shape, live, new) else mine.time
    managers[owner] = Held(fields, since, version)
    new["metadata"] = dict(new["metadata"])
    write_managers(new["metadata"], managers)
    return new


def _pruned(
    schema: Schema, kind: Kind, merged: JsonObject, mine: Held, wishes: Managers
) -> JsonObject:
    """Without what its applier wished for once and nobody wishes for or owns any longer.

    That was told in the version of back then; what else anybody owns is of any version.
    """
    then = mine.version
    pruned = as_version(kind, merged, then)
    if pruned is merged:
        _prune(form_shape(schema, kind, then), merged, mine.fields, wishes.values())
        return merged
    same = [held for held in wishes.values() if held.version == then]
    _prune(form_shape(schema, kind, then), pruned, mine.fields, same)
    group, _, number = then.rpartition("/")
    back = as_version(replace(kind, group=group, version=number), pruned, kind.api_version)
    shape = _shape(schema, kind)
    _, gone = changes(shape, merged, back)
    others = [held for held in wishes.values() if held.version == kind.api_version]
    _prune(shape, merged, gone, others)
    return merged


def _prune(shape: Shape, obj: JsonObject, fields: Tree | None, wishes: Iterable[Held]) -> None:
    """What holds something that somebody still owns stays, whoever left it."""
    kept: Tree | None = None
    for held in wishes:
        kept = union(kept, held.fields)
    left = paths(difference(fields, kept))
    remove(shape, obj, [path for path in left if not reaches(kept, path)])


def _shape(schema: Schema, kind: Kind) -> Shape:
    definition = schema.for_kind(kind.gvk)
    if definition is None:
        raise BadRequestError(f"{kind.kind} cannot be applied: it has no schema")
    return definition.shape
