from pathlib import Path

import pytest

from winkube.rules.handbook import to_markdown
from winkube.rules.load import load_rules

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize(("name", "chinese"), [("rules.md", False), ("rules.zh-CN.md", True)])
def test_the_page_of_rules_is_current(name: str, chinese: bool) -> None:
    assert (DOCS / name).read_text() == to_markdown(load_rules(), chinese=chinese), (
        "run tools/generate-rules-docs"
    )


def test_every_rule_is_on_the_page() -> None:
    page = to_markdown(load_rules())
    assert [rule.id for rule in load_rules() if f"### {rule.id}: " not in page] == []
