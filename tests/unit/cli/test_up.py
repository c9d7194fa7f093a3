from pathlib import Path

import pytest

from winkube.cli.up import to_command


@pytest.mark.parametrize(
    ("program", "on_path", "typed"),
    [
        ("src/winkube/__main__.py", False, "venv/bin/python -m winkube"),
        ("venv/bin/winkube", False, "venv/bin/winkube"),
        ("venv/bin/winkube", True, "winkube"),
    ],
)
def test_what_is_shown_to_be_typed_can_be_typed(program: str, on_path: bool, typed: str) -> None:
    here = Path.cwd()
    python = str(here / "venv" / "bin" / "python")
    assert to_command(str(here / program), python, on_path=on_path) == typed


def test_a_program_far_away_is_called_by_its_whole_path() -> None:
    assert to_command("/opt/winkube", "", on_path=False) == "/opt/winkube"
