"""For people: the line, a caret, the reason, the remedy."""

from collections.abc import Iterator
from typing import Final

from winkube.lint.positions import Position
from winkube.lint.report import Located, Report
from winkube.rules.model import Severity

_COLORS: Final = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.INFO: "36"}
_WIDEST: Final = 160
_ENGLISH: Final = ("object:", "for:", "why:", "do: ")
_CHINESE: Final = ("对象：", "目标：", "原因：", "办法：")


def to_lines(report: Report, *, color: bool = False, chinese: bool = False) -> Iterator[str]:
    for note in report.notes:
        yield f"note: {_plain(note)}"
    for found in report.findings:
        yield from _finding(found, color=color, chinese=chinese)
        yield ""
    for problem in report.problems:
        yield _plain(str(problem))
    yield _summary(report)


def _finding(found: Located, *, color: bool, chinese: bool) -> Iterator[str]:
    text = found.rule.chinese if chinese else found.rule.english
    detail = f" ({_plain(found.finding.detail)})" if found.finding.detail else ""
    severity = _painted(found.severity.value, _COLORS[found.severity], color=color)
    yield f"{_plain(found.place)}: {severity} {found.rule.id}: {text.title}{detail}"
    position = found.position
    if position.line:
        number, (line, column) = str(position.line), _window(position)
        margin = " " * len(number)
        mark = _painted("^" * min(position.width, _WIDEST - column), "1", color=color)
        yield f"  {number} | {line}"
        yield f"  {margin} | {' ' * column}{mark}"
    about, only, why, do = _CHINESE if chinese else _ENGLISH
    yield f"    {about} {_plain(f'{found.ref}, {found.path}')}"
    if found.targets:
        yield f"    {only} {found.targets}"
    yield f"    {why} {text.message}"
    yield f"    {do} {text.remedy}"


def _window(position: Position) -> tuple[str, int]:
    """The part of a long line that is meant, and where in it the mark starts."""
    line, column = _plain(position.text.replace("\t", " ")), position.column - 1 - position.before
    start = 0 if column < _WIDEST // 2 else column - _WIDEST // 4
    return line[start : start + _WIDEST], column - start


def _summary(report: Report) -> str:
    counts = ", ".join(_plural(report.count(each), each.value) for each in Severity)
    extra = [f"{report.suppressed} suppressed"] if report.suppressed else []
    extra += [f"{report.hidden} hidden by --level"] if report.hidden else []
    extra += [f"{report.known} in the baseline"] if report.known else []
    extra += [f"{_plural(len(report.problems), 'problem')} reading"] if report.problems else []
    targets = ", ".join(str(target) for target in report.targets)
    tail = f" ({'; '.join(extra)})" if extra else ""
    objects = _plural(report.objects, "object")
    return f"{objects} in {_plural(report.files, 'file')} for {targets}: {counts}{tail}"


def _plain(text: str) -> str:
    """Text of a manifest must not move the cursor or paint the terminal."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 or noun == "info" else f"{count} {noun}s"


def _painted(text: str, code: str, *, color: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if color else text
