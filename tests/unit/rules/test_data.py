import shlex
from collections import Counter
from pathlib import Path

import pytest
import yaml

from winkube.rules.engine import check
from winkube.rules.load import DATA, load_rules
from winkube.rules.model import Rule, Severity, Target
from winkube.rules.target import parse_targets
from winkube.rules.templates.registry import TEMPLATES

PAIRS = Path(__file__).parents[2] / "data" / "rules"
RULES = load_rules()
CHECKED = [rule for rule in RULES if rule.template != "no-check"]


def read_pair(rule: Rule, name: str) -> tuple[list[object], tuple[Target, ...]]:
    text = (PAIRS / rule.id / f"{name}.yaml").read_text()
    words: dict[str, list[str]] = {}
    line = text.partition("\n")[0]
    if line.startswith("# target:"):
        options = shlex.split(line.removeprefix("# target:"))
        for option, value in zip(options[::2], options[1::2], strict=True):
            words.setdefault(option.removeprefix("--"), []).append(value)
    return [each for each in yaml.safe_load_all(text) if each], parse_targets(**words)


def test_ids_are_unique() -> None:
    counts = Counter(rule.id for rule in RULES)
    assert [rule_id for rule_id, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("path", sorted(DATA.glob("*.yaml")), ids=lambda path: path.name)
def test_a_file_is_sorted_by_id_and_of_one_area(path: Path) -> None:
    ids = [entry["id"] for entry in yaml.safe_load(path.read_bytes())]
    assert ids == sorted(ids)
    assert {rule_id.split("-")[1].lower() for rule_id in ids} == {path.stem}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_says_everything_in_both_languages(rule: Rule) -> None:
    assert rule.template in TEMPLATES
    assert rule.source
    for text in (rule.english, rule.chinese):
        assert text.title
        assert text.message
        assert text.remedy
    assert not any("\u4e00" <= letter <= "\u9fff" for letter in rule.english.message)
    assert any("\u4e00" <= letter <= "\u9fff" for letter in rule.chinese.message)
    if rule.effect == "refused":
        assert rule.severity is Severity.ERROR


@pytest.mark.parametrize("rule", CHECKED, ids=lambda rule: rule.id)
def test_a_rule_finds_the_bad_manifest_and_not_the_good_one(rule: Rule) -> None:
    bad, targets = read_pair(rule, "bad")
    assert rule.id in {found.rule.id for found in check(bad, *targets)}  # type: ignore[arg-type]
    good, targets = read_pair(rule, "ok")
    assert rule.id not in {found.rule.id for found in check(good, *targets)}  # type: ignore[arg-type]


def test_every_pair_of_manifests_belongs_to_a_rule() -> None:
    known = {rule.id for rule in RULES}
    assert {path.name for path in PAIRS.iterdir()} <= known
