"""Update: carry over what belongs to the system, admit, prepare by kind, validate, judge, store.

An update of an object that is being deleted and has lost its last finalizer deletes it.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import orjson

from winkube.api.errors import BadRequestError, ConflictError, InvalidError
from winkube.api.kinds import Kind
from winkube.api.roundtrip import as_given
from winkube.api.validation import validate_update
from winkube.api.validation.problems import Problems
from winkube.api.warnings.rules import warnings_on_update
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.apply.managers import track_update
from winkube.apiserver.apply.owner import author, differ_in_times
from winkube.apiserver.apply.reset import reset_fields
from winkube.apiserver.form.conversion import as_reread, to_served, to_stored
from winkube.apiserver.item import Item
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.core import MODIFIED, Registry, judged_group
from winkube.apiserver.registry.empties import with_empties
from winkube.apiserver.registry.forms import changes_by_version
from winkube.apiserver.registry.hook import nothing_to_finish as _keep
from winkube.apiserver.registry.owners import drop_repeated_owners
from winkube.apiserver.registry.prepare import prepare_status, prepare_update
from winkube.apiserver.registry.signing import complete_signing_request
from winkube.apiserver.registry.strategy import needs_version
from winkube.apiserver.registry.version import parse_version
from winkube.apiserver.registry.volumes import time_phase
from winkube.apiserver.served import Served
from winkube.apiserver.storage import preview
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject

Prepare = Callable[[Kind, JsonObject, JsonObject], None]


@dataclass(frozen=True, slots=True)
class Part:
    """Which part of an object a write is about, and what it keeps of the old one."""

    name: str
    prepare: Prepare
    tracked: bool = True  # whether writing it moves owners; otherwise the writer has moved them


WHOLE: Final = Part("", prepare_update)
STATUS: Final = Part("status", prepare_status)


class Read(NamedTuple):
    """An object that is to be replaced, as it is served."""

    item: Item
    obj: JsonObject


# What stays as it is whatever a write says; the rest of these may be left out of it.
_CARRIED: Final = ("creationTimestamp", "generation", "namespace")
_KEPT: Final = ("uid", "deletionGracePeriodSeconds")


class ModifiedError(ConflictError):
    """Lost a race against another writer: who has no resourceVersion at stake may try again."""


async def update(
    registry: Registry,
    served: Served,
    found: "Item | Read",
    new: JsonObject,
    options: WriteOptions,
    part: Part = WHOLE,
) -> Item:
    """Replace what the caller has found, whose name it resolved, and which it may have read."""
    if not isinstance(found, Read):
        found = Read(found, await registry.work(options, served_form, served, found))
    old_item, old = found
    check_identity(served, new, old_item)
    _carry_over(new, old)
    # What admission changes belongs to nobody.
    await registry.work(options, _track, registry, served, (old, new), options, part)
    request = Admission(
        "UPDATE",
        served,
        old_item.namespace,
        old_item.name,
        options.user,
        new,
        old,
        part.name,
        options.dry_run,
        options=options.said,
        warnings=options.warnings,
        asks=part.name != "scale",
    )
    await registry.admission.admit(request)
    drop_repeated_owners(new, options.warnings, admitted=True)
    whole = part is WHOLE
    finish = registry.begin(served, new, old, dry_run=options.dry_run) if whole else _keep
    stored = False
    try:
        await registry.work(options, _complete, registry, request, options, part)
        await registry.admission.validate(request)
        stored_form = await registry.work(options, to_stored, served, new)
        item = await store_update(registry, served, old_item, stored_form, options)
        stored = True
        return item
    finally:
        finish(stored)
        if request.undo and not stored:
            await request.give_back()


def _complete(registry: Registry, request: Admission, options: WriteOptions, part: Part) -> None:
    """Prepared and validated by its kind."""
    kind, new, old = request.served.kind, request.obj, request.old
    assert new is not None
    assert old is not None
    managers = new["metadata"].get("managedFields")
    part.prepare(kind, new, old)
    if options.gives_empty and part is WHOLE:
        new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1
    _keep_managers(new["metadata"], managers)
    complete_signing_request(kind, new, old, part=part.name, clock=registry.clock)
    time_phase(kind, new, old, part=part.name, clock=registry.clock)
    if differ_in_times(new, old):
        new["metadata"]["managedFields"] = old["metadata"]["managedFields"]
    validate = functools.partial(validate_update, kind, new, old, part=part.name)
    causes = validate()
    if causes:
        causes = with_empties(causes, options.emptied, validate)
        raise InvalidError.of(kind.kind, request.name, causes, group=judged_group(kind))
    options.warnings.extend(warnings_on_update(kind, new, old, part=part.name))


def _track(
    registry: Registry,
    served: Served,
    states: tuple[JsonObject, JsonObject],
    options: WriteOptions,
    part: Part,
) -> None:
    """Keep managedFields true, for objects that have them; an apply has done so itself."""
    old, new = states
    kind = served.kind
    definition = registry.schema.for_kind(kind.gvk)
    if definition is not None and part.tracked and not options.applies:
        owner = author(options.manager, kind.api_version, part.name)
        now = to_rfc3339(registry.clock.now())
        with as_given(options.emptied):
            seen = as_reread(served, new)
            reset = reset_fields(kind, part.name)
            found = changes_by_version(registry.schema, kind, (old, seen), reset)
            track_update(found, old, seen, owner, now)
            new["metadata"]["managedFields"] = seen["metadata"]["managedFields"]
    _keep_managers(new["metadata"], new["metadata"].get("managedFields"))


def _keep_managers(metadata: JsonObject, managers: list[JsonObject] | None) -> None:
    if managers:
        metadata["managedFields"] = managers
    else:
        metadata.pop("managedFields", None)


def served_form(served: Served, item: Item) -> JsonObject:
    return to_served(served, item.load())


def check_identity(served: Served, new: JsonObject, item: Item) -> None:
    metadata = new["metadata"]
    name = metadata.get("name")
    if name is not None and name != item.name:
        raise BadRequestError(
            f"the name of the object ({name}) does not match the name on the URL ({item.name})"
        )
    metadata["name"] = item.name
    require_namespace(new, item.namespace)
    kind = served.kind
    version = metadata.get("resourceVersion")
    if version and version not in ("0", str(item.revision)):
        parse_version(version)
        raise ConflictError.of(kind.plural, item.name, MODIFIED, group=kind.group)


def require_identity(served: Served, new: JsonObject, item: Item, *, dry_run: bool = False) -> None:
    """Who replaces an object names it; a uid has to be the one it has."""
    metadata, kind = new["metadata"], served.kind
    require_place(new, (item.namespace, item.name))
    if needs_version(kind) and metadata.get("resourceVersion") in (None, "", "0"):
        problems = Problems()
        problems.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise InvalidError.of(kind.plural, item.name, problems.causes, group=kind.group)
    uid = metadata.get("uid")
    if uid:
        current = item.load()["metadata"].get("uid") or ""
        require_uid(served, (item.namespace, item.name), (uid, current), dry_run=dry_run)


def require_uid(
    served: Served, place: tuple[str, str], uids: tuple[str, str], *, dry_run: bool
) -> None:
    """The uid that is given is the one the object has; what is not there yet has none."""
    given, current = uids
    if given != current:
        # Of a trial the store is not asked, which would know its own prefix.
        key = served.key(*place)
        shown = key.removeprefix("/registry") if dry_run else key
        cause = (
            f"StorageError: invalid object, Code: 4, Key: {shown}, ResourceVersion: 0, "
            "AdditionalErrorMsg: Precondition failed: "
            f"UID in precondition: {given}, UID in object meta: {current}"
        )
        kind = served.kind
        raise ConflictError.of(kind.plural, place[1], cause, group=kind.group)


def require_place(new: JsonObject, place: tuple[str, str]) -> None:
    """The object is the one that was asked for, by its namespace and then by its name."""
    require_namespace(new, place[0])
    require_name(new, place[1])


def require_namespace(new: JsonObject, namespace: str) -> None:
    """Objects that belong to no namespace lose what they say about one."""
    if not namespace:
        new["metadata"].pop("namespace", None)
    elif new["metadata"].get("namespace") not in (None, "", namespace):
        raise BadRequestError(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def require_name(new: JsonObject, name: str) -> None:
    given = new["metadata"].get("name")
    if not given:
        raise BadRequestError(
            f"the name of the object ({name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if given != name:
        raise BadRequestError(
            f"the name of the object ({given}) does not match the name on the URL ({name})"
        )


def _carry_over(new: JsonObject, old: JsonObject) -> None:
    fresh, kept = new["metadata"], old["metadata"]
    fresh.pop("selfLink", None)
    for name in _CARRIED:
        if name in kept:
            fresh[name] = kept[name]
        else:
            fresh.pop(name, None)
    for name in _KEPT:
        if name in kept and fresh.get(name) in (None, ""):
            fresh[name] = kept[name]
    if "deletionTimestamp" in kept:
        fresh["deletionTimestamp"] = kept["deletionTimestamp"]
    fresh["resourceVersion"] = kept.get("resourceVersion")
    if "managedFields" in kept and "managedFields" not in fresh:
        fresh["managedFields"] = kept["managedFields"]


async def store_update(
    registry: Registry, served: Served, old_item: Item, new: JsonObject, options: WriteOptions
) -> Item:
    """Write a validated object, or delete it if nothing holds it any more."""
    if await registry.work(options, _is_copy, new, old_item):
        return old_item
    if is_released(new):
        return await _remove(registry, served, old_item, new, options)
    if options.dry_run:
        return preview(old_item, served, new)
    item = await registry.storage.update(served, old_item, new, applied=options.applies)
    if item is None:
        raise modified(served, old_item.name)
    return item


def _is_copy(new: JsonObject, item: Item) -> bool:
    # Texts of different length are no copies: that spares nearly every write the parsing.
    return len(orjson.dumps(new)) == len(item.data) and new == item.load()


async def _remove(
    registry: Registry, served: Served, item: Item, new: JsonObject, options: WriteOptions
) -> Item:
    if not options.dry_run:
        await delete_now(registry, served, item)
    return preview(item, served, new)


async def delete_now(registry: Registry, served: Served, item: Item) -> Item:
    """Take the object out of the store; its addresses and ports become free."""
    finish = registry.begin(served, None, item)
    gone: Item | None = None
    try:
        gone = await registry.storage.delete(served, item)
        if gone is None:
            raise modified(served, item.name)
        return gone
    finally:
        finish(gone is not None)


def is_released(obj: JsonObject) -> bool:
    """Being deleted, past its grace period, and without finalizers."""
    metadata = obj["metadata"]
    return bool(
        metadata.get("deletionTimestamp")
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
        and not _namespace_finalizers(obj)
    )


def _namespace_finalizers(obj: JsonObject) -> bool:
    is_namespace = obj.get("kind") == "Namespace" and obj.get("apiVersion") == "v1"
    return is_namespace and bool((obj.get("spec") or {}).get("finalizers"))


def modified(served: Served, name: str) -> ModifiedError:
    kind = served.kind
    error = ConflictError.of(kind.plural, name, MODIFIED, group=kind.group)
    return ModifiedError(error.message, details=error.details)
