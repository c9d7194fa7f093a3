"""Whether rules cover others, judged by hand and against every single right."""

import itertools
import random
from typing import Any

import pytest

from winkube.apiserver.auth.authz import Attributes, Rules
from winkube.apiserver.auth.cover import TooManyRightsError, missing_rights
from winkube.apiserver.auth.rbac import rule_allows
from winkube.apiserver.auth.user import User


def _rule(verbs: str, resources: str, groups: str = "core", names: str = "") -> dict[str, Any]:
    rule = {"verbs": verbs.split(), "apiGroups": groups.split(), "resources": resources.split()}
    return {**rule, "resourceNames": names.split()} if names else rule


def _owned(*rules: dict[str, Any]) -> Rules:
    return Rules(list(rules), [])


@pytest.mark.parametrize(
    ("owned", "wanted", "missing"),
    [
        (_rule("get list", "pods"), _rule("get", "pods"), []),
        (_rule("*", "*", "*"), _rule("get", "pods/log"), []),
        (_rule("get", "*/scale"), _rule("get", "deployments/scale"), []),
        (
            _rule("get", "pods"),
            _rule("get watch list", "pods"),
            ['{APIGroups:["core"], Resources:["pods"], Verbs:["watch" "list"]}'],
        ),
        (
            _rule("get", "pods", names="a"),
            _rule("get", "pods"),
            ['{APIGroups:["core"], Resources:["pods"], Verbs:["get"]}'],
        ),
        (
            _rule("get", "pods"),
            _rule("get", "pods/log", names="a"),
            ['{APIGroups:["core"], Resources:["pods/log"], ResourceNames:["a"], Verbs:["get"]}'],
        ),
        (
            _rule("get", "*/*"),
            _rule("*", "*"),
            ['{APIGroups:["core"], Resources:["*"], Verbs:["*"]}'],
        ),
    ],
)
def test_what_is_missing_is_named_as_upstream_names_it(
    owned: dict[str, Any], wanted: dict[str, Any], missing: list[str]
) -> None:
    assert [str(box) for box in missing_rights(_owned(owned), [wanted])] == missing


def test_a_rule_for_no_name_is_not_one_for_every_name() -> None:
    owned = {**_rule("get", "secrets"), "resourceNames": [""]}
    assert missing_rights(_owned(owned), [_rule("get", "secrets")])


def test_paths_are_covered_by_stars_at_their_end() -> None:
    owned = Rules([], [{"verbs": ["get"], "nonResourceURLs": ["/healthz/*", "/metrics"]}])
    wanted = {"verbs": ["get"], "nonResourceURLs": ["/healthz/ping", "/metrics", "/logs"]}
    assert [str(box) for box in missing_rights(owned, [wanted])] == [
        '{NonResourceURLs:["/logs"], Verbs:["get"]}'
    ]


def test_every_single_right_comes_to_the_same_end() -> None:
    chance = random.Random(7)
    words = ["a", "b", "c", "*"]

    def some() -> list[str]:
        return chance.sample(words, chance.randint(1, 3))

    user = User("u")
    for _ in range(300):
        owned = [
            {"verbs": some(), "apiGroups": some(), "resources": some()}
            for _ in range(chance.randint(0, 4))
        ]
        wanted = {"verbs": some(), "apiGroups": some(), "resources": some()}
        singles = itertools.product(wanted["verbs"], wanted["apiGroups"], wanted["resources"])
        held = all(
            any(
                rule_allows(rule, Attributes(user, verb, group=group, resource=resource))
                for rule in owned
            )
            for verb, group, resource in singles
        )
        assert (missing_rights(_owned(*owned), [wanted]) == []) is held


def test_rules_of_a_billion_rights_are_judged_as_a_whole() -> None:
    words = " ".join(f"w{number}" for number in range(1000))
    assert missing_rights(_owned(_rule("*", "*", "*")), [_rule(words, words, words)]) == []
    assert (
        missing_rights(_owned(_rule("get", "pods")), [_rule("get " * 9999, "pods " * 9999)]) == []
    )
    with pytest.raises(TooManyRightsError):
        missing_rights(_owned(_rule("get", "pods")), [_rule(words, words, words)])


def test_many_rules_are_not_all_compared_with_many_others() -> None:
    held = [_rule("get", "pods", names=f"s-{number}") for number in range(3000)]
    wanted = [_rule("get", "pods", names=f"p-{number}") for number in range(3000)]
    owned = _owned(*held, _rule("get", "pods"))
    with pytest.raises(TooManyRightsError):
        missing_rights(owned, wanted)
    assert missing_rights(owned, wanted[:10]) == []
    # Rules about something else are not in the way.
    others = [_rule("get", "secrets", names=f"s-{number}") for number in range(3000)]
    assert missing_rights(_owned(*others, _rule("get", "pods")), wanted) == []
