"""Rules are left out by the names in an object; that must never hide a finding."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from winkube.rules.engine import Engine, Ruleset, check
from winkube.rules.load import find_rule, load_rules
from winkube.rules.needs import Chooser, names_in, needs_of
from winkube.rules.target import parse_targets

DATA = Path(__file__).parents[2] / "data" / "rules"
OBJECTS = [
    value
    for path in sorted(DATA.glob("*/*.yaml"))
    for value in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader)
    if isinstance(value, dict)
]


@pytest.mark.parametrize("version", ["1.19", "1.34", "1.37"])
def test_leaving_rules_out_changes_nothing(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    targets = parse_targets(kubernetes=[version])
    quick = _told(targets)
    # The same engine with every rule asked.
    monkeypatch.setattr("winkube.rules.engine.needs_of", lambda rule: ())
    assert quick == _told(targets)
    assert sum(len(findings) for findings in quick) > 100


def _told(targets: Any) -> list[list[tuple[str, Any]]]:
    """What is said of each object by itself; the rules are sorted out once for all."""
    rules = Ruleset(targets, load_rules())
    told = []
    for value in OBJECTS:
        engine: Engine[None] = Engine(rules)
        found = [*engine.feed(value, None), *engine.finish()]
        told.append([(finding.rule.id, finding.path) for _, finding in found])
    return told


def test_a_field_needs_all_the_names_that_lead_to_it() -> None:
    needs = needs_of(find_rule("WIN-VOL-012"))
    chooser = Chooser([("nfs", needs)])
    assert chooser.choose(names_in({"spec": {"volumes": [{"nfs": {}}]}})) == ("nfs",)
    assert chooser.choose(names_in({"spec": {"volumes": [{"emptyDir": {}}]}})) == ()
    assert chooser.choose(names_in({"nfs": {}})) == ()


def test_the_same_names_are_chosen_for_once() -> None:
    asked: list[str] = []

    class Counted(frozenset[str]):
        def __le__(self, other: object) -> bool:
            asked.append("asked")
            assert isinstance(other, frozenset)
            return self.issubset(other)

    chooser = Chooser([("rule", ((Counted(["a"]),),))])
    for _ in range(3):
        assert chooser.choose({"a", "x"}) == ("rule",)
    assert len(asked) == 1


def test_objects_of_unknown_kinds_are_judged_by_the_rules_for_all() -> None:
    old = {"apiVersion": "extensions/v1beta1", "kind": "Deployment", "metadata": {"name": "a"}}
    found = {finding.rule.id for finding in check([old], *parse_targets())}
    assert "WIN-API-001" in found
