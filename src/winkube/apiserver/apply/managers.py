"""managedFields: who owns which fields of one object, and how applying and updating move them."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from winkube.api.errors import ConflictError
from winkube.api.roundtrip import zero_of
from winkube.api.schema import Shape
from winkube.apiserver.apply.compare import Found, compare, stated
from winkube.apiserver.apply.element import KeylessError, child_shape, to_text
from winkube.apiserver.apply.given import given_managers, known_managers, said_managers
from winkube.apiserver.apply.owner import Held, Managers, Owner, write_managers
from winkube.apiserver.apply.reset import STATUS_RESET, Reset, beside
from winkube.apiserver.apply.tree import Tree, difference, intersection, paths, union
from winkube.base.types import JsonObject

# Who owned an object's fields before anybody applied it (upstream's name).
BEFORE: Final = "before-first-apply"
# Where the changes of the oldest authors end up when there are too many.
ANCIENT: Final = "ancient-changes"
_MAX_AUTHORS: Final = 10
_REMEMBERED: Final = 512
_MAX_REMEMBERED_BYTES: Final = 16 * 1024
_MAX_OUTLINE: Final = 64
_SECTIONS: Final = frozenset({"kind", "apiVersion", "metadata", "spec", "status"})
_OUTLINED: Final = frozenset(
    {"name", "generateName", "namespace", "labels", "annotations", "ownerReferences"}
)
# Belong to the system, or name the object: nobody owns them.
_STRIPPED: Final[Tree] = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {
        ".": {},
        **{
            f"f:{name}": {}
            for name in (
                "name",
                "namespace",
                "creationTimestamp",
                "selfLink",
                "uid",
                "generation",
                "resourceVersion",
            )
        },
    },
}


ChangesIn = Callable[[str], Found]  # by the version that fields are named in
Outline = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[tuple[str, ...], ...]]
_parts: dict[tuple[Shape, Outline], Tree | None] = {}


def stated_fields(shape: Shape, obj: Any, reset: Reset) -> Tree | None:
    """What an applier of this configuration comes to own."""
    return beside(difference(stated(shape, _unmanaged(obj)), _STRIPPED), reset)


def present_fields(shape: Shape, obj: JsonObject, reset: Reset) -> Tree | None:
    """Everything an object has, as its first author would own it."""
    found = compare(shape, _zero(shape), _unmanaged(obj))[0]
    return beside(difference(found, _STRIPPED), reset)


def _unmanaged(obj: JsonObject) -> JsonObject:
    if "managedFields" not in obj["metadata"]:
        return obj
    metadata = {key: obj["metadata"][key] for key in obj["metadata"] if key != "managedFields"}
    return {**obj, "metadata": metadata}


def conflicts(others: Managers, changes_in: ChangesIn) -> dict[Owner, Tree]:
    """Fields that others own and that would get another value."""
    found = {
        owner: intersection(held.fields, changes_in(held.version)[0])
        for owner, held in others.items()
    }
    return {owner: fields for owner, fields in found.items() if fields is not None}


def conflict_error(conflicting: Mapping[Owner, Tree]) -> ConflictError:
    found = dict(sorted(conflicting.items(), key=lambda entry: entry[0].manager))
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f'conflict with "{owner.manager}"{_using(owner)}',
            "field": to_text(path),
        }
        for owner, fields in found.items()
        for path in paths(fields)
    ]
    if len(causes) == 1:
        message = f"Apply failed with 1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        lines = [f"Apply failed with {len(causes)} conflicts:"]
        for owner, fields in found.items():
            head = f'conflicts with "{owner.manager}"{_using(owner)}:'
            lines += [head, *(f"- {to_text(path)}" for path in paths(fields))]
        message = f"{lines[0]} " + "\n".join(lines[1:])
    return ConflictError(message, details={"causes": causes})


def _using(owner: Owner) -> str:
    part = f' with subresource "{owner.subresource}"' if owner.subresource else ""
    return f"{part} using {owner.version}" if owner.operation == "Update" else part


def take_over(managers: Managers, changes_in: ChangesIn) -> None:
    """Nobody owns what was changed or removed any longer."""
    for owner, held in list(managers.items()):
        fields = union(*changes_in(held.version))
        if fields is not None:
            managers[owner] = held._replace(fields=difference(held.fields, fields))


def differ(shape: Shape, old: JsonObject, new: JsonObject) -> bool:
    """Whether a write says anything new, also of what nobody owns."""
    return compare(shape, _unmanaged(old), _unmanaged(new)) != (None, None)


def changes(shape: Shape, old: JsonObject, new: JsonObject, reset: Reset = ()) -> Found:
    """What a write sets or changes, and what it removes."""
    changed, removed = compare(shape, _unmanaged(old), _unmanaged(new))
    return (
        beside(difference(changed, _STRIPPED), reset),
        beside(difference(removed, _STRIPPED), reset),
    )


def track_creation(
    shape: Shape,
    obj: JsonObject,
    owner: Owner,
    now: str,
    *,
    reset: Reset = STATUS_RESET,
    spec_text: bytes = b"",
) -> None:
    """Who creates an object owns everything in it; its status is nobody's yet.

    ``spec_text`` is its spec as JSON, where the caller has that already.
    """
    managers: Managers | None = {}
    if "managedFields" in obj["metadata"]:
        managers = known_managers(given_managers(obj["metadata"]), owner.version)
    try:
        if reset is STATUS_RESET:
            fields = _created_fields(shape, _unmanaged(obj), spec_text)
        else:
            fields = present_fields(shape, obj, reset)
    except KeylessError:
        managers = None
    else:
        if managers is not None:
            take_over(managers, lambda _: (fields, None))
            managers[owner] = Held(fields, now, owner.version)
    write_managers(obj["metadata"], managers or {})


def track_posted(shape: Shape, obj: JsonObject, owner: Owner, now: str) -> None:
    """Of what is not kept everything is its author's, a status as well."""
    fields = present_fields(shape, obj, ())
    write_managers(obj["metadata"], {owner: Held(fields, now, owner.version)})
    if not obj["metadata"]["managedFields"]:
        del obj["metadata"]["managedFields"]


