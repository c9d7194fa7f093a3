"""Managers as clients write them by hand: what can be read of them, and what of that is known.

Most clients send back what they were sent, so that is looked for first.
"""

from typing import Any, Final

import orjson

from winkube.apiserver.apply.owner import Managers, read_managers
from winkube.apiserver.apply.tree import Tree
from winkube.base.types import JsonObject

# Versions that upstream can still convert to, though it serves them no longer.
_OLDER: Final = {
    "admissionregistration.k8s.io": ("v1", "v1alpha1", "v1beta1"),
    "apps": ("v1", "v1beta1", "v1beta2"),
    "autoscaling": ("v1", "v2", "v2beta1", "v2beta2"),
    "batch": ("v1", "v1beta1"),
    "certificates.k8s.io": ("v1", "v1beta1"),
    "coordination.k8s.io": ("v1", "v1beta1"),
    "discovery.k8s.io": ("v1", "v1beta1"),
    "flowcontrol.apiserver.k8s.io": ("v1", "v1beta1", "v1beta2", "v1beta3"),
    "networking.k8s.io": ("v1", "v1beta1"),
    "node.k8s.io": ("v1", "v1alpha1", "v1beta1"),
    "policy": ("v1", "v1beta1"),
    "rbac.authorization.k8s.io": ("v1", "v1alpha1", "v1beta1"),
    "resource.k8s.io": ("v1", "v1alpha3", "v1beta1", "v1beta2"),
    "scheduling.k8s.io": ("v1", "v1alpha1", "v1beta1"),
    "storage.k8s.io": ("v1", "v1alpha1", "v1beta1"),
}
_EVENTS: Final = frozenset({"v1", "events.k8s.io/v1", "events.k8s.io/v1beta1"})


def said_managers(new: JsonObject, old: JsonObject, *, whole: bool) -> Managers:
    """Whom a write starts from, by the metadata of both states.

    Clients that know nothing of managers leave them alone; an empty list, or one empty entry,
    says that nobody shall own anything. Through a part of an object nothing is said about them.
    """
    given = new.get("managedFields") if whole else None
    if given in ([], [{}]):
        return {}
    if given and given != old.get("managedFields"):
        managers = given_managers(new)
        if managers:
            return managers
    return read_managers(old) if _are_entries(old.get("managedFields")) else {}


def given_managers(metadata: JsonObject) -> Managers:
    """None at all when one of them cannot be read."""
    if not _are_entries(metadata.get("managedFields")):
        return {}
    managers = read_managers(metadata)
    for owner, held in managers.items():
        fields = _readable(held.fields) if held.fields is not None else None
        if fields is ...:
            return {}
        managers[owner] = held._replace(fields=fields or None)
    return managers


def known_managers(managers: Managers, version: str) -> Managers | None:
    """Those whose fields are of a version of this kind; None when one is of no version at all."""
    versions = {held.version for held in managers.values()} - {version}
    if any(other.count("/") > 1 for other in versions):
        return None
    strange = {other for other in versions if not _is_form(other, version)}
    return {owner: held for owner, held in managers.items() if held.version not in strange}


def _is_form(other: str, version: str) -> bool:
    if {other, version} <= _EVENTS:
        return True
    group, _, number = other.rpartition("/")
    return group == version.rpartition("/")[0] and number in _OLDER.get(group, ())


def _are_entries(entries: Any) -> bool:
    return all(
        entry.get("operation") in ("Apply", "Update")
        and entry.get("apiVersion")
        and entry.get("fieldsType") == "FieldsV1"
        and isinstance(entry.get("fieldsV1"), dict | None)
        for entry in entries or ()
    )


def _readable(fields: Any) -> Tree | Any:
    """The set of fields, without steps of a form nobody knows; ``...`` when it is none."""
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        return ...
    made: Tree = {}
    for step, child in fields.items():
        inner = _readable(child)
        if inner is ... or (step != "." and not _is_step(step)):
            return ...
        if step == "." or step[0] in "fkvi":
            made[step] = inner
    return made


def _is_step(step: str) -> bool:
    if len(step) < 2 or step[1] != ":":
        return False
    if step[0] == "i":
        return step[2:].lstrip("-").isdecimal()
    if step[0] not in "kv":
        return True
    try:
        value = orjson.loads(step[2:])
    except orjson.JSONDecodeError:
        return False
    return step[0] == "v" or isinstance(value, dict)
