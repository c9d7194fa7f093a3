"""Delete: preconditions, grace, propagation, finalizers; and deletion of a whole collection.

An object with finalizers, or a running pod, is only marked; whoever removes the last finalizer, or
the kubelet with a grace period of zero, makes it go.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from winkube.api.errors import BadRequestError, Cause, ConflictError, InvalidError, NotFoundError
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.item import Item
from winkube.apiserver.options import WriteOptions, parse_bool
from winkube.apiserver.registry.core import Registry, get
from winkube.apiserver.registry.update import ModifiedError, delete_now, store_update
from winkube.apiserver.served import Served
from winkube.apiserver.storage import preview
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject

ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
_POLICIES: Final = ("Orphan", "Background", "Foreground")
_ATTEMPTS: Final = 16


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    grace: int | None = None
    policy: str = ""
    orphan: bool | None = None
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False

    @classmethod
    def parse(cls, body: JsonObject, query: Mapping[str, str]) -> "DeleteOptions":
        """The body counts; without one the query does."""
        source: Mapping[str, Any] = body or query
        preconditions = body.get("preconditions") or {}
        options = cls(
            grace=_grace(source.get("gracePeriodSeconds")),
            policy=source.get("propagationPolicy") or "",
            orphan=_orphan(source.get("orphanDependents")),
            uid=preconditions.get("uid"),
            resource_version=preconditions.get("resourceVersion"),
            dry_run=_is_dry(body.get("dryRun") or query.get("dryRun") or []),
        )
        options.check()
        return options

    def check(self) -> None:
        causes = []
        if self.policy and self.policy not in _POLICIES:
            names = ", ".join(f'"{name}"' for name in ("Foreground", "Background", "Orphan"))
            causes.append(
                Cause(
                    "FieldValueNotSupported",
                    f'Unsupported value: "{self.policy}": supported values: {names}',
                    "propagationPolicy",
                )
            )
        if self.policy and self.orphan is not None:
            causes.append(
                Cause(
                    "FieldValueInvalid",
                    f'Invalid value: "{self.policy}": orphanDependents and deletionPropagation '
                    "cannot be both set",
                    "propagationPolicy",
                )
            )
        if causes:
            raise InvalidError.of("DeleteOptions", "", causes, group="meta.k8s.io")


def _grace(value: Any) -> int | None:
    if value is None or value == "":
        return None
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise BadRequestError(f"gracePeriodSeconds: {value!r} is not a number") from None
    # Negative means "at once", with the kubelet still asked (upstream: 1).
    return 1 if number < 0 else number


def _orphan(value: Any) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    return parse_bool(str(value))


def _is_dry(value: Any) -> bool:
    values = [value] if isinstance(value, str) else value
    if any(entry != "All" for entry in values):
        raise BadRequestError('dryRun: Unsupported value: supported values: "All"')
    return bool(values)


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
) -> Deletion:
    for attempt in range(_ATTEMPTS):
        item = get(served, *place)
        try:
            return await _delete_once(registry, served, item, options, write)
        except ModifiedError:
            if attempt == _ATTEMPTS - 1:
                raise
    raise NotFoundError.of(served.kind.plural, place[1], group=served.kind.group)


async def _delete_once(
    registry: Registry, served: Served, item: Item, options: DeleteOptions, write: WriteOptions
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
        warnings=write.warnings,
    )
    await registry.admission.admit(request)
    await registry.admission.validate(request)
    marked = item.load()
    now = registry.clock.now()
    changed = plan_deletion(served, marked, options, now)
    if not is_held(marked):
        if options.dry_run:
            return Deletion(preview(item, served, marked), gone=True)
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
            f"Precondition failed: UID in precondition: {options.uid}, "
            f"UID in object meta: {current}"
        )
    elif options.resource_version not in (None, str(item.revision)):
        cause = (
            f"Precondition failed: ResourceVersion in precondition: {options.resource_version}, "
            f"ResourceVersion in object meta: {item.revision}"
        )
    else:
        return
    kind = served.kind
    raise ConflictError.of(kind.plural, item.name, cause, group=kind.group)


def plan_deletion(served: Served, obj: JsonObject, options: DeleteOptions, now: float) -> bool:
    """Mark ``obj`` as this request asks; False when it already says so."""
    before = dict(obj["metadata"])
    metadata = obj["metadata"]
    _set_propagation(metadata, options)
    grace = _grace_of(served, obj, options)
    previous = metadata.get("deletionGracePeriodSeconds")
    if not metadata.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = to_rfc3339(now + grace)
        metadata["deletionGracePeriodSeconds"] = grace
        if metadata.get("generation"):
            metadata["generation"] += 1
        if served.kind.plural == "namespaces":
            obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
    elif previous is not None and grace < previous and options.grace is not None:
        # A second, shorter deletion brings the moment forward; a longer one changes nothing.
        metadata["deletionTimestamp"] = to_rfc3339(now + grace)
        metadata["deletionGracePeriodSeconds"] = grace
    return bool(metadata != before)


def _set_propagation(metadata: JsonObject, options: DeleteOptions) -> None:
    policy = options.policy
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


def _grace_of(served: Served, obj: JsonObject, options: DeleteOptions) -> int:
    """Only pods die gracefully; one that never reached a node, or has ended, goes at once."""
    if served.kind.plural != "pods" or served.kind.group:
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
