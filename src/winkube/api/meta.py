"""Small readers and writers of metadata, owner references and conditions."""

from collections.abc import Iterable
from typing import Any

from winkube.base.types import JsonObject


def metadata(obj: JsonObject) -> JsonObject:
    """The object's metadata, never None; a missing one is not added."""
    found: JsonObject = obj.get("metadata") or {}
    return found


def name_of(obj: JsonObject) -> str:
    return str(metadata(obj).get("name") or "")


def namespace_of(obj: JsonObject) -> str:
    return str(metadata(obj).get("namespace") or "")


def uid_of(obj: JsonObject) -> str:
    return str(metadata(obj).get("uid") or "")


def labels_of(obj: JsonObject) -> dict[str, str]:
    return metadata(obj).get("labels") or {}


def annotations_of(obj: JsonObject) -> dict[str, str]:
    return metadata(obj).get("annotations") or {}


def resource_version(obj: JsonObject) -> int:
    """Zero when there is none or it is not a number."""
    text = str(metadata(obj).get("resourceVersion") or "")
    return int(text) if text.isascii() and text.isdigit() else 0


def namespaced_name(namespace: str, name: str) -> str:
    """``ns/name``, or ``name`` for what has no namespace."""
    return f"{namespace}/{name}" if namespace else name


def key_of(obj: JsonObject) -> str:
    return namespaced_name(namespace_of(obj), name_of(obj))


def split_key(key: str) -> tuple[str, str]:
    """Namespace ("" when there is none) and name."""
    namespace, _, name = key.rpartition("/")
    return namespace, name


def is_deleting(obj: JsonObject) -> bool:
    return bool(metadata(obj).get("deletionTimestamp"))


def owner_references(obj: JsonObject) -> list[JsonObject]:
    return metadata(obj).get("ownerReferences") or []


def controller_of(obj: JsonObject) -> JsonObject | None:
    """The one owner reference that says ``controller: true``."""
    return next((owner for owner in owner_references(obj) if owner.get("controller")), None)


def is_controlled_by(obj: JsonObject, owner: JsonObject) -> bool:
    controller = controller_of(obj)
    return controller is not None and controller.get("uid") == uid_of(owner)


def to_owner_reference(owner: JsonObject, *, controller: bool = True) -> JsonObject:
    reference: JsonObject = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": uid_of(owner),
    }
    if controller:
        reference |= {"controller": True, "blockOwnerDeletion": True}
    return reference


def conditions_of(obj: JsonObject) -> list[JsonObject]:
    return (obj.get("status") or {}).get("conditions") or []


def find_condition(conditions: Iterable[JsonObject], type_: str) -> JsonObject | None:
    return next((entry for entry in conditions if entry.get("type") == type_), None)


def get_condition(obj: JsonObject, type_: str) -> JsonObject | None:
    return find_condition(conditions_of(obj), type_)


def is_condition_true(obj: JsonObject, type_: str) -> bool:
    condition = get_condition(obj, type_)
    return condition is not None and condition.get("status") == "True"


def set_condition(obj: JsonObject, condition: JsonObject, now: str) -> bool:
    """Add or replace by type; ``lastTransitionTime`` moves only when the status changes.

    Returns whether anything but a heartbeat changed.
    """
    conditions: list[Any] = obj.setdefault("status", {}).setdefault("conditions", [])
    fresh = dict(condition)
    old = find_condition(conditions, condition["type"])
    if old is None:
        fresh.setdefault("lastTransitionTime", now)
        conditions.append(fresh)
        return True
    if old.get("status") == fresh.get("status"):
        fresh["lastTransitionTime"] = old.get("lastTransitionTime") or now
    else:
        fresh.setdefault("lastTransitionTime", now)
    ignored = ("lastHeartbeatTime", "lastProbeTime", "lastUpdateTime")
    changed = _without(old, ignored) != _without(fresh, ignored)
    conditions[conditions.index(old)] = fresh
    return changed


def _without(condition: JsonObject, names: tuple[str, ...]) -> JsonObject:
    return {key: value for key, value in condition.items() if key not in names}
