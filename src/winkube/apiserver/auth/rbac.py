"""Role-based access control over the cached roles and bindings.

Who is bound and what roles allow is kept by what is asked for (``subjects``, ``grants``): a
decision reads only what has changed, and neither takes longer by what others are bound to.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from winkube.apiserver.auth.authz import Attributes, Authorizer, Decision, Rules
from winkube.apiserver.auth.grants import MOST_ASKED, Grants, path_fits
from winkube.apiserver.auth.subjects import Binding, Bindings
from winkube.apiserver.auth.user import User
from winkube.apiserver.item import Item
from winkube.apiserver.served import Resources
from winkube.base.types import JsonObject

GROUP: Final = "rbac.authorization.k8s.io"
_TOO_MANY: Final = "the rules of the roles are too many"
_REPEATED: Final = 1000


class RbacAuthorizer:
    def __init__(self, resources: Resources) -> None:
        self._roles = resources.require(GROUP, "v1", "roles")
        self._cluster_roles = resources.require(GROUP, "v1", "clusterroles")
        self._bindings = Bindings(resources.require(GROUP, "v1", "rolebindings"))
        self._cluster_bindings = Bindings(resources.require(GROUP, "v1", "clusterrolebindings"))
        self._grants: dict[str, tuple[int, Grants]] = {}

    def authorize(self, attributes: Attributes) -> Decision:
        asked = 0
        refusing: set[str] = set()
        for item, binding in self._roles_of(attributes.user, attributes.namespace):
            if item.key in refusing:
                continue
            refusing.add(item.key)
            grants = self._read(item)
            asked += grants.effort
            if asked > MOST_ASKED:
                return Decision(allowed=False, reason=_TOO_MANY)
            if grants.allows(attributes):
                return Decision(allowed=True, reason=f"RBAC: allowed by {_shown(binding)}")
        return Decision(allowed=False)

    def rules(self, user: User, namespace: str) -> Rules:
        resources: list[JsonObject] = []
        paths: list[JsonObject] = []
        seen: set[str] = set()
        for item, _ in self._roles_of(user, namespace):
            # Upstream lists them once for each binding; there may be thousands of one long role.
            if item.key in seen and len(resources) > _REPEATED:
                continue
            seen.add(item.key)
            for rule in item.load().get("rules") or ():
                if rule.get("nonResourceURLs"):
                    kept = ("verbs", "nonResourceURLs")
                    paths.append({key: rule[key] for key in kept if key in rule})
                if rule.get("resources"):
                    resources.append({k: v for k, v in rule.items() if k != "nonResourceURLs"})
        return Rules(resources, paths)

    def _roles_of(self, user: User, namespace: str) -> Iterator[tuple[Item, Binding]]:
        bindings = self._cluster_bindings.of(user, "")
        if namespace:
            bindings += self._bindings.of(user, namespace)
        for binding in bindings:
            clusterwide = binding.role_kind == "ClusterRole"
            served = self._cluster_roles if clusterwide else self._roles
            item = served.cache.get(
                served.key("" if clusterwide else binding.namespace, binding.role)
            )
            if item is not None:
                yield item, binding

    def _read(self, item: Item) -> Grants:
        known = self._grants.get(item.key)
        if known is not None and known[0] == item.revision:
            return known[1]
        self._forget_old()
        grants = Grants(item.load().get("rules") or ())
        self._grants[item.key] = (item.revision, grants)
        return grants

    def _forget_old(self) -> None:
        caches = (self._roles.cache, self._cluster_roles.cache)
        if len(self._grants) > 2 * sum(map(len, caches)):
            there = [key for key in self._grants if any(cache.get(key) for cache in caches)]
            self._grants = {key: self._grants[key] for key in there}


def _shown(binding: Binding) -> str:
    kind, name = "ClusterRoleBinding", binding.name
    if binding.namespace:
        kind, name = "RoleBinding", f"{binding.name}/{binding.namespace}"
    return f'{kind} "{name}" of {binding.role_kind} "{binding.role}"'


class FirstAllowing:
    """Ask several authorisers in order; the first that allows decides."""

    def __init__(self, *authorizers: Authorizer) -> None:
        self._authorizers = authorizers

    def authorize(self, attributes: Attributes) -> Decision:
        reasons: list[str] = []
        for authorizer in self._authorizers:
            decision = authorizer.authorize(attributes)
            if decision.allowed:
                return decision
            if decision.reason:
                reasons.append(decision.reason)
        return Decision(allowed=False, reason=", ".join(reasons))

    def rules(self, user: User, namespace: str) -> Rules:
        found = [authorizer.rules(user, namespace) for authorizer in self._authorizers]
        return Rules(
            [rule for rules in found for rule in rules.resources],
            [rule for rules in found for rule in rules.paths],
            next((rules.gap for rules in found if rules.gap), ""),
        )


def rule_allows(rule: JsonObject, attributes: Attributes) -> bool:
    if not _has(rule.get("verbs"), attributes.verb):
        return False
    if attributes.path:
        return any(path_fits(text, attributes.path) for text in rule.get("nonResourceURLs") or ())
    if not _has(rule.get("apiGroups"), attributes.group):
        return False
    if not _resource_fits(rule.get("resources") or (), attributes):
        return False
    names = rule.get("resourceNames")
    return not names or attributes.name in names


def _has(listed: Iterable[str] | None, wanted: str) -> bool:
    return any(entry in ("*", wanted) for entry in listed or ())


def _resource_fits(listed: Iterable[str], attributes: Attributes) -> bool:
    anything = f"*/{attributes.subresource}" if attributes.subresource else None
    return any(entry in ("*", attributes.full_resource, anything) for entry in listed)
