"""What a role allows, laid out so that a question takes a few looks and no walk over its rules.

Whoever may write roles may write long ones, and every question about his namespace is answered from
them, while everybody else waits. So rights are kept one by one where that stays small. Rules that
would be too many rights are asked one after the other, and only so many of them for one question.
"""

import itertools
from collections.abc import Iterable
from typing import Final

from winkube.apiserver.auth.authz import Attributes
from winkube.base.types import JsonObject

ALL: Final = "*"
# How many rights a rule may be, how many are kept of a role, and how many rules may be asked.
_OF_ONE_RULE: Final = 1024
_OF_ONE_ROLE: Final = 16 * 1024
MOST_ASKED: Final = 20_000

_Right = tuple[str, str, str]  # verb, group, resource


class _Rule:
    """One of those that stay whole."""

    __slots__ = ("_groups", "_names", "_resources", "_verbs")

    def __init__(self, rule: JsonObject) -> None:
        self._verbs = frozenset(rule["verbs"])
        self._groups = frozenset(rule["apiGroups"])
        self._resources = frozenset(rule["resources"])
        self._names = frozenset(rule.get("resourceNames") or ())

    def allows(self, attributes: Attributes) -> bool:
        return (
            (attributes.verb in self._verbs or ALL in self._verbs)
            and (attributes.group in self._groups or ALL in self._groups)
            and any(each in self._resources for each in _resources(attributes))
            and (not self._names or attributes.name in self._names)
        )


class Grants:
    def __init__(self, rules: Iterable[JsonObject]) -> None:
        # The names that a right is about; None: all of them.
        self._rights: dict[_Right, set[str] | None] = {}
        self._rules: list[_Rule] = []
        self._paths: list[tuple[frozenset[str], tuple[str, ...]]] = []
        for rule in rules:
            self._add(rule)

    @property
    def effort(self) -> int:
        return 1 + len(self._rules)

    def _add(self, rule: JsonObject) -> None:
        verbs = rule.get("verbs") or ()
        if rule.get("nonResourceURLs"):
            self._paths.append((frozenset(verbs), tuple(rule["nonResourceURLs"])))
        groups, resources = rule.get("apiGroups") or (), rule.get("resources") or ()
        size = len(verbs) * len(groups) * len(resources)
        if not size:
            return
        if size > _OF_ONE_RULE or len(self._rights) + size > _OF_ONE_ROLE:
            self._rules.append(_Rule(rule))
            return
        names = rule.get("resourceNames")
        for right in itertools.product(verbs, groups, resources):
            if not names:
                self._rights[right] = None
                continue
            known = self._rights.setdefault(right, set())
            if known is not None:
                known.update(names)

    def allows(self, attributes: Attributes) -> bool:
        if attributes.path:
            return self._allows_path(attributes.verb, attributes.path)
        resources = _resources(attributes)
        verbs, groups = (attributes.verb, ALL), (attributes.group, ALL)
        for right in itertools.product(verbs, groups, resources):
            names = self._rights.get(right, _NOBODY)
            if names is None or attributes.name in names:
                return True
        return any(rule.allows(attributes) for rule in self._rules)

    def _allows_path(self, verb: str, path: str) -> bool:
        return any(
            any(path_fits(text, path) for text in paths)
            for verbs, paths in self._paths
            if verb in verbs or ALL in verbs
        )


_NOBODY: Final[set[str]] = set()


def _resources(attributes: Attributes) -> tuple[str, ...]:
    """The names under which a rule may speak of the resource."""
    if not attributes.subresource:
        return (attributes.resource, ALL)
    return (attributes.full_resource, ALL, f"*/{attributes.subresource}")


def path_fits(pattern: str, path: str) -> bool:
    if pattern == ALL:
        return True
    return path.startswith(pattern[:-1]) if pattern.endswith(ALL) else path == pattern
