"""The entries of managedFields: who owns fields of an object, which, and since when."""

from dataclasses import dataclass
from typing import NamedTuple

from winkube.apiserver.apply.tree import Tree
from winkube.base.types import JsonObject


@dataclass(frozen=True, slots=True)
class Owner:
    """What tells one manager from another.

    An applier is the same whatever version it applies: it has no ``version``.
    """

    manager: str
    operation: str
    version: str = ""
    subresource: str = ""


class Held(NamedTuple):
    """Fields, since when, and in which version of the object they are named."""

    fields: Tree | None
    time: str
    version: str


Managers = dict[Owner, Held]


def author(manager: str, version: str, subresource: str = "") -> Owner:
    return Owner(manager, "Update", version, subresource)


def applier(manager: str, subresource: str = "") -> Owner:
    return Owner(manager, "Apply", subresource=subresource)


def read_managers(metadata: JsonObject) -> Managers:
    """Of two entries of one manager the later counts, as upstream reads them."""
    managers: Managers = {}
    for entry in metadata.get("managedFields") or ():
        operation, version = entry.get("operation", ""), entry.get("apiVersion", "")
        owner = Owner(
            entry.get("manager", ""),
            operation,
            "" if operation == "Apply" else version,
            entry.get("subresource", ""),
        )
        managers[owner] = Held(entry.get("fieldsV1") or None, entry.get("time") or "", version)
    return managers


def write_managers(metadata: JsonObject, managers: Managers) -> None:
    entries = [_entry(owner, held) for owner, held in managers.items() if held.fields is not None]
    if len(entries) > 1:
        entries.sort(key=_order)
    metadata["managedFields"] = entries  # also none at all: said, not left out


def _entry(owner: Owner, held: Held) -> JsonObject:
    entry: JsonObject = {
        **({"manager": owner.manager} if owner.manager else {}),
        "operation": owner.operation,
        "apiVersion": held.version,
        **({"time": held.time} if held.time else {}),
        "fieldsType": "FieldsV1",
        "fieldsV1": held.fields,
    }
    if owner.subresource:
        entry["subresource"] = owner.subresource
    return entry


def _order(entry: JsonObject) -> tuple[str, ...]:
    names = ("operation", "time", "manager", "apiVersion", "subresource")
    return tuple(entry.get(name, "") for name in names)


def differ_in_times(new: JsonObject, old: JsonObject) -> bool:
    """Whether two states of an object are the same but for when somebody wrote."""
    if new["metadata"].get("managedFields") == old["metadata"].get("managedFields"):
        return False
    return _timeless(new) == _timeless(old)


def _timeless(obj: JsonObject) -> JsonObject:
    entries = obj["metadata"].get("managedFields") or ()
    timeless = [{key: entry[key] for key in entry if key != "time"} for entry in entries]
    return {**obj, "metadata": {**obj["metadata"], "managedFields": timeless}}
