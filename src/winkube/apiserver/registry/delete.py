"""Delete: preconditions, grace, propagation, finalizers; and deletion of a whole collection.

An object with finalizers, or a running pod, is only marked; whoever removes the last finalizer, or
the kubelet with a grace period of zero, makes it go.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from winkube.api.errors import (
    BadRequestError,
    Cause,
    ConflictError,
    InvalidError,
    NotFoundError,
    UnexplainedError,
)
from winkube.api.patch import json_name
from winkube.api.validation.problems import Problems
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.item import Item
from winkube.apiserver.options import WriteOptions, parse_bool
from winkube.apiserver.registry.core import Registry, get
from winkube.apiserver.registry.update import ModifiedError, delete_now, modified, store_update
from winkube.apiserver.served import Served
from winkube.apiserver.storage import preview
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject

ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
_POLICIES: Final = ("Orphan", "Background", "Foreground")
_POLICY_NAMES: Final = ("Foreground", "Background", "Orphan", "nil")
_ATTEMPTS: Final = 16
_ORPHANING: Final = frozenset({("", "replicationcontrollers"), ("batch", "jobs")})


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
        asked = query.get("dryRun")
        dry_run = _dry_run(body.get("dryRun")) if body else [asked] if asked else []
        options = cls(
            grace=_grace(source.get("gracePeriodSeconds")),
            policy=source.get("propagationPolicy") or "",
            orphan=_orphan(source.get("orphanDependents")),
            uid=preconditions.get("uid"),
            resource_version=preconditions.get("resourceVersion"),
            dry_run=bool(dry_run),
        )
        options.check(dry_run)
        return options

    @property
    def said(self) -> JsonObject:
        """As the options of the request show it to webhooks."""
        named = {"uid": self.uid, "resourceVersion": self.resource_version}
        preconditions = {key: value for key, value in named.items() if value is not None}
        found = {
            "gracePeriodSeconds": self.grace,
            "preconditions": preconditions or None,
            "orphanDependents": self.orphan,
            "propagationPolicy": self.policy or None,
        }
        return {key: value for key, value in found.items() if value is not None}

    @property
    def says_propagation(self) -> bool:
        return bool(self.policy) or self.orphan is not None

    def check(self, dry_run: list[Any]) -> None:
        causes: list[Cause] = []
        if self.policy and self.policy not in _POLICIES:
            names = ", ".join(f'"{name}"' for name in _POLICY_NAMES)
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
        if any(entry != "All" for entry in dry_run):
            problems = Problems()
            problems.unsupported("dryRun", dry_run, ["All"])
            causes += problems.causes
        if causes:
            raise InvalidError.of("DeleteOptions", "", causes, group="meta.k8s.io")


def _grace(value: Any) -> int | None:
    if value is None or value == "":
        return None
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise BadRequestError(f'strconv.ParseInt: parsing "{value}": invalid syntax') from None
    # Negative means "at once", with the kubelet still asked (upstream: 1).
    return 1 if number < 0 else number


def _orphan(value: Any) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    return parse_bool(str(value))


def _dry_run(said: Any) -> list[Any]:
    if said and not isinstance(said, list):
        target = "Go struct field DeleteOptions.dryRun of type []string"
        raise UnexplainedError(f"json: cannot unmarshal {json_name(said)} into {target}")
    return said or []


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
    grace = _grace_of(served, obj, options)
    previous = metadata.get("deletionGracePeriodSeconds")
    if not metadata.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = to_rfc3339(now + grace)
        if metadata.get("generation"):
            metadata["generation"] += 1
        if served.kind.plural == "namespaces":
            obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
        else:
            metadata["deletionGracePeriodSeconds"] = grace
    elif previous is not None and grace < previous and options.grace is not None:
        # A second, shorter deletion brings the moment forward; a longer one changes nothing.
        metadata["deletionTimestamp"] = to_rfc3339(now + grace)
        metadata["deletionGracePeriodSeconds"] = grace
    return bool(metadata != before)


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
