"""Owners of a scale: those of the object it scales who own how many replicas there are.

What is written through a scale is kept in the object (k8s.io/apimachinery:
pkg/util/managedfields/scalehandler.go). Authors are known by the version they write, so they are
strangers to the object when they come back from its scale, and appliers are not: an author's
``replicas`` becomes an entry of its own there, without a time.
"""

from typing import Final

from winkube.apiserver.apply.owner import Held, Managers, Owner
from winkube.apiserver.apply.tree import Tree, difference, reaches

_REPLICAS: Final = ("f:spec", "f:replicas")
_ONLY_REPLICAS: Final[Tree] = {"f:spec": {"f:replicas": {}}}


def scale_managers(parents: Managers, version: str, scale_version: str) -> Managers:
    """The owners of a scale, by those of its object of this version."""
    managers: Managers = {}
    for owner, held in parents.items():
        if held.version == version and reaches(held.fields, _REPLICAS):
            known = "" if owner.operation == "Apply" else scale_version
            alias = Owner(owner.manager, owner.operation, known, owner.subresource)
            managers[alias] = Held(_ONLY_REPLICAS, held.time, scale_version)
    return managers


def parent_managers(parents: Managers, scales: Managers, version: str) -> Managers:
    """The owners of the object, after a write to its scale left those of the scale."""
    left = dict(scales)
    managers: Managers = {}
    for owner, held in parents.items():
        if held.version != version:
            continue
        if not reaches(held.fields, _REPLICAS) or left.pop(owner, None) is not None:
            managers[owner] = held
        else:
            managers[owner] = held._replace(fields=difference(held.fields, _ONLY_REPLICAS))
    for owner, held in left.items():
        if reaches(held.fields, _REPLICAS):
            since = parents[owner].time if owner in parents else ""
            managers[owner] = Held(_ONLY_REPLICAS, since, version)
    return managers
