"""The roles and bindings every cluster has: upstream's as data, and those of our own components.

default_roles.json is what upstream's API server has after its first start (tests.upstream records
it). Roles that are sums of others are filled in here already: the controller that keeps them so
finds nothing to do.
"""

from collections.abc import Iterator
from importlib.resources import files
from typing import Final

import orjson

from winkube.apiserver.auth.component_roles import COMPONENT_USERS, component_roles
from winkube.apiserver.auth.rbac import GROUP
from winkube.base.types import JsonObject

_DATA: Final = "default_roles.json"
# Least first: each is part of the next.
_SUMS: Final = ("view", "edit", "admin")
_LABELS: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}

Roles = dict[str, list[JsonObject]]


def default_roles() -> Roles:
    """Upstream's, by plural: cluster roles, roles, and the bindings of both."""
    roles: Roles = orjson.loads(files("winkube.apiserver.auth").joinpath(_DATA).read_bytes())
    by_name = {role["metadata"]["name"]: role for role in roles["clusterroles"]}
    for name in _SUMS:
        by_name[name]["rules"] = _sum(f"{GROUP}/aggregate-to-{name}", roles["clusterroles"])
    return roles


def _sum(label: str, roles: list[JsonObject]) -> list[JsonObject]:
    rules: list[JsonObject] = []
    for role in sorted(roles, key=lambda each: str(each["metadata"]["name"])):
        if (role["metadata"].get("labels") or {}).get(label) == "true":
            rules += [rule for rule in role.get("rules") or [] if rule not in rules]
    return rules


def bootstrap_objects() -> Iterator[tuple[str, JsonObject]]:
    """Plural and object of everything a new cluster gets, roles before their bindings."""
    roles = default_roles()
    for plural in ("clusterroles", "roles", "clusterrolebindings", "rolebindings"):
        for obj in roles[plural]:
            yield plural, obj
    for name, rules in component_roles():
        yield "clusterroles", {"metadata": _metadata(name), "rules": rules}
    for name, user in COMPONENT_USERS:
        yield "clusterrolebindings", _binding(name, user)


def _metadata(name: str) -> JsonObject:
    return {"name": name, "labels": dict(_LABELS)}


def _binding(name: str, user: str) -> JsonObject:
    return {
        "metadata": _metadata(name),
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": GROUP, "kind": "User", "name": user}],
    }
