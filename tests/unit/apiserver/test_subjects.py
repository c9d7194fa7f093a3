"""Bindings are found by whom they speak of, and the index follows the cache."""

import orjson

from winkube.api.kinds import Kind
from winkube.apiserver.auth.subjects import Bindings
from winkube.apiserver.auth.user import User, service_account_user
from winkube.apiserver.cache import ResourceCache
from winkube.apiserver.item import Item
from winkube.apiserver.served import Served
from winkube.base.types import JsonObject

PREFIX = "/registry/rolebindings/"
KIND = Kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", "rolebinding", True)
ALICE = User("alice", ("devs", "system:authenticated"))


def user(name: str) -> JsonObject:
    return {"kind": "User", "name": name}


class Stage:
    def __init__(self, window: int = 100) -> None:
        self.cache = ResourceCache(PREFIX, window=window)
        self.bindings = Bindings(Served(KIND, KIND, PREFIX, self.cache))
        self.revision = 0

    def put(self, name: str, *subjects: JsonObject, namespace: str = "n") -> None:
        self.revision += 1
        obj = {
            "metadata": {"name": name, "namespace": namespace},
            "roleRef": {"kind": "Role", "name": "r"},
            "subjects": subjects,
        }
        key, data = f"{PREFIX}{namespace}/{name}", orjson.dumps(obj)
        self.cache.put(Item(key, data, self.revision, (namespace, name)), self.revision)

    def remove(self, name: str) -> None:
        self.revision += 1
        self.cache.remove(f"{PREFIX}n/{name}", self.revision)

    def of(self, who: User, namespace: str = "n") -> list[str]:
        return [each.name for each in self.bindings.of(who, namespace)]


def test_users_groups_and_accounts_are_found_in_their_namespace() -> None:
    stage = Stage()
    stage.put("c", user("alice"), {"kind": "Group", "name": "devs"})
    stage.put("a", {"kind": "Group", "name": "system:authenticated"})
    stage.put("b", user("devs"))
    stage.put("d", {"kind": "ServiceAccount", "name": "robot"})
    stage.put("e", {"kind": "ServiceAccount", "name": "robot", "namespace": "m"})
    stage.put("f", user("alice"), namespace="m")
    assert stage.of(ALICE) == ["a", "c"]
    assert stage.of(ALICE, "m") == ["f"]
    assert stage.of(service_account_user("n", "robot", "u")) == ["a", "d"]
    assert stage.of(service_account_user("m", "robot", "u")) == ["a", "e"]
    assert stage.of(User("robot")) == []


def test_changes_are_taken_over_and_what_went_is_forgotten() -> None:
    stage = Stage()
    stage.put("a", user("alice"))
    assert stage.of(ALICE) == ["a"]
    stage.put("a", user("bob"))
    stage.put("b", user("alice"))
    assert (stage.of(ALICE), stage.of(User("bob"))) == (["b"], ["a"])
    stage.remove("b")
    assert stage.of(ALICE) == []


def test_more_changes_than_are_remembered_are_read_anew() -> None:
    stage = Stage(window=3)
    stage.put("a", user("alice"))
    assert stage.of(ALICE) == ["a"]
    stage.remove("a")
    for number in range(20):
        stage.put(f"b-{number:02}", user("alice" if number == 7 else "bob"))
    assert stage.of(ALICE) == ["b-07"]
    stage.cache.load([], 100)
    assert stage.of(ALICE) == []
