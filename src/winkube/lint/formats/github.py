"""Workflow commands of GitHub Actions: they become annotations of a pull request."""

from collections.abc import Iterator
from typing import Final

from winkube.lint.report import Report
from winkube.rules.model import Severity

_COMMANDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def to_github(report: Report) -> str:
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    for found in report.findings:
        facts = {"file": found.source, "title": f"{found.rule.id} {found.message}"}
        if found.position.line:
            end = found.position.column + found.position.width
            facts["line"] = str(found.position.line)
            facts["col"], facts["endColumn"] = str(found.position.column), str(end)
        text = f"{found.rule.english.message} {found.rule.english.remedy}"
        yield _command(_COMMANDS[found.severity], facts, f"{text} [{found.ref}, {found.path}]")
    for problem in report.problems:
        facts = {"file": problem.source, "title": "winkube could not read this"}
        if problem.line:
            facts |= {"line": str(problem.line), "col": str(problem.column)}
        yield _command("error", facts, problem.message)


def _command(name: str, facts: dict[str, str], message: str) -> str:
    listed = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in facts.items())
    return f"::{name} {listed}::{_escaped(message)}"


def _escaped(text: str, more: str = "") -> str:
    for character in f"%\r\n{more}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text
