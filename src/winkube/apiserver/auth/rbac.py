"""Role-based access control over the cached roles and bindings.

Parsed roles and bindings are kept by revision, so a decision parses only what has changed.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from winkube.apiserver.auth.authz import Attributes, Authorizer, Decision, Rules
from winkube.apiserver.auth.user import SERVICE_ACCOUNT_PREFIX, User
from winkube.apiserver.item import Item
from winkube.apiserver.served import Resources, Served
from winkube.base.types import JsonObject

GROUP: Final = "rbac.authorization.k8s.io"


class RbacAuthorizer:
    def __init__(self, resources: Resources) -> None:
        self._roles = resources.require(GROUP, "v1", "roles")
        self._cluster_roles = resources.require(GROUP, "v1", "clusterroles")
        self._bindings = resources.require(GROUP, "v1", "rolebindings")
        self._cluster_bindings = resources.require(GROUP, "v1", "clusterrolebindings")
        self._parsed: dict[str, tuple[int, JsonObject]] = {}

    def authorize(self, attributes: Attributes) -> Decision:
        for rule, binding in self._rules_of(attributes.user, attributes.namespace):
            if rule_allows(rule, attributes):
                return Decision(allowed=True, reason=f"RBAC: allowed by {binding}")
        return Decision(allowed=False)

    def rules(self, user: User, namespace: str) -> Rules:
        resources: list[JsonObject] = []
        paths: list[JsonObject] = []
        for rule, _ in self._rules_of(user, namespace):
            if rule.get("nonResourceURLs"):
                kept = ("verbs", "nonResourceURLs")
                paths.append({key: rule[key] for key in kept if key in rule})
            if rule.get("resources"):
                resources.append({k: v for k, v in rule.items() if k != "nonResourceURLs"})
        return Rules(resources, paths)

    def _rules_of(self, user: User, namespace: str) -> Iterator[tuple[JsonObject, str]]:
        for binding in self._load(self._cluster_bindings, ""):
            if _is_subject(user, binding, ""):
                name = binding["metadata"]["name"]
                yield from self._role_rules(binding, "", f'ClusterRoleBinding "{name}"')
        if not namespace:
            return
        for binding in self._load(self._bindings, namespace):
            if _is_subject(user, binding, namespace):
                name = f"{binding['metadata']['name']}/{namespace}"
                yield from self._role_rules(binding, namespace, f'RoleBinding "{name}"')

    def _role_rules(
        self, binding: JsonObject, namespace: str, text: str
    ) -> Iterator[tuple[JsonObject, str]]:
        ref = binding.get("roleRef") or {}
        clusterwide = ref.get("kind") == "ClusterRole"
        served = self._cluster_roles if clusterwide else self._roles
        item = served.cache.get(served.key("" if clusterwide else namespace, ref.get("name", "")))
        if item is None:
            return
        for rule in self._parse(item).get("rules") or ():
            yield rule, f'{text} of {ref["kind"]} "{ref["name"]}"'

    def _load(self, served: Served, namespace: str) -> Iterator[JsonObject]:
        for item in served.cache.items(served.folder(namespace)):
            yield self._parse(item)

    def _parse(self, item: Item) -> JsonObject:
        known = self._parsed.get(item.key)
        if known is not None and known[0] == item.revision:
            return known[1]
        obj = item.load()
        self._parsed[item.key] = (item.revision, obj)
        return obj


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
        )


def rule_allows(rule: JsonObject, attributes: Attributes) -> bool:
    if not _has(rule.get("verbs"), attributes.verb):
        return False
    if attributes.path:
        return any(_path_fits(text, attributes.path) for text in rule.get("nonResourceURLs") or ())
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


def _path_fits(pattern: str, path: str) -> bool:
    if pattern == "*":
        return True
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern


def _is_subject(user: User, binding: JsonObject, namespace: str) -> bool:
    for subject in binding.get("subjects") or ():
        kind, name = subject.get("kind"), subject.get("name", "")
        if kind == "User" and user.name == name:
            return True
        if kind == "Group" and name in user.groups:
            return True
        home = subject.get("namespace") or namespace
        if kind == "ServiceAccount" and user.name == f"{SERVICE_ACCOUNT_PREFIX}{home}:{name}":
            return True
    return False
