"""managedFields: who owns which fields of one object, and how applying and updating move them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from winkube.api.errors import ConflictError
from winkube.api.schema import Shape
from winkube.apiserver.apply.fieldset import (
    FieldSet,
    Path,
    from_fields_v1,
    lookup,
    owned_fields,
    to_fields_v1,
    to_text,
)
from winkube.base.types import JsonObject

# Who owned an object's fields before anybody applied it (upstream's name).
BEFORE: Final = "before-first-apply"
# Belong to the system, or name the object: nobody owns them.
_STRIPPED: Final = frozenset(
    {
        ("f:apiVersion",),
        ("f:kind",),
        ("f:metadata",),
        *(
            ("f:metadata", f"f:{name}")
            for name in (
                "name",
                "namespace",
                "creationTimestamp",
                "selfLink",
                "uid",
                "generation",
                "managedFields",
                "resourceVersion",
                "generateName",
                "deletionTimestamp",
                "deletionGracePeriodSeconds",
            )
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Owner:
    manager: str
    operation: str
    version: str
    subresource: str = ""


Managers = dict[Owner, tuple[FieldSet, str]]  # fields, time


def read_managers(metadata: JsonObject) -> Managers:
    return {
        Owner(
            entry.get("manager", ""),
            entry.get("operation", ""),
            entry.get("apiVersion", ""),
            entry.get("subresource", ""),
        ): (from_fields_v1(entry.get("fieldsV1") or {}), entry.get("time", ""))
        for entry in metadata.get("managedFields") or ()
    }


def write_managers(metadata: JsonObject, managers: Managers) -> None:
    entries = []
    for owner, (fields, time) in managers.items():
        if not fields:
            continue
        entry: JsonObject = {
            "manager": owner.manager,
            "operation": owner.operation,
            "apiVersion": owner.version,
            "time": time,
            "fieldsType": "FieldsV1",
            "fieldsV1": to_fields_v1(fields),
        }
        if owner.subresource:
            entry["subresource"] = owner.subresource
        entries.append(entry)
    entries.sort(key=lambda entry: (entry["operation"], entry["time"], entry["manager"]))
    if entries:
        metadata["managedFields"] = entries
    else:
        metadata.pop("managedFields", None)


def stated_fields(shape: Shape, obj: Any, subresource: str) -> FieldSet:
    """What an author of this part of the object may own."""
    fields = owned_fields(shape, obj) - _STRIPPED
    if subresource == "status":
        return frozenset(path for path in fields if path[0] in ("f:status", "f:metadata"))
    return frozenset(path for path in fields if path[0] != "f:status")


def conflicts(
    shape: Shape, live: Any, wanted: Any, fields: FieldSet, others: Managers
) -> dict[Owner, list[Path]]:
    """Fields that others own and that would get another value."""
    changed = {
        path
        for path in fields
        if _differs(lookup(shape, live, path), lookup(shape, wanted, path), path)
    }
    found = {owner: sorted(theirs & changed) for owner, (theirs, _) in others.items()}
    return {owner: paths for owner, paths in found.items() if paths}


def _differs(live: Any, wanted: Any, path: Path) -> bool:
    if path[-1].startswith(("k:", "v:")):
        return False  # being an element is shared, its fields are not
    return bool(live != wanted)


def conflict_error(found: Mapping[Owner, list[Path]]) -> ConflictError:
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f'conflict with "{owner.manager}"{_using(owner)}',
            "field": to_text(path),
        }
        for owner, paths in found.items()
        for path in paths
    ]
    if len(causes) == 1:
        message = f"Apply failed with 1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        lines = [f"Apply failed with {len(causes)} conflicts:"]
        for owner, paths in found.items():
            head = f'conflicts with "{owner.manager}"{_using(owner)}:'
            lines += [head, *(f"- {to_text(path)}" for path in paths)]
        message = f"{lines[0]} " + "\n".join(lines[1:])
    return ConflictError(message, details={"causes": causes})


def _using(owner: Owner) -> str:
    if owner.operation != "Update":
        return ""
    part = f' with subresource "{owner.subresource}"' if owner.subresource else ""
    return f"{part} using {owner.version}"


def take_over(managers: Managers, fields: FieldSet) -> None:
    """Nobody else owns these any longer."""
    for owner, (theirs, time) in list(managers.items()):
        managers[owner] = (theirs - fields, time)


def track_update(shape: Shape, old: JsonObject, new: JsonObject, owner: Owner, now: str) -> None:
    """A plain write makes its author the owner of what it changed.

    Only for objects somebody has applied: for all others there is nothing to conflict with.
    """
    managers = read_managers(new["metadata"])
    if not managers:
        return
    before = stated_fields(shape, old, owner.subresource)
    after = stated_fields(shape, new, owner.subresource)
    changed = frozenset(
        path
        for path in after
        if path not in before or _differs(lookup(shape, old, path), lookup(shape, new, path), path)
    )
    gone = before - after
    if not changed and not gone:
        return
    take_over(managers, changed | gone)
    mine, _ = managers.get(owner, (frozenset(), ""))
    managers[owner] = (mine | changed, now)
    write_managers(new["metadata"], managers)
