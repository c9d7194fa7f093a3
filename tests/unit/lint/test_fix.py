import re
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from winkube.lint.fix import Repair, repair_text
from winkube.rules.model import Fix

REMOVE = Fix("remove")
POD = """\
# before
kind: Pod
spec:
  # about the host
  hostPID: true  # gone
  # about containers
  containers:
    - image: x  # an image
      securityContext:
        privileged: true
      name: a
  tolerations: []
# after
"""


def fixed(text: str, path: tuple[str | int, ...], fix: Fix, offset: int = 0) -> str:
    new, _ = repair_text(text, [Repair(offset, path, fix)])
    again, count = repair_text(new, [Repair(offset, path, fix)])
    assert again == new
    assert count == 0 or fix.do in ("set", "replace")
    return new


def test_a_field_goes_with_its_line_and_nothing_else() -> None:
    new = fixed(POD, ("spec", "hostPID"), REMOVE)
    assert new == POD.replace("  hostPID: true  # gone\n", "")


def test_a_map_that_would_be_empty_goes_too() -> None:
    path = ("spec", "containers", 0, "securityContext", "privileged")
    new = fixed(POD, path, REMOVE)
    assert new == POD.replace("      securityContext:\n        privileged: true\n", "")


def test_the_next_key_takes_the_place_behind_the_dash() -> None:
    text = "a:\n  - x: 1\n    y: 2\n"
    assert fixed(text, ("a", 0, "x"), REMOVE) == "a:\n  - y: 2\n"


def test_a_comment_in_the_way_keeps_the_text_as_it_is() -> None:
    text = "a:\n  - x: 1  # why\n    y: 2\n"
    assert fixed(text, ("a", 0, "x"), REMOVE) == text


@pytest.mark.parametrize(
    ("text", "path", "new"),
    [
        ("a: {x: 1, y: 2}\n", ("a", "x"), "a: {y: 2}\n"),
        ("a: {x: 1, y: 2}\n", ("a", "y"), "a: {x: 1}\n"),
        ('{"a": {"x": true}, "b": 1}', ("a", "x"), '{"b": 1}'),
        ("a: 1\r\nb: 2\r\n", ("a",), "b: 2\r\n"),
        ("a: |\n  text\n\nb: 2\n", ("a",), "\nb: 2\n"),
    ],
)
def test_removing_knows_the_forms_of_yaml(text: str, path: tuple[str | int, ...], new: str) -> None:
    assert fixed(text, path, REMOVE) == new


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("spec:\n  a: 1\n", "spec:\n  a: 1\n  nodeSelector:\n    os: windows\n"),
        ("spec:\n  a: 1", "spec:\n  a: 1\n  nodeSelector:\n    os: windows"),
        (
            "spec:\n  nodeSelector:\n    b: c\n",
            "spec:\n  nodeSelector:\n    b: c\n    os: windows\n",
        ),
        ("spec:\n  nodeSelector: {}\n", 'spec:\n  nodeSelector: {"os": "windows"}\n'),
        ("spec:\n  nodeSelector:\n", "spec:\n  nodeSelector:\n    os: windows\n"),
        ("spec: {a: 1}\n", 'spec: {a: 1, "nodeSelector": {"os": "windows"}}\n'),
        ("spec:\n  nodeSelector: {os: linux}\n", "spec:\n  nodeSelector: {os: windows}\n"),
        ("a:\n- b\n", "a:\n- b\nspec:\n  nodeSelector:\n    os: windows\n"),
    ],
)
def test_adding_knows_the_forms_of_yaml(text: str, new: str) -> None:
    assert fixed(text, ("spec", "nodeSelector"), Fix("add", {"os": "windows"})) == new


def test_a_list_gets_one_more() -> None:
    fix = Fix("add", [{"key": "os", "operator": "Exists"}])
    assert fixed("t:\n  - key: a\n", ("t",), fix) == (
        "t:\n  - key: a\n  - key: os\n    operator: Exists\n"
    )
    assert fixed("t: []\n", ("t",), fix) == 't: [{"key": "os", "operator": "Exists"}]\n'


def test_values_and_keys_are_replaced_in_place() -> None:
    text = 'a:\n  old: "x/y"  # why\n'
    assert fixed(text, ("a", "old"), Fix("set", True)) == "a:\n  old: true  # why\n"
    assert fixed(text, ("a", "old"), Fix("rename", "new")) == 'a:\n  new: "x/y"  # why\n'
    replace = Fix("replace", {"match": "/", "with": "-"})
    assert fixed(text, ("a", "old"), replace) == 'a:\n  old: "x-y"  # why\n'


def test_a_value_that_an_anchor_shares_is_left_alone() -> None:
    text = "a: &x {p: 1, q: 2}\nb: *x\n"
    assert fixed(text, ("b", "p"), REMOVE) == text


def test_the_right_document_is_repaired() -> None:
    text = "a: 1\nb: 2\n---\na: 1\nb: 2\n"
    assert fixed(text, ("a",), REMOVE, offset=10) == "a: 1\nb: 2\n---\nb: 2\n"


KEYS = st.sampled_from(["a", "b", "c", "d"])
SCALARS = st.sampled_from([1, True, None, "x", "y: z", "", "- no", "#t", "ü"])
VALUES = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYS, below, max_size=3),
    max_leaves=8,
)
FIXES = st.sampled_from(
    [REMOVE, Fix("add", {"n": "v"}), Fix("add", [{"n": "v"}]), Fix("set", "s"), Fix("rename", "r")]
)


@settings(max_examples=150, deadline=None)
@given(
    value=st.dictionaries(KEYS, VALUES, min_size=1, max_size=4),
    path=st.lists(KEYS | st.integers(0, 2), min_size=1, max_size=3).map(tuple),
    fix=FIXES,
    flow=st.sampled_from([True, False, None]),
)
def test_a_repair_keeps_comments_and_is_done_once(
    value: dict[str, Any], path: tuple[str | int, ...], fix: Fix, flow: bool | None
) -> None:
    lines = yaml.safe_dump(value, default_flow_style=flow, allow_unicode=True).splitlines()
    # A comment line above every line that starts an entry; inside texts of many lines it is text.
    text = "".join(
        f"{' ' * (len(line) - len(line.lstrip()))}# c{n}\n{line}\n" for n, line in enumerate(lines)
    )
    if yaml.safe_load(text) != value:
        return
    new, _ = repair_text(text, [Repair(0, path, fix)])
    kept = re.findall(r"# c\d+", new)
    assert kept == sorted(set(kept), key=lambda word: int(word[3:]))
    if fix.do != "remove":
        assert len(kept) == len(lines)
    assert yaml.safe_load(new) is not None or not new.strip()
    if fix.do in ("add", "set"):
        assert repair_text(new, [Repair(0, path, fix)])[0] == new
