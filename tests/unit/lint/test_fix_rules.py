"""Every rule that can repair, on its own manifest with a comment on each line."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.rules.test_data import read_pair

from winkube.lint.fix import repair_text
from winkube.lint.run import LintConfig, Run
from winkube.lint.sources import Source
from winkube.rules.load import load_rules
from winkube.rules.model import Rule, Target

DATA = Path(__file__).parents[2] / "data" / "rules"
REPAIRING = [rule for rule in load_rules() if rule.fix is not None]
Leaves = dict[tuple[str | int, ...], Any]


@pytest.mark.parametrize("rule", REPAIRING, ids=lambda rule: rule.id)
def test_a_repair_heals_its_rule_and_touches_nothing_else(rule: Rule) -> None:
    targets = read_pair(rule, "bad")[1]
    text = _commented((DATA / rule.id / "bad.yaml").read_text())
    before = _run(text, targets)
    repairs = [repair for _, repair in before.repairs if repair.fix == rule.fix]
    assert rule.id in _found(before)
    new, done = repair_text(text, repairs)
    assert done
    assert rule.id not in _found(_run(new, targets))
    assert repair_text(new, repairs)[0] == new
    _check_comments(text, new)
    places = [repair.path for repair in repairs]
    for old, changed in zip(yaml.safe_load_all(text), yaml.safe_load_all(new), strict=True):
        for path in _difference(_leaves(old), _leaves(changed)):
            assert any(_is_near(path, place) for place in places), path


def _commented(text: str) -> str:
    """Own lines of comment: one at the end of a line would go with what is removed."""
    lines = []
    for number, line in enumerate(text.splitlines()):
        indent = len(line) - len(line.lstrip())
        lines += [f"{' ' * indent}# c{number}", line]
    return "\n".join(lines) + "\n"


def _run(text: str, targets: tuple[Target, ...]) -> Run:
    run = Run(LintConfig(targets))
    run.add_file(Source("f", text.encode(), Path("f")))
    run.finish()
    return run


def _found(run: Run) -> set[str]:
    return {found.rule.id for found in run.report.findings}


def _check_comments(old: str, new: str) -> None:
    """What is left stands in the old order; nothing outside the removed lines went."""
    kept = [line.strip() for line in new.splitlines() if line.strip().startswith("# c")]
    assert kept == sorted(kept, key=lambda line: int(line[3:]))
    lost = old.count("# c") - len(kept)
    assert lost <= max(0, len(old.splitlines()) - len(new.splitlines()))


def _leaves(value: Any, at: tuple[str | int, ...] = ()) -> Leaves:
    if isinstance(value, dict) and value:
        parts = value.items()
    elif isinstance(value, list) and value:
        parts = enumerate(value)  # type: ignore[assignment]
    else:
        return {at: value}
    return {k: v for key, below in parts for k, v in _leaves(below, (*at, key)).items()}


def _difference(old: Leaves, new: Leaves) -> set[tuple[str | int, ...]]:
    absent = object()
    return {path for path in {*old, *new} if old.get(path, absent) != new.get(path, absent)}


def _is_near(path: tuple[str | int, ...], place: tuple[str | int, ...]) -> bool:
    """Below the repaired field, beside it (a rename), or a parent that became empty."""
    beside = place[:-1]
    return path[: len(beside)] == beside or beside[: len(path)] == path
