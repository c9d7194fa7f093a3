"""Delete: preconditions, grace, propagation, finalizers; and deletion of a whole collection.

An object with finalizers, or a running pod, is only marked; whoever removes the last finalizer, or
the kubelet with a grace period of zero, makes it go.
"""

from dataclasses import dataclass
from typing import Final

from winkube.api.errors import ConflictError, NotFoundError
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.delete_options import DeleteOptions
from winkube.apiserver.item import Item
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.core import Registry, get
from winkube.apiserver.registry.update import ModifiedError, delete_now, modified, store_update
from winkube.apiserver.served import Served
from winkube.apiserver.storage import preview
from winkube.base.clock import parse_rfc3339, to_rfc3339
from winkube.base.types import JsonObject

ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
_ATTEMPTS: Final = 16
_NANO: Final = 10**9
_ORPHANING: Final = frozenset({("", "replicationcontrollers"), ("batch", "jobs")})


@dataclass(frozen=True, slots=True)
class Deletion:
    """What became of the object: ``gone`` at once, or marked."""

    item: Item
    gone: bool


async def delete(
    registry: Registry,
    served: Served,
    place: tuple[str, str],
    options: DeleteOptions,
    write: WriteOptions,
    *,
    asks: bool = True,
) -> Deletion:
    for attempt in range(_ATTEMPTS):
        item = get(served, *place)
        try:
            return await _delete_once(registry, served, item, options, write, asks=asks)
        except ModifiedError:
            if attempt == _ATTEMPTS - 1:
                raise
    raise NotFoundError.of(served.kind.plural, place[1], group=served.kind.group)


async def _delete_once(
    registry: Registry,
    served: Served,
    item: Item,
    options: DeleteOptions,
    write: WriteOptions,
    *,
    asks: bool,
) -> Deletion:
    obj = item.load()
    _check_preconditions(served, item, obj, options)
    request = Admission(
        "DELETE",
        served,
        item.namespace,
        item.name,
        write.user,
        None,
        obj,
        dry_run=options.dry_run,
        options=options.said,
        warnings=write.warnings,
        asks=asks,
    )
    await registry.admission.admit(request)
    await registry.admission.validate(request)
    marked = item.load()
    now = registry.clock.now()
    changed = plan_deletion(served, marked, options, now)
    if not is_held(marked):
        if options.dry_run:
            shown = preview(item, served, marked) if _dies_gracefully(served) else item
            return Deletion(shown, gone=True)
        if changed and _dies_gracefully(served):
            # Everybody sees the mark first, also of a pod that goes at once.
            marking = await registry.storage.update(served, item, marked)
            if marking is None:
                raise modified(served, item.name)
            item = marking
        return Deletion(await delete_now(registry, served, item), gone=True)
    if not changed:
        return Deletion(item, gone=False)
    if options.dry_run:
        return Deletion(preview(item, served, marked), gone=False)
    return Deletion(await store_update(registry, served, item, marked, write), gone=False)


def _check_preconditions(
    served: Served, item: Item, obj: JsonObject, options: DeleteOptions
) -> None:
    current = obj["metadata"].get("uid")
    if options.uid is not None and options.uid != current:
        cause = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record "
            f"({current}). The object might have been deleted and then recreated"
        )
    elif options.resource_version not in (None, str(item.revision)):
        cause = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match "
            f"the ResourceVersion in record ({item.revision}). The object might have been modified"
        )
    else:
        return
    kind = served.kind
    raise ConflictError.of(kind.kind, item.name, cause, group=kind.group)


def plan_deletion(served: Served, obj: JsonObject, options: DeleteOptions, now: float) -> bool:
    """Mark ``obj`` as this request asks; False when it already says so."""
    before = dict(obj["metadata"])
    metadata = obj["metadata"]
    _set_propagation(metadata, options, orphan=_orphans_by_default(served))
    if not metadata.get("deletionTimestamp"):
        grace = _grace_of(served, obj, options)
        metadata["deletionTimestamp"] = to_rfc3339(now + _lasting(grace))
        if metadata.get("generation"):
            metadata["generation"] += 1
        if served.kind.plural == "namespaces":
            obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
        else:
            metadata["deletionGracePeriodSeconds"] = grace
    elif options.grace is not None:
        _shorten(metadata, options.grace, now)
    return bool(metadata != before)


def _shorten(metadata: JsonObject, grace: int, now: float) -> None:
    """A shorter grace counts from the first deletion; a longer one changes nothing.

    One that would have ended already ends now, and still gracefully if it was one at all.
    """
    previous = metadata.get("deletionGracePeriodSeconds") or 0
    if grace >= previous:
        return
    began = parse_rfc3339(metadata["deletionTimestamp"]) + _lasting(-previous)
    moment = began + _lasting(grace)
    if moment < now:
        moment, grace = now, min(grace, 1)
    metadata["deletionTimestamp"] = to_rfc3339(moment)
    metadata["deletionGracePeriodSeconds"] = grace


def _lasting(seconds: int) -> float:
    """As Go counts, in nanoseconds of 64 bits: ages are over soon, or before they began."""
    return ((seconds * _NANO + 2**63) % 2**64 - 2**63) / _NANO


def _orphans_by_default(served: Served) -> bool:
    """Their dependents have always been kept unless the request says otherwise."""
    return (served.kind.group, served.kind.plural) in _ORPHANING


def _set_propagation(metadata: JsonObject, options: DeleteOptions, *, orphan: bool) -> None:
    policy = options.policy
    held = {ORPHAN, FOREGROUND} & set(metadata.get("finalizers") or [])
    if orphan and not policy and options.orphan is None and not held:
        policy = "Orphan"
    if options.orphan is not None:
        policy = "Orphan" if options.orphan else "Background"
    finalizers = list(metadata.get("finalizers") or [])
    if not policy:
        return  # the default is background: what the object says already stays
    wanted = {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(policy)
    kept = [entry for entry in finalizers if entry not in (ORPHAN, FOREGROUND)]
    if wanted:
        kept.append(wanted)
    if kept:
        metadata["finalizers"] = kept
    else:
        metadata.pop("finalizers", None)


def _dies_gracefully(served: Served) -> bool:
    return served.kind.plural == "pods" and not served.kind.group


def _grace_of(served: Served, obj: JsonObject, options: DeleteOptions) -> int:
    """Only pods die gracefully; one that never reached a node, or has ended, goes at once."""
    if not _dies_gracefully(served):
        return 0
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
        return 0
    if options.grace is not None:
        return options.grace
    default = spec.get("terminationGracePeriodSeconds")
    return 30 if default is None else int(default)


def is_held(obj: JsonObject) -> bool:
    metadata = obj["metadata"]
    finalizing = obj.get("kind") == "Namespace" and (obj.get("spec") or {}).get("finalizers")
    return bool(
        metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds") or finalizing
    )
