"""Create: admit, complete the metadata, prepare by kind, validate, judge, store."""

import functools
from typing import Final

from winkube.api.app_armor import sync_profiles
from winkube.api.errors import (
    AlreadyExistsError,
    InvalidError,
    UnexplainedError,
)
from winkube.api.roundtrip import as_given, complete_status
from winkube.api.validation import validate_create
from winkube.api.warnings.rules import warnings_on_create
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.apply.managers import track_creation
from winkube.apiserver.apply.owner import author
from winkube.apiserver.apply.reset import reset_fields
from winkube.apiserver.form.conversion import as_reread, to_stored
from winkube.apiserver.item import Item
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.core import Registry, check_name, judged_group
from winkube.apiserver.registry.empties import with_empties
from winkube.apiserver.registry.hook import Finish, nothing_to_finish
from winkube.apiserver.registry.owners import drop_repeated_owners
from winkube.apiserver.registry.prepare import label_job, prepare_create
from winkube.apiserver.registry.update import require_namespace
from winkube.apiserver.served import Served
from winkube.apiserver.storage import preview
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject

_NAME_ATTEMPTS: Final = 8
_SYSTEM_FIELDS: Final = ("selfLink", "deletionTimestamp", "deletionGracePeriodSeconds")


async def create(
    registry: Registry, served: Served, namespace: str, obj: JsonObject, options: WriteOptions
) -> Item:
    metadata = obj["metadata"]
    _place(served, namespace, obj)
    request = Admission(
        "CREATE",
        served,
        namespace,
        metadata.get("name") or "",
        options.user,
        obj,
        dry_run=options.dry_run,
        options=options.said,
        warnings=options.warnings,
    )
    drop_repeated_owners(obj, options.warnings, admitted=False)
    # What admission adds belongs to nobody.
    await registry.work(options, _track, registry, served, obj, options)
    await registry.admission.admit(request)
    stored = False
    try:
        drop_repeated_owners(obj, options.warnings, admitted=True)
        # A webhook says no more about where an object is, or whether it goes, than its author.
        _place(served, namespace, obj)
        item = await _create(registry, request, options)
        stored = True
        return item
    finally:
        if request.undo and not stored:
            await request.give_back()


def _track(registry: Registry, served: Served, obj: JsonObject, options: WriteOptions) -> None:
    kind = served.kind
    definition = registry.schema.for_kind(kind.gvk)
    if definition is not None and not options.applies:
        owner = author(options.manager, kind.api_version)
        now = to_rfc3339(registry.clock.now())
        reset = reset_fields(kind, "")
        text = options.spec_text
        with as_given(options.emptied):
            seen = as_reread(served, obj)
            track_creation(definition.shape, seen, owner, now, reset=reset, spec_text=text)
            obj["metadata"]["managedFields"] = seen["metadata"]["managedFields"]
    if not obj["metadata"].get("managedFields"):
        obj["metadata"].pop("managedFields", None)


async def _create(registry: Registry, request: Admission, options: WriteOptions) -> Item:
    served, obj = request.served, request.obj
    assert obj is not None
    metadata = obj["metadata"]
    generated = not metadata.get("name") and bool(metadata.get("generateName"))
    finish: Finish = nothing_to_finish
    stored = False
    try:
        for attempt in range(_NAME_ATTEMPTS if generated else 1):
            if generated:
                metadata["name"] = registry.chance.name(metadata["generateName"])
            if attempt == 0:
                finish = registry.begin(served, obj, None, dry_run=options.dry_run)
                await _complete(registry, request, options)
            item = await _store(registry, served, obj, options)
            if item is not None:
                stored = True
                return item
    finally:
        finish(stored)
    raise _exists(served, metadata)


def _exists(served: Served, metadata: JsonObject) -> AlreadyExistsError:
    error = AlreadyExistsError.of(served.kind.plural, metadata["name"], group=served.kind.group)
    item = served.cache.get(served.key(metadata.get("namespace", ""), metadata["name"]))
    if item is not None and item.load()["metadata"].get("deletionTimestamp"):
        error.message = f"object is being deleted: {error.message}"
    return error


def _place(served: Served, namespace: str, obj: JsonObject) -> None:
    if served.kind.namespaced:
        require_namespace(obj, namespace)
        obj["metadata"]["namespace"] = namespace
    else:
        obj["metadata"].pop("namespace", None)
    for name in _SYSTEM_FIELDS:
        obj["metadata"].pop(name, None)


async def _complete(registry: Registry, request: Admission, options: WriteOptions) -> None:
    """Prepared and validated by its kind, then judged by the validating steps."""
    await registry.work(options, _prepare, registry, request, options)
    await registry.admission.validate(request)
    assert request.obj is not None
    await registry.work(options, to_stored, request.served, request.obj)


def _prepare(registry: Registry, request: Admission, options: WriteOptions) -> None:
    served, obj = request.served, request.obj
    assert obj is not None
    metadata = obj["metadata"]
    metadata["uid"] = registry.chance.uid()
    metadata["creationTimestamp"] = to_rfc3339(registry.clock.now())
    prepare_create(served.kind, obj, options.user)
    if served.kind.kind == "Pod":
        options.warnings.extend(sync_profiles(obj))
    else:
        complete_status(registry.schema, served.kind, obj)
    request.name = metadata.get("name") or ""
    validate = functools.partial(validate_create, served.kind, obj)
    causes = validate()
    if causes:
        causes = with_empties(causes, options.emptied, validate)
        raise InvalidError.of(
            served.kind.kind, request.name, causes, group=judged_group(served.kind)
        )
    options.warnings.extend(warnings_on_create(served.kind, obj))
    check_name(request.name)
    if served.kind.kind == "Job":
        label_job(obj, obj)


async def _store(
    registry: Registry, served: Served, obj: JsonObject, options: WriteOptions
) -> Item | None:
    metadata = obj["metadata"]
    key = served.key(metadata.get("namespace", ""), metadata["name"])
    if served.cache.get(key) is not None:
        return None
    if metadata.get("resourceVersion") and not options.dry_run:
        raise UnexplainedError("resourceVersion should not be set on objects to be created")
    if options.dry_run:
        return preview(None, served, obj)
    return await registry.storage.create(served, key, obj, applied=options.applies)
