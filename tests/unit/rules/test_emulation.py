"""What is said to be emulated stays true: it names tests that are there, and leaves no rule out."""

import ast
from pathlib import Path

import pytest

from winkube.facts.node import NodeFeature, node_does
from winkube.facts.table import load_table
from winkube.facts.version import Version
from winkube.rules.emulation import Emulation, emulation_of, load_emulation
from winkube.rules.explain import to_lines
from winkube.rules.load import load_rules
from winkube.rules.model import Enforced, Rule

ROOT = Path(__file__).parents[3]
RULES = {rule.id: rule for rule in load_rules()}
BY_NODES = [rule for rule in RULES.values() if rule.enforced not in (Enforced.API, Enforced.LINT)]


@pytest.mark.parametrize("rule", BY_NODES, ids=lambda rule: rule.id)
def test_every_rule_that_a_node_enforces_says_whether_ours_does(rule: object) -> None:
    assert emulation_of(rule).word in ("yes", "no", "apart")  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", BY_NODES, ids=lambda rule: rule.id)
def test_a_reason_is_given_in_both_languages(rule: Rule) -> None:
    how = emulation_of(rule)
    english, chinese = how.reason(), how.reason(chinese=True)
    assert bool(english) == bool(chinese) == (how.word in ("no", "apart"))
    assert english.isascii()
    assert not chinese.isascii() or not chinese
    shown = "\n".join(to_lines(rule, chinese=True))
    assert chinese in shown
    assert not english or english not in shown


def test_no_entry_is_about_a_rule_that_is_not_there_or_needs_none() -> None:
    for name in load_emulation():
        assert name in RULES
        assert RULES[name].enforced is not Enforced.LINT


def test_the_tests_that_are_named_are_there() -> None:
    named = {emulation_of(rule).test for rule in RULES.values()} - {""}
    assert len(named) > 20
    for test in named:
        file, _, function = test.partition("::")
        tree = ast.parse((ROOT / file).read_text())
        functions = [
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        assert function in functions, test


def test_rules_of_other_versions_do_not_arise() -> None:
    assert "versions" in emulation_of(RULES["WIN-POD-038"]).apart
    assert "file" in emulation_of(RULES["WIN-NODE-011"]).apart
    assert emulation_of(RULES["WIN-VER-001"]) == Emulation()


@pytest.mark.parametrize("entry", load_table("node-features"), ids=lambda entry: entry["feature"])
def test_programs_of_a_node_change_with_the_version_as_the_rules_say(entry: dict[str, str]) -> None:
    rule = RULES[entry.get("does") or entry["does not"]]
    for minor in range(20, 38):
        for patch in (0, 1, 6, 10, 13):
            version = Version(1, minor, patch)
            does = node_does(str(version), NodeFeature(entry["feature"]))
            assert (version in rule.holds.kubernetes) is (does is ("does" in entry)), version
