"""SARIF 2.1.0 (OASIS), for code scanning."""

from collections.abc import Iterable
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote

import orjson

from winkube.lint.baseline import fingerprint
from winkube.lint.reading import Problem
from winkube.lint.report import Located, Report
from winkube.rules.model import Rule, Severity

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def to_sarif(report: Report) -> str:
    rules = sorted({found.rule.id: found.rule for found in report.findings}.items())
    index = {rule_id: number for number, (rule_id, _) in enumerate(rules)}
    run = {
        "tool": {
            "driver": {
                "name": "winkube",
                "rules": [_rule(rule) for _, rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(found, index[found.rule.id]) for found in report.findings],
        "invocations": [
            {
                "executionSuccessful": not report.problems,
                "toolExecutionNotifications": list(_notifications(report.problems)),
            }
        ],
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.english.title},
        "fullDescription": {"text": rule.english.message},
        "help": {"text": rule.english.remedy},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [rule.area, rule.effect.value]},
    }


def _result(found: Located, index: int) -> dict[str, Any]:
    region = {}
    if found.position.line:
        column = found.position.column
        region = {
            "region": {
                "startLine": found.position.line,
                "startColumn": column,
                "endColumn": column + found.position.width,
            }
        }
    location = {
        "physicalLocation": {"artifactLocation": {"uri": _uri(found.source)}, **region},
        "logicalLocations": [{"fullyQualifiedName": f"{found.ref}: {found.path}"}],
    }
    text = found.rule.english
    return {
        "ruleId": found.rule.id,
        "ruleIndex": index,
        "level": _LEVELS[found.severity],
        "message": {"text": f"{found.message}. {text.message} {text.remedy}"},
        "locations": [location],
        "partialFingerprints": {"winkube/v1": fingerprint(found)},
    }


def _notifications(problems: Iterable[Problem]) -> Iterable[dict[str, Any]]:
    for problem in problems:
        place: dict[str, Any] = {"artifactLocation": {"uri": _uri(problem.source)}}
        if problem.line:
            place["region"] = {"startLine": problem.line, "startColumn": problem.column}
        yield {
            "level": "error",
            "message": {"text": problem.message},
            "locations": [{"physicalLocation": place}],
        }


def _uri(source: str) -> str:
    return quote(PurePath(source).as_posix(), safe="/:@+,=~-._")
