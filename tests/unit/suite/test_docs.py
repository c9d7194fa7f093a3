"""The documents speak of files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
# A module may be named from the package on, as `cluster/preload.py`.
ROOTS = (ROOT, ROOT / "src" / "winkube")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_files_that_exist(page: Path) -> None:
    text = page.read_text()
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text)]
    gone = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    named = re.findall(r"(?<![\w:./-])((?:[\w-]+/)+[\w-]+\.py)\b", text)
    gone += [name for name in named if not _is_there(page, name)]
    assert gone == []


def _is_there(page: Path, name: str) -> bool:
    return any((root / name).exists() for root in (*ROOTS, page.parent))
