"""The formats by name."""

from collections.abc import Callable, Mapping
from typing import Final

from winkube.lint.formats import github, json, junit, sarif, text
from winkube.lint.report import Report


def _text(report: Report) -> str:
    return "\n".join(text.to_lines(report))


FORMATS: Final[Mapping[str, Callable[[Report], str]]] = {
    "text": _text,
    "json": json.to_json,
    "sarif": sarif.to_sarif,
    "github": github.to_github,
    "junit": junit.to_junit,
}
