import subprocess
import sys
from pathlib import Path

from winkube.rules.load import load_rules

ROOT = Path(__file__).parents[3]


def test_the_pages_of_rules_are_current() -> None:
    tool = ROOT / "tools" / "generate-rules-docs"
    done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_rule_is_in_both_pages() -> None:
    for name in ("rules.md", "rules.zh-CN.md"):
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert [rule.id for rule in load_rules() if f"### {rule.id}\n" not in text] == []
