"""Roles laid out for questions answer as their rules do."""

import itertools
import random

import pytest

from winkube.apiserver.auth import grants
from winkube.apiserver.auth.authz import Attributes
from winkube.apiserver.auth.grants import Grants
from winkube.apiserver.auth.rbac import rule_allows
from winkube.apiserver.auth.user import User
from winkube.base.types import JsonObject

USER = User("u")
VERBS = ["get", "list", "*"]
GROUPS = ["", "apps", "*"]
RESOURCES = ["pods", "pods/log", "*/log", "nodes", "*"]
NAMES = ["a", "b"]
PATHS = ["/metrics", "/debug/*", "*"]


def random_rule(chance: random.Random) -> JsonObject:
    def some(values: list[str]) -> list[str]:
        return chance.sample(values, chance.randrange(len(values)))

    rule: JsonObject = {"verbs": some(VERBS)}
    if chance.random() < 0.3:
        rule["nonResourceURLs"] = some(PATHS)
    if chance.random() < 0.9:
        rule |= {"apiGroups": some(GROUPS), "resources": some(RESOURCES)}
    if chance.random() < 0.5:
        rule["resourceNames"] = some(NAMES)
    return rule


def questions() -> list[Attributes]:
    found = [
        Attributes(USER, verb, group=group, resource=resource, subresource=part, name=name)
        for verb, group, resource, part, name in itertools.product(
            ("get", "list", "delete"),
            ("", "apps", "batch"),
            ("pods", "nodes", "jobs"),
            ("", "log"),
            ("", "a", "c"),
        )
    ]
    paths = ("/metrics", "/metrics/x", "/debug/x", "/other")
    return found + [Attributes(USER, verb, path=path) for verb in ("get", "post") for path in paths]


@pytest.mark.parametrize("whole", [False, True], ids=["rights", "whole rules"])
def test_a_role_allows_what_one_of_its_rules_does(
    whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if whole:
        monkeypatch.setattr(grants, "_OF_ONE_RULE", 0)
    chance, allowed = random.Random(5), 0
    asked = questions()
    for _ in range(150):
        rules = [random_rule(chance) for _ in range(chance.randrange(4))]
        role = Grants(rules)
        for attributes in asked:
            wanted = any(rule_allows(rule, attributes) for rule in rules)
            allowed += wanted
            assert role.allows(attributes) == wanted, (rules, attributes)
    assert allowed


def test_rules_of_other_names_are_one_look() -> None:
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
    role = Grants({**rule, "resourceNames": [f"p-{number}"]} for number in range(10_000))
    assert role.effort == 1
    assert role.allows(Attributes(USER, "get", resource="pods", name="p-77"))
    assert not role.allows(Attributes(USER, "get", resource="pods", name="q"))


def test_rights_by_the_million_stay_rules() -> None:
    many = [f"r{number}" for number in range(1000)]
    role = Grants([{"verbs": many, "apiGroups": many, "resources": many}] * 50)
    assert role.effort == 51
    assert role.allows(Attributes(USER, "r1", group="r2", resource="r3"))