def _created_fields(shape: Shape, obj: JsonObject, spec_text: bytes) -> Tree | None:
    outline = _outline(obj)
    parts = {key: value for key, value in obj.items() if key not in ("spec", "status")}
    if outline is None:
        fields = _compared_parts(shape, parts)
    else:
        fields = _known_parts(shape, outline, lambda: _compared_parts(shape, parts))
    if "spec" not in obj:
        return fields
    text = spec_text or orjson.dumps(obj["spec"])
    known = len(text) <= _MAX_REMEMBERED_BYTES
    spec = _spec_fields(shape, text) if known else _compared_spec(shape, obj["spec"])
    return fields if spec is None else {**(fields or {}), "f:spec": spec}


@functools.lru_cache(maxsize=_REMEMBERED)
def _spec_fields(shape: Shape, text: bytes) -> Tree | None:
    """Controllers make objects by the hundred from one template: the same text, the same fields."""
    return _compared_spec(shape, orjson.loads(text))


def _compared_parts(shape: Shape, parts: JsonObject) -> Tree | None:
    zero = {key: value for key, value in _zero(shape).items() if key not in ("spec", "status")}
    return difference(compare(shape, zero, parts)[0], _STRIPPED)


def _outline(obj: JsonObject) -> Outline | None:
    """What the fields beside spec and status depend on; None when it is more than keys."""
    metadata = obj["metadata"]
    if not (obj.keys() <= _SECTIONS and metadata.keys() <= _OUTLINED):
        return None
    labels, notes = metadata.get("labels"), metadata.get("annotations")
    owners = metadata.get("ownerReferences") or ()
    if len(labels or ()) + len(notes or ()) + len(owners) > _MAX_OUTLINE:
        return None
    return (
        tuple(metadata),
        tuple(labels) if labels else (),
        tuple(notes) if notes else (),
        tuple((owner.get("uid"), *owner) for owner in owners),
    )


def _known_parts(shape: Shape, outline: Outline, compute: Callable[[], Tree | None]) -> Tree | None:
    """Objects of one template differ in names and values, not in the fields they have."""
    found = _parts.get((shape, outline), ...)
    if found is not ...:
        return found
    if len(_parts) >= _REMEMBERED:
        _parts.clear()  # in one step: large objects are looked at in a thread
    computed = _parts[shape, outline] = compute()
    return computed


def _compared_spec(shape: Shape, spec: Any) -> Tree | None:
    return compare(child_shape(shape, "spec"), _zero(shape).get("spec", ...), spec)[0]


@functools.cache
def _zero(shape: Shape) -> JsonObject:
    """What an object is before anybody said anything; only looked at."""
    zero = zero_of(shape)
    zero.setdefault("metadata", {})
    return zero


def track_update(
    changes_in: ChangesIn, old: JsonObject, new: JsonObject, owner: Owner, now: str
) -> None:
    """A plain write makes its author the owner of what it changed, if there are owners at all."""
    said = said_managers(new["metadata"], old["metadata"], whole=not owner.subresource)
    managers = known_managers(said, owner.version)
    if said and managers is not None:
        try:
            _take_changes(managers, changes_in, owner, now)
        except KeylessError:
            managers = None
    write_managers(new["metadata"], managers or {})


def _take_changes(managers: Managers, changes_in: ChangesIn, owner: Owner, now: str) -> None:
    changed, _ = changes_in(owner.version)
    take_over(managers, changes_in)
    if changed is not None:
        mine = managers.pop(owner, None)
        fields = union(mine.fields, changed) if mine is not None else changed
        managers[owner] = Held(fields, now, owner.version)
    _merge_oldest(managers)


def _merge_oldest(managers: Managers) -> None:
    """Authors beyond so many become one for each version, the oldest first."""
    authors = [owner for owner in managers if owner.operation == "Update" and managers[owner][0]]
    authors.sort(key=lambda owner: (managers[owner].time, owner.manager, owner.subresource))
    first: dict[str, Owner] = {}
    left = len(authors)
    for owner in authors:
        if left <= _MAX_AUTHORS:
            return
        version = managers[owner].version
        bucket = Owner(ANCIENT, "Update", version)
        if version not in first:
            first[version] = owner
            continue
        held, oldest = managers.pop(owner), managers.pop(first[version])
        first[version] = bucket
        managers[bucket] = held._replace(fields=union(held.fields, oldest.fields))
        left -= 1
