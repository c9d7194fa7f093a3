"""Whether somebody's rules cover others: what nobody may hand out is what they do not have.

A rule is a box: any of its verbs on any of its resources of any of its groups. A box that no single
rule covers is halved, again and again, until its parts are covered or cannot be smaller. Upstream
looks at every single right instead (k8s.io/component-helpers: auth/rbac/validation), which a short
list of long lists makes billions of: so the work is bounded here, and what takes longer is refused.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from winkube.api.go.text import quoted_list
from winkube.apiserver.auth.authz import Rules
from winkube.base.errors import WinkubeError
from winkube.base.types import JsonObject

MOST_BOXES: Final = 5000
MOST_COMPARED: Final = 50_000
_TOO_MANY: Final = "the rules are too many to compare with those held"
_ALL: Final = "*"
_RESOURCE_SIDES: Final = ("verbs", "groups", "resources", "names")
_PATH_SIDES: Final = ("verbs", "paths")


@dataclass(frozen=True, slots=True)
class Box:
    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    def halves(self) -> "tuple[Box, Box] | None":
        """The box in two along its longest side; None when it is a single right."""
        sides = _PATH_SIDES if self.paths else _RESOURCE_SIDES
        longest = max(sides, key=lambda side: len(getattr(self, side)))
        values = getattr(self, longest)
        if len(values) < 2:
            return None
        middle = len(values) // 2
        return replace(self, **{longest: values[:middle]}), replace(
            self, **{longest: values[middle:]}
        )

    def __str__(self) -> str:
        """As upstream's words about what is missing show it."""
        sides = (
            ("APIGroups", self.groups),
            ("Resources", self.resources),
            ("NonResourceURLs", self.paths),
            ("ResourceNames", self.names),
            ("Verbs", self.verbs),
        )
        shown = (f"{title}:{quoted_list(values)}" for title, values in sides if values)
        return f"{{{', '.join(shown)}}}"


class _Owned:
    """One rule that somebody has."""

    def __init__(self, rule: JsonObject) -> None:
        self._verbs = frozenset(rule.get("verbs") or ())
        self._groups = frozenset(rule.get("apiGroups") or ())
        self._resources = frozenset(rule.get("resources") or ())
        self._names = frozenset(rule.get("resourceNames") or ())
        self._paths = tuple(rule.get("nonResourceURLs") or ())

    def covers(self, box: Box) -> bool:
        if not _has_all(self._verbs, box.verbs):
            return False
        if box.paths:
            return all(any(_fits(own, path) for own in self._paths) for path in box.paths)
        return (
            _has_all(self._groups, box.groups)
            and (_ALL in self._resources or all(map(self._has_resource, box.resources)))
            and (not self._names or (bool(box.names) and self._names.issuperset(box.names)))
        )

    def _has_resource(self, resource: str) -> bool:
        _, slash, part = resource.partition("/")
        return resource in self._resources or (bool(slash) and f"*/{part}" in self._resources)


class _AllOwned:
    """Found by what they are about: a rule that does not name the first resource covers no box."""

    def __init__(self, rules: Iterable[JsonObject]) -> None:
        self._by_resource: dict[str, list[_Owned]] = {}
        self._of_paths: list[_Owned] = []
        for rule in rules:
            owned = _Owned(rule)
            if rule.get("nonResourceURLs"):
                self._of_paths.append(owned)
            for resource in set(rule.get("resources") or ()):
                self._by_resource.setdefault(resource, []).append(owned)

    def near(self, box: Box) -> Iterator[_Owned]:
        if box.paths:
            return iter(self._of_paths)
        first = box.resources[0]
        _, slash, part = first.partition("/")
        names = dict.fromkeys((_ALL, first, f"*/{part}" if slash else first))
        return itertools.chain.from_iterable(self._by_resource.get(each, ()) for each in names)


class TooManyRightsError(WinkubeError):
    """More than can be looked at."""


def missing_rights(owned: Rules, wanted: Iterable[JsonObject]) -> list[Box]:
    """What ``wanted`` would grant that ``owned`` does not hold; empty when it holds it all."""
    rules = _AllOwned((*owned.resources, *owned.paths))
    waiting = [box for rule in wanted for box in _boxes(rule)]
    missing: list[Box] = []
    looked = compared = 0
    while waiting:
        box = waiting.pop()
        looked += 1
        covered = False
        for rule in rules.near(box):
            compared += 1
            covered = rule.covers(box)
            if covered:
                break
        if compared > MOST_COMPARED:
            raise TooManyRightsError(_TOO_MANY)
        if covered:
            continue
        halves = box.halves()
        if halves is None:
            missing.append(box)
        elif looked > MOST_BOXES:
            raise TooManyRightsError(_TOO_MANY)
        else:
            waiting.extend(reversed(halves))
    return _joined(missing)


def _boxes(rule: JsonObject) -> Iterator[Box]:
    """A rule that names no group or no resource grants nothing of either."""
    verbs, groups, resources, names, paths = (
        tuple(dict.fromkeys(rule.get(field) or ()))
        for field in ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
    )
    if verbs and groups and resources:
        yield Box(verbs, groups, resources, names)
    if verbs and paths:
        yield Box(verbs, paths=paths)


def _joined(missing: Sequence[Box]) -> list[Box]:
    """Rights that differ in their verbs alone, together."""
    verbs: dict[Box, tuple[str, ...]] = {}
    for box in missing:
        rest = replace(box, verbs=box.verbs if box.paths else ())
        verbs[rest] = (*verbs.get(rest, ()), *box.verbs)
    return [replace(rest, verbs=tuple(dict.fromkeys(found))) for rest, found in verbs.items()]


def _has_all(owned: frozenset[str], wanted: Iterable[str]) -> bool:
    return _ALL in owned or owned.issuperset(wanted)


def _fits(owned: str, path: str) -> bool:
    return owned == path or (owned.endswith(_ALL) and path.startswith(owned.rstrip(_ALL)))
