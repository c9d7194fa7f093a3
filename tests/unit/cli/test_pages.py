"""Every command has a page, and the page names what the command takes."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from winkube.cli.app import app

PAGES = Path(__file__).parents[3] / "docs" / "commands"


def _commands() -> Iterator[tuple[str, list[Any]]]:
    """The page and the parameters of every command; commands of a group share its page."""
    program: Any = typer.main.get_command(app)
    for name, command in program.commands.items():
        for each in getattr(command, "commands", {"": command}).values():
            yield name, each.params


@pytest.mark.parametrize(("page", "parameters"), list(_commands()))
def test_a_page_names_every_option(page: str, parameters: list[Any]) -> None:
    named = set(re.findall(r"--[a-z-]+", (PAGES / f"{page}.md").read_text()))
    options = [each for each in parameters if each.opts[0].startswith("--")]
    # A switch may be named by either of its two words.
    missing = [each.opts for each in options if not named & {*each.opts, *each.secondary_opts}]
    assert missing == []


def test_there_is_no_page_of_a_command_that_is_gone() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == {page for page, _ in _commands()}
