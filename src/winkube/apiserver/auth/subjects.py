"""Which bindings speak of somebody: found by name and group, however many speak of others."""

from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from winkube.apiserver.auth.user import SERVICE_ACCOUNT_PREFIX, User
from winkube.apiserver.followed import Followed
from winkube.apiserver.item import Item
from winkube.apiserver.served import Served
from winkube.base.types import JsonObject

REMEMBERED: Final = 1024
# Whoever may ask about anybody may name thousands of groups: that is not worth remembering.
_FEW_GROUPS: Final = 32

Subject = tuple[bool, str]  # whether it is a group, and its name


@dataclass(frozen=True, slots=True)
class Binding:
    key: str
    name: str
    namespace: str
    role_kind: str
    role: str
    subjects: frozenset[Subject]


class Bindings(Followed):
    """``served`` are RoleBindings or ClusterRoleBindings."""

    def __init__(self, served: Served) -> None:
        super().__init__(served)
        self._by_key: dict[str, Binding] = {}
        # By namespace and subject; in each of those by key.
        self._by_subject: dict[tuple[str, Subject], dict[str, Binding]] = {}
        self._asked: dict[tuple[str, str, tuple[str, ...]], tuple[Binding, ...]] = {}

    def of(self, user: User, namespace: str) -> tuple[Binding, ...]:
        """Those of the namespace that name the user or one of his groups, in their order."""
        if self.catch_up():
            self._asked.clear()
        if len(user.groups) > _FEW_GROUPS:
            return self._find(user, namespace)
        asked = (namespace, user.name, user.groups)
        found = self._asked.get(asked)
        if found is None:
            if len(self._asked) >= REMEMBERED:
                self._asked.clear()
            found = self._asked[asked] = self._find(user, namespace)
        return found

    def _find(self, user: User, namespace: str) -> tuple[Binding, ...]:
        subjects = [(False, user.name), *((True, group) for group in user.groups)]
        found: dict[str, Binding] = {}
        for subject in subjects:
            found.update(self._by_subject.get((namespace, subject), {}))
        return tuple(sorted(found.values(), key=attrgetter("key")))

    def clear(self) -> None:
        self._by_key.clear()
        self._by_subject.clear()

    def put(self, item: Item) -> None:
        binding = self._by_key[item.key] = _read(item)
        for subject in binding.subjects:
            place = (binding.namespace, subject)
            self._by_subject.setdefault(place, {})[item.key] = binding

    def remove(self, key: str) -> None:
        old = self._by_key.pop(key, None)
        if old is None:
            return
        for subject in old.subjects:
            place = (old.namespace, subject)
            del self._by_subject[place][key]
            if not self._by_subject[place]:
                del self._by_subject[place]


def _read(item: Item) -> Binding:
    obj = item.load()
    ref = obj.get("roleRef") or {}
    return Binding(
        key=item.key,
        name=item.name,
        namespace=item.namespace,
        role_kind=ref.get("kind") or "",
        role=ref.get("name") or "",
        subjects=_subjects(obj, item.namespace),
    )


def _subjects(binding: JsonObject, namespace: str) -> frozenset[Subject]:
    found: set[Subject] = set()
    for subject in binding.get("subjects") or ():
        kind, name = subject.get("kind"), subject.get("name", "")
        if kind in ("User", "Group"):
            found.add((kind == "Group", name))
        elif kind == "ServiceAccount":
            home = subject.get("namespace") or namespace
            found.add((False, f"{SERVICE_ACCOUNT_PREFIX}{home}:{name}"))
    return frozenset(found)
